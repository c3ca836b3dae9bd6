"""Records of a schema history, byte for byte in Debezium's format: one line of JSON each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from headrace.connect.json_values import document_text
from headrace.relational.history.tables import HistoryTable, TableId, parsed_id, quoted_id


class ChangeType(StrEnum):
    """The kind of a change to a table."""

    CREATE = "CREATE"
    ALTER = "ALTER"
    DROP = "DROP"


@dataclass(frozen=True)
class TableChange:
    """A table after a change; a dropped table has no columns. `previous` is the old id of a renamed
    table."""

    type: ChangeType
    table: HistoryTable
    previous: TableId | None = None

    def to_json(self) -> dict[str, Any]:
        """Debezium's JSON object, its members in Debezium's order."""
        members: dict[str, Any] = {"type": str(self.type), "id": quoted_id(self.table.id)}
        if self.previous is not None:
            members["previousId"] = quoted_id(self.previous)
        if self.type is ChangeType.DROP:
            return members
        return {**members, "table": self.table.to_json(), "comment": self.table.comment}

    @staticmethod
    def from_json(members: Mapping[str, Any]) -> TableChange:
        """The inverse of `to_json`. Raises KeyError, TypeError and ValueError."""
        kind, identity = ChangeType(members["type"]), parsed_id(members["id"])
        previous = members.get("previousId")
        table = HistoryTable(identity)
        if kind is not ChangeType.DROP:
            table = HistoryTable.from_json(identity, members["table"], members.get("comment"))
        return TableChange(kind, table, None if previous is None else parsed_id(previous))


@dataclass(frozen=True)
class HistoryRecord:
    """Changes of tables at one position of the log.

    `source` identifies the log ({"server": …}), `position` is the position with the names of
    Debezium's offsets; members of both keep their order. `at_ms` is the time of recording in
    milliseconds since 1970-01-01 UTC. `ddl` is None if the statement is not known, `changes` if
    only the statement describes the changes.
    """

    source: Mapping[str, Any]
    position: Mapping[str, Any]
    at_ms: int | None = None
    database: str | None = None
    schema: str | None = None
    ddl: str | None = None
    changes: tuple[TableChange, ...] | None = None

    def to_line(self) -> str:
        """The record's JSON, without a line end."""
        members: dict[str, Any] = {"source": dict(self.source), "position": dict(self.position)}
        if self.at_ms is not None:
            members["ts_ms"] = self.at_ms
        texts = {"databaseName": self.database, "schemaName": self.schema, "ddl": self.ddl}
        members |= {name: text for name, text in texts.items() if text is not None}
        if self.changes is not None:
            members["tableChanges"] = [change.to_json() for change in self.changes]
        return document_text(members)

    @staticmethod
    def from_line(line: str | bytes) -> HistoryRecord | None:
        """The inverse of `to_line`; None for JSON that is not a record, which is skipped as in
        Debezium. Raises ValueError for a line that cannot be read."""
        try:
            return _read(json.loads(line))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            kind = type(error).__name__
            raise ValueError(f"it is not a record of a schema history ({kind}: {error})") from None


def _read(members: dict[str, Any]) -> HistoryRecord | None:
    source, position = members.get("source"), members.get("position")
    if not isinstance(source, dict) or not isinstance(position, dict):
        return None
    changes = members.get("tableChanges")
    return HistoryRecord(
        source,
        position,
        members.get("ts_ms"),
        members.get("databaseName"),
        members.get("schemaName"),
        members.get("ddl"),
        None if changes is None else tuple(map(TableChange.from_json, changes)),
    )
