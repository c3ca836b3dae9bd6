"""Snapshots over a driver's connection, the parts that databases share: tables are emitted as
schema changes and written to the schema history, and queries run in their own transactions."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Generic, Protocol

from headrace.config.properties.relational import RelationalConfig
from headrace.errors import HeadraceError
from headrace.offsets.offset import P
from headrace.relational.capture import TableCapture
from headrace.relational.catalog import StoredTable, TableCatalog, TableReading
from headrace.relational.history.history import SchemaHistory
from headrace.relational.history.records import HistoryRecord
from headrace.relational.overrides import PROPERTY
from headrace.relational.reading.kept_connection import KeptConnection
from headrace.relational.reading.snapshot_tables import SnapshotTables
from headrace.relational.schema_changes import OPERATION, SchemaChangeFacts, schema_change_image
from headrace.relational.table import Column
from headrace.snapshots.chunks import KeyBound
from headrace.snapshots.slices import PrefaceRecord
from headrace.snapshots.snapshot_source import H, SnapshotHolder, SnapshotSource
from headrace.snapshots.tables import Leaf, SnapshotTable

TAKING, ASKING = "Taking the snapshot", "Reading the tables of the snapshot"


class DriverCursor(Protocol):
    """The rows of a running query."""

    columns: tuple[str, ...]
    """The names of the columns."""

    def fetch(self, rows: int, /) -> Sequence[tuple[Any, ...]]:
        """Fetch the next rows; an empty sequence at the end."""
        ...

    def close(self) -> None:
        """Close the query; never raises."""
        ...


class QueryRefusedError(Exception):
    """The server rejected a query of the user; the text is the server's message."""


class DriverSnapshots(
    SnapshotTables[StoredTable], SnapshotHolder[H], SnapshotSource[P, H], Generic[P, H]
):
    """See `headrace.snapshots.snapshot_source.SnapshotSource`.

    `reads_rows` is False for a snapshot of the tables' structures only. `is_prefaced`: schema
    changes precede rows.
    """

    def __init__(
        self,
        config: RelationalConfig,
        capture: TableCapture,
        catalog: TableCatalog[StoredTable],
        session: KeptConnection[Any],
        *,
        reads_rows: bool,
        is_prefaced: bool,
    ) -> None:
        super().__init__(config, capture, catalog)
        self._kept, self._reads_rows, self._is_prefaced = session, reads_rows, is_prefaced
        self._structures: list[StoredTable] | None = None

    @abstractmethod
    def _cursor(self, statement: str, /) -> DriverCursor:
        """Run a query and return its cursor. Raises an error of the driver."""

    @abstractmethod
    def _key_texts(
        self, rows: Sequence[tuple[Any, ...]], key: Sequence[Column], /
    ) -> list[tuple[str | None, ...]]:
        """The driver's keys, as texts."""

    @abstractmethod
    def _fault(self, error: Exception, /) -> str | None:
        """The server's message if a query of the user is wrong itself; None for other errors."""

    @abstractmethod
    def _history_position(self, position: P, /) -> dict[str, Any]:
        """The position in the history records that describe the tables of a snapshot."""

    @abstractmethod
    def _record(self, table: StoredTable, position: P, at_ms: int, /) -> HistoryRecord:
        """The schema history record of a table at a snapshot's position."""

    @abstractmethod
    def _opened_history(self) -> SchemaHistory:
        """Open the schema history, which the caller closes. Raises HeadraceError."""

    @property
    @abstractmethod
    def _connector(self) -> str:
        """The prefix of error codes."""

    def close(self) -> None:
        """Close the connection; never raises."""
        super().close()
        self._kept.close()

    # -- schema changes of tables ---------------------------------------------------------------

    @property
    def is_prefaced(self) -> bool:
        """Whether schema changes precede rows (include.schema.changes)."""
        return self._is_prefaced

    def preface(self, position: P) -> Sequence[PrefaceRecord]:
        """See SnapshotSource: the tables as schema changes. They come from the schema history while
        it exists: tables may be altered or created before the range is read again."""
        topic = self._captured.topics.schema_changes
        records = self._recorded(position) or self._records(position)
        announced = [
            PrefaceRecord(
                SchemaChangeFacts(topic, *change.table.id[-2:]),
                OPERATION,
                schema_change_image(record),
            )
            for record in records
            for change in record.changes or ()
        ]
        if announced and not self._reads_rows:
            announced[-1] = announced[-1]._replace(marker="last")
        return announced

    def record_tables(self, position: P) -> None:
        """Write the tables to the schema history. Raises HeadraceError."""
        history = self._opened_history()
        try:
            history.write(self._records(position))
        finally:
            history.close()

    def _recorded(self, position: P) -> list[HistoryRecord]:
        """The records that `record_tables` wrote last at a position; empty if they are lost."""
        history = self._opened_history()
        try:
            records = history.records_at(self._history_position(position))
        finally:
            history.close()
        return [record for record in records if record.at_ms == records[-1].at_ms]

    def _records(self, position: P) -> list[HistoryRecord]:
        at_ms = time.time_ns() // 1_000_000
        return [self._record(table, position, at_ms) for table in self.described()]

    def structures(self) -> list[StoredTable]:
        """The captured tables, by name."""
        return [table for table in self.described() if self._captured.takes(table.name)]

    def described(self) -> list[StoredTable]:
        """The tables that the schema history describes, by name."""
        if self._structures is None:
            with self._asking(ASKING):
                ids = [table.id for table in self._tables.tables() if self._is_described(table)]
                reading = self._tables.read(ids)
            described = (reading.describe(identity) for identity in ids)
            tables = (table for table in described if table is not None)
            self._structures = sorted(tables, key=lambda table: table.name)
        return self._structures

    def _is_described(self, table: StoredTable) -> bool:
        """Whether the schema history contains a table."""
        return self._captured.takes(table.name)

    # -- tables ---------------------------------------------------------------------------------

    def tables(self, conditions: Mapping[str, str | None] | None = None) -> list[SnapshotTable]:
        """See SnapshotSource."""
        if not self._reads_rows and conditions is None:
            return []
        with self._asking(ASKING):
            return super().tables(conditions)

    def names(self) -> list[str]:
        """See SnapshotTables."""
        with self._asking(ASKING):
            return super().names()

    def _read(self, ids: Sequence[Any]) -> TableReading[StoredTable]:
        with self._asking(ASKING):
            return super()._read(ids)

    @contextmanager
    def _asking(self, doing: str) -> Iterator[Any]:
        """A read-only transaction; errors of the driver become HeadraceError."""
        with self._kept.transaction(doing) as connection:
            yield connection

    def _ask(self, statement: str) -> Sequence[tuple[Any, ...]]:
        with self._asking(ASKING):
            return fetched(self._cursor(statement))

    def _keys(self, statement: str, key: Sequence[Column]) -> list[KeyBound]:
        return [tuple(map(str, bound)) for bound in self._key_texts(self._ask(statement), key)]

    def _estimate(self, leaf: Leaf) -> int:
        """The catalog already counts tables without statistics."""
        return leaf.rows

    def _probed(self, statement: str) -> tuple[tuple[str, ...], Sequence[tuple[Any, ...]]]:
        """The columns of a user's query, and its first row, if it has any. Raises
        QueryRefusedError, and HeadraceError for other errors."""
        try:
            with self._kept.translated(ASKING, lambda error: self._fault(error) is None):
                cursor = self._cursor(statement)
                rows = cursor.fetch(1)
                cursor.close()
        except Exception as error:
            fault = self._fault(error)
            if fault is None:
                raise
            raise QueryRefusedError(fault) from None
        return cursor.columns, rows

    def _check_filter(self, table: StoredTable, condition: str) -> None:
        source = self.sql.dialect.source(table.path, alone=True)
        try:
            self._probed(f"SELECT 1 FROM {source} WHERE 0 = 1 AND ({condition})")
        except QueryRefusedError as refused:
            raise ValueError(f"its filter fails: {refused}") from None

    def _is_empty(self, name: str, statement: str) -> bool:
        try:
            return not self._probed(statement)[1]
        except QueryRefusedError as refused:
            raise HeadraceError(
                f"{self._connector}.override",
                f"{PROPERTY}.{name}: {refused}",
                "Give one SELECT whose columns have the names of the table's.",
            ) from None


def fetched(cursor: DriverCursor) -> list[tuple[Any, ...]]:
    """All rows of a query."""
    rows: list[tuple[Any, ...]] = []
    while part := cursor.fetch(10_000):
        rows += part
    cursor.close()
    return rows
