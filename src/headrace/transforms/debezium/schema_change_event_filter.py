"""SchemaChangeEventFilter: drops schema change events by the kind of change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

import numpy as np

from headrace.config.configuration import Configuration
from headrace.config.kinds import ValueKind
from headrace.config.property import REQUIRED, Group, Property
from headrace.connect.evaluation.values import connect_values, tombstones
from headrace.connect.records import Records
from headrace.connect.trees import select
from headrace.transforms.example import Example
from headrace.transforms.transform import Declaration, Ordering


class ChangeKind(StrEnum):
    """Kind of a schema change."""

    CREATE = "CREATE"
    ALTER = "ALTER"
    DROP = "DROP"
    TRUNCATE = "TRUNCATE"
    DATABASE = "DATABASE"
    """A change without a table."""


def _parse_kinds(text: str) -> frozenset[ChangeKind]:
    return frozenset(ChangeKind(part.strip()) for part in text.split(","))


_KINDS: ValueKind[frozenset[ChangeKind]] = ValueKind(
    "a comma-separated list of " + ", ".join(ChangeKind), _parse_kinds
)


class SchemaChangeEventFilterOptions(Configuration):
    """Options of SchemaChangeEventFilter."""

    schema_change_event_exclude_list = Property(
        "schema.change.event.exclude.list",
        _KINDS,
        REQUIRED,
        Group.CONVERTERS,
        "The kinds of events to leave out: `CREATE`, `ALTER`, `DROP`, `TRUNCATE` (of tables), "
        "`DATABASE` (events without a table).",
    )


class SchemaChangeEventFilter:
    """See DECLARATION. Other records pass unchanged."""

    ordering = Ordering.KEEPS_KEY
    passes_records = True

    def __init__(self, options: SchemaChangeEventFilterOptions) -> None:
        self._excluded = options.schema_change_event_exclude_list

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform."""
        value = records.shape.value
        changes = select(value, "tableChanges")
        if value is None or changes is None or not _is_schema_change(value.schema.name):
            return [records]
        passes = [
            _kind(table_changes) not in self._excluded
            for table_changes in connect_values(records, changes)
        ]
        return [records.with_rows(np.array(passes) | tombstones(records))]


def _is_schema_change(name: str | None) -> bool:
    return (name or "").endswith(".SchemaChangeValue")


def _kind(changes: object) -> object:
    """Return the kind of the first table change."""
    if not isinstance(changes, list) or not changes:
        return ChangeKind.DATABASE
    return changes[0]["type"] if isinstance(changes[0], Mapping) else None


DECLARATION = Declaration(
    "SchemaChangeEventFilter",
    "Leaves out the schema change events of some kinds.",
    SchemaChangeEventFilterOptions,
    SchemaChangeEventFilter,
    example=Example(
        {"ddl": "DROP TABLE orders", "tableChanges": [{"type": "DROP", "id": "orders"}]},
        {"schema.change.event.exclude.list": "DROP"},
        topic="server1",
        names={"value": "server1.SchemaChangeValue"},
    ),
)
