"""The schema change before a table's first change: the table is new, or has other columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from headrace.connectors.db2.schema_history import history_table, stream_position, table_of
from headrace.relational.history.history import TableHistory
from headrace.relational.history.records import ChangeType
from headrace.relational.schema_changes import schema_change_image
from headrace.relational.table import Table

_NO_STATEMENT = "N/A"
"""Debezium's value in place of a statement, which SQL replication does not provide."""


class SchemaChange(NamedTuple):
    """The image of a schema change's record, and the record's relation version."""

    image: bytes
    relation: int


@dataclass(frozen=True)
class RecordedTables:
    """The schema history of a stream, to which tables are added. `relation` returns the version of
    the records of one table's schema changes; None: they make no records
    (include.schema.changes)."""

    history: TableHistory
    relation: Callable[[Table], int] | None = None

    def before(self, table: Table, commit_lsn: bytes, change_lsn: bytes) -> SchemaChange | None:
        """Record a table, and return the schema change to emit before a change of it; None if the
        table is unchanged. Raises HeadraceError."""
        described = history_table(table)
        kind = self.history.due(described)
        if kind is None and self.history.has(described.id):
            return None
        record = self.history.change(
            kind or ChangeType.CREATE,
            described,
            stream_position(commit_lsn, change_lsn),
            database="",
            schema=table.schema,
            ddl=_NO_STATEMENT,
        )
        # If another process emitted the table, it is only recorded, to detect its next change.
        if kind is None or self.relation is None:
            return None
        return SchemaChange(schema_change_image(record), self.relation(table))

    def knows(self, schema: str, table: str) -> bool:
        """Whether the table was recorded before the stream was opened."""
        return self.history.knows((schema, table))

    def last(self, schema: str, table: str) -> Table | None:
        """Return the last recorded description of a table; None: it is not known."""
        described = self.history.table((schema, table))
        return None if described is None else table_of(described)

    def close(self) -> None:
        """Close the history; never raises."""
        self.history.close()
