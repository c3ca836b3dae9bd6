"""The schema history of one connector: its tables at a position of the log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from headrace.errors import HeadraceError
from headrace.relational.history.records import ChangeType, HistoryRecord, TableChange
from headrace.relational.history.store import HistoryStore
from headrace.relational.history.tables import HistoryTable, TableId

PlaceOf = Callable[[Mapping[str, Any]], int | None]
"""Returns the place in the log of a record's position; None if it cannot be read."""


class SchemaHistory:
    """Reads and writes the records of one `server` (topic.prefix); records of other servers in the
    same store are skipped. `place_of` is the connector's function from a record's position to its
    place in the log.

    Used by one thread only. Methods raise HeadraceError.
    """

    def __init__(self, store: HistoryStore, server: str, place_of: PlaceOf) -> None:
        self._store, self._place_of = store, place_of
        self._source = {"server": server}

    @property
    def name(self) -> str:
        """The name of the store, for messages."""
        return self._store.name

    @property
    def is_whole(self) -> bool:
        """Whether the store has all records that were ever written."""
        return self._store.is_whole

    def is_empty(self) -> bool:
        """Whether it has no record of this server."""
        return next(iter(self._records()), None) is None

    def tables_before(self, place: int) -> dict[TableId, HistoryTable]:
        """The tables after the records before `place`, by id. Events that are not delivered yet are
        recorded again when they are read, so records at `place` or later do not count."""
        tables: dict[TableId, HistoryTable] = {}
        for record in self._records():
            at = self._place_of(record.position)
            if at is not None and at < place:
                for change in record.changes or ():
                    _apply(tables, change)
        return tables

    def newest_position(self) -> Mapping[str, Any] | None:
        """The position of the last record; None for an empty history."""
        newest = None
        for record in self._records():
            newest = record.position
        return newest

    def records_at(self, position: Mapping[str, Any]) -> list[HistoryRecord]:
        """The records at exactly this position, in their order."""
        return [record for record in self._records() if record.position == position]

    def record(
        self,
        position: Mapping[str, Any],
        changes: Iterable[TableChange],
        *,
        database: str | None = None,
        schema: str | None = None,
        ddl: str | None = None,
    ) -> HistoryRecord:
        """Write the changes at a position (see HistoryRecord); they are durable when this
        returns."""
        written = HistoryRecord(
            self._source,
            position,
            time.time_ns() // 1_000_000,
            database,
            schema,
            ddl,
            tuple(changes),
        )
        self._append([written])
        return written

    def write(self, records: Iterable[HistoryRecord]) -> None:
        """Write the records of a snapshot, which describe all tables; they are durable when this
        returns."""
        self._append(records)
        self._store.is_whole = True

    def _append(self, records: Iterable[HistoryRecord]) -> None:
        self._store.append([replace(r, source=self._source).to_line() for r in records])

    def close(self) -> None:
        """Close the store; never raises."""
        self._store.close()

    def _records(self) -> Iterable[HistoryRecord]:
        for number, line in enumerate(self._store.lines(), 1):
            try:
                record = HistoryRecord.from_line(line)
            except ValueError as error:
                raise HeadraceError(
                    "relational.history_broken",
                    f"Record {number} of the schema history ({self._store.name}) is not "
                    f"understood: {error}",
                    "Restore the history, or name a new one (schema.history.internal*) and start "
                    "with a new checkpoint.",
                ) from None
            if record is not None and record.source == self._source:
                yield record


def _apply(tables: dict[TableId, HistoryTable], change: TableChange) -> None:
    if change.previous is not None:
        tables.pop(change.previous, None)
    if change.type is ChangeType.DROP:
        tables.pop(change.table.id, None)
    else:
        tables[change.table.id] = change.table


class TableHistory:
    """A stream's descriptions of its tables: those at its start, and those it has written since."""

    def __init__(self, history: SchemaHistory, place: int) -> None:
        """`place`: everything before it is delivered. Raises HeadraceError."""
        self._history = history
        self._known = history.tables_before(place)

    @property
    def is_empty(self) -> bool:
        """Whether a complete history contains no table."""
        return self._history.is_whole and not self._known

    def knows(self, identity: TableId) -> bool:
        """Whether a table was recorded, or may have been if the history is not complete."""
        return not self._history.is_whole or identity in self._known

    def has(self, identity: TableId) -> bool:
        """Whether the columns of a table at its last event are known."""
        return identity in self._known

    def table(self, identity: TableId) -> HistoryTable | None:
        """A table at its last event; None if it is not known."""
        return self._known.get(identity)

    def due(self, table: HistoryTable) -> ChangeType | None:
        """The schema change that must be recorded before a table's next event; None: no change. If
        the history is not complete, the tables that it lacks were recorded by another process."""
        known = self._known.get(table.id)
        if known is None:
            return ChangeType.CREATE if self._history.is_whole else None
        return None if known == table else ChangeType.ALTER

    def change(
        self,
        kind: ChangeType,
        table: HistoryTable,
        position: Mapping[str, Any],
        **texts: str | None,
    ) -> HistoryRecord:
        """Write a table's change at a position; `texts` are those of `SchemaHistory.record`. Raises
        HeadraceError."""
        change = TableChange(kind, table)
        record = self._history.record(position, [change], **texts)
        _apply(self._known, change)
        return record

    def close(self) -> None:
        """Close the history; never raises."""
        self._history.close()
