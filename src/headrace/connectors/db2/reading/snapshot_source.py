"""Db2 under a snapshot. It has no state that several queries could see: rows are as of the time
when their chunk is read, and what was changed since the snapshot's place comes again in the log."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from headrace.connect.images import cells, make_image
from headrace.connect.rows import RowKind
from headrace.connectors.db2 import sql
from headrace.connectors.db2.capture import Capture, needed_columns
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Connection
from headrace.connectors.db2.errors import DriverError
from headrace.connectors.db2.lsn import LSN_BYTES, format_lsn, lsn_of
from headrace.connectors.db2.position import Db2Position
from headrace.connectors.db2.reading.dialect import SQL, SQLGLOT, bound
from headrace.connectors.db2.reading.kept_connection import KeptConnection
from headrace.connectors.db2.reading.snapshot_reader import Db2SnapshotReader, isolation_of
from headrace.connectors.db2.reading.table_catalog import PAGE_BYTES, SnapshotCatalog
from headrace.connectors.db2.rows.images import RowImages
from headrace.connectors.db2.schema_history import db2_history, history_table, snapshot_position
from headrace.errors import HeadraceError
from headrace.relational.catalog import StoredTable
from headrace.relational.events import RelationFacts
from headrace.relational.history.records import ChangeType, HistoryRecord, TableChange
from headrace.relational.history.store import MemoryStore
from headrace.relational.overrides import PROPERTY
from headrace.relational.reading.snapshot_tables import SnapshotTables
from headrace.relational.schema_changes import (
    OPERATION,
    SchemaChangeFacts,
    schema_change_image,
)
from headrace.relational.table import Column
from headrace.snapshots.chunks import Chunk, Cut, KeyBound
from headrace.snapshots.slices import PrefaceRecord
from headrace.snapshots.snapshot import Snapshot
from headrace.snapshots.source import HeldSnapshot, SnapshotHolder, SnapshotSource
from headrace.snapshots.tables import Leaf, SnapshotTable

_TAKING, _ASKING = "Taking the snapshot", "Reading the tables of the snapshot"


@dataclass(frozen=True)
class Db2State(HeldSnapshot):
    """The place behind the last commit that Capture had written when the snapshot was taken."""

    position: Db2Position
    taken_us: int = 0

    @property
    def visible(self) -> str:
        """See HeldSnapshot."""
        return str(self.position)


class Db2SnapshotSource(
    SnapshotTables[StoredTable],
    SnapshotHolder[Db2State],
    SnapshotSource[Db2Position, Db2State],
):
    """See `headrace.snapshots.source.SnapshotSource`. `reads_rows`: False for a snapshot of the
    tables' structures alone."""

    page_bytes = PAGE_BYTES
    sql = SQL
    dialect = SQLGLOT
    keyless = Cut.WHOLE

    def __init__(
        self,
        config: Db2Config,
        capture: Capture,
        *,
        reads_rows: bool = True,
        memory: MemoryStore | None = None,
    ) -> None:
        self._kept = KeptConnection(config, isolation_of(config))
        super().__init__(config, capture, SnapshotCatalog(self._kept.get))
        self._config, self._capture, self._reads_rows = config, capture, reads_rows
        self._memory = memory
        self._structures: list[StoredTable] | None = None
        self._locked = False

    # -- the snapshot ---------------------------------------------------------------------------

    def lock(self) -> None:
        """As snapshot.locking.mode says; like Debezium's, the statements hold no lock once they
        have run."""
        modes = ("repeatable_read", "exclusive")
        locks = str(self._config.snapshot_isolation_mode) in modes
        if self._locked or not locks or self._config.snapshot_locking_mode == "none":
            return
        with self._asking(_TAKING) as connection:
            present = self._tables.tables()
            paths = {table.name: table.path for table in present}
            for name in self._included(present):
                connection.rows(sql.lock(*paths[name]))
        self._locked = True

    def _taken(self, _covers: str | None) -> Db2State:
        """What commits before it is seen by whatever reads after it."""
        return self.now()

    def now(self) -> Db2State:
        """The state that a snapshot of now begins with. Raises HeadraceError."""
        return Db2State(self._now(), time.time_ns() // 1000)

    def _now(self) -> Db2Position:
        with self._asking(_TAKING) as connection:
            ((newest,),) = connection.rows(sql.newest_lsn(self._config))
        return Db2Position() if newest is None else Db2Position.behind_commit(bytes(newest))

    def reader(self) -> Db2SnapshotReader:
        """See SnapshotSource."""
        return Db2SnapshotReader(self._config)

    def position(self) -> int:
        """Behind the last commit that Capture has written."""
        return self._now().committed

    def transaction_image(self, position: Db2Position, kind: int) -> bytes:
        """The number of the commit that rows show."""
        return commit_image(position.lsn_bytes, position.committed, kind)

    def close(self) -> None:
        """Let the connection go; never raises."""
        super().close()
        self._kept.close()

    # -- what is told of tables -----------------------------------------------------------------

    @property
    def is_prefaced(self) -> bool:
        """Schema changes come before rows (include.schema.changes)."""
        return self._config.include_schema_changes

    def preface(self, position: Db2Position) -> Sequence[PrefaceRecord]:
        """See SnapshotSource: the captured tables, as schema changes. They are what the schema
        history has of them, as long as it is there: tables may be altered, or new, before the range
        is read again."""
        topic = self._capture.topics.schema_changes
        records = self._recorded(position) or self._records(position)
        return [
            PrefaceRecord(
                SchemaChangeFacts(topic, *change.table.id[-2:]),
                OPERATION,
                schema_change_image(record),
            )
            for record in records
            for change in record.changes or ()
        ]

    def record_tables(self, position: Db2Position) -> None:
        """Write the captured tables into the schema history. Raises HeadraceError."""
        history = db2_history(self._config, self._memory)
        try:
            history.write(self._records(position))
        finally:
            history.close()

    def _recorded(self, position: Db2Position) -> list[HistoryRecord]:
        """What `record_tables` wrote at a position last; none where it is lost."""
        history = db2_history(self._config, self._memory)
        try:
            records = history.records_at(_told_at(position))
        finally:
            history.close()
        return [one for one in records if one.at_ms == records[-1].at_ms]

    def _records(self, position: Db2Position) -> list[HistoryRecord]:
        at_ms = time.time_ns() // 1_000_000
        return [
            HistoryRecord(
                {},
                _told_at(position),
                at_ms,
                self._config.database_dbname,
                table.schema,
                None,
                (TableChange(ChangeType.CREATE, history_table(table)),),
            )
            for table in self._described_tables()
        ]

    def _described_tables(self) -> list[StoredTable]:
        """The captured tables, by name."""
        if self._structures is None:
            with self._asking(_ASKING):
                present = self._tables.tables()
                ids = [table.id for table in present if self._capture.takes(table.name)]
                reading = self._tables.read(ids)
            described = (reading.describe(identity) for identity in ids)
            self._structures = [table for table in described if table is not None]
        return self._structures

    # -- tables ---------------------------------------------------------------------------------

    def tables(self, conditions: Any = None) -> list[SnapshotTable]:
        """See SnapshotSource."""
        if not self._reads_rows and conditions is None:
            return []
        with self._asking(_ASKING):
            return super().tables(conditions)

    def names(self) -> list[str]:
        """See SnapshotTables."""
        with self._asking(_ASKING):
            return super().names()

    def _read(self, ids: Sequence[Any]) -> Any:
        with self._asking(_ASKING):
            return super()._read(ids)

    @contextmanager
    def _asking(self, doing: str) -> Iterator[Connection]:
        """A transaction that only reads; errors of the driver become HeadraceError."""
        with self._kept.transaction(doing) as connection:
            yield connection

    @contextmanager
    def _faulty(self, doing: str) -> Iterator[None]:
        """Around a statement of the user: errors that are not the statement's become HeadraceError,
        and close the connection."""
        with self._kept.translated(doing, lambda error: not error.is_of_statement):
            yield

    def _ask(self, statement: str) -> Sequence[tuple[Any, ...]]:
        with self._asking(_ASKING) as connection:
            return connection.rows(*bound(statement))

    def _keys(self, statement: str, key: Sequence[Column]) -> list[KeyBound]:
        return [tuple(map(str, one)) for one in key_texts(self._ask(statement), key)]

    def _estimate(self, leaf: Leaf) -> int:
        """The catalogue counts what has no statistics."""
        return leaf.rows

    def _check_filter(self, table: StoredTable, condition: str) -> None:
        statement = f"SELECT 1 FROM {sql.quoted(*table.path)} WHERE 0 = 1 AND ({condition})"
        try:
            with self._faulty(_ASKING):
                self._kept.get().rows(*bound(statement))
        except DriverError as error:
            raise ValueError(f"its filter fails: {error.text}") from None

    def _is_empty(self, name: str, statement: str) -> bool:
        try:
            with self._faulty(_ASKING):
                cursor = self._kept.get().cursor(*bound(statement))
                is_empty = not cursor.fetch(1)
                cursor.close()
        except DriverError as error:
            raise HeadraceError(
                "db2.override",
                f"{PROPERTY}.{name}: {error.text}",
                "Give one SELECT whose columns have the names of the table's.",
            ) from None
        return is_empty

    def _statement(
        self,
        chunk: Chunk,
        leaf: Leaf,
        condition: str | None,
        table: StoredTable,
        facts: RelationFacts,
    ) -> str:
        override = self._overrides.statements.get(table.name)
        if chunk.kind is Cut.WHOLE and override is not None and condition is None:
            return override
        needed = {*needed_columns(facts), *table.key}
        shown = [sql.readable(table.by_name[name]) for name in facts.cell_names if name in needed]
        return SQL.chunk(leaf.path, (), table.key_columns, chunk, condition, shown)


def _told_at(position: Db2Position) -> dict[str, Any]:
    """The position of the records that tell of the tables of a snapshot."""
    return snapshot_position(position.commit_lsn or bytes(LSN_BYTES))


Db2Snapshot = Snapshot[Db2Position, Db2State]


def commit_image(lsn_bytes: int, place: int, kind: int) -> bytes:
    """The image of a transaction that shows the commit at a place: the last one before it, or,
    inside of a transaction, this one's. Empty: none is known."""
    commit = place if kind == RowKind.TRANSACTION else place - 1
    return make_image([format_lsn(lsn_of(commit, lsn_bytes))]) if commit >= 0 else b""


def key_texts(
    rows: Sequence[tuple[Any, ...]], key: Sequence[Column]
) -> list[tuple[str | None, ...]]:
    """Keys that the driver gave, as texts."""
    if not rows:
        return []
    block = RowImages.of("a key", key).block(rows)
    images = (
        block.images[block.offsets[row] : block.offsets[row + 1]].tobytes()
        for row in range(len(rows))
    )
    return [
        tuple(None if cell is None else cell.decode() for cell in cells(image)) for image in images
    ]
