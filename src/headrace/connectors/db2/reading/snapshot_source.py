"""Snapshots of Db2, which has no state that several queries can see: rows are as of the time when
their chunk is read, and changes since the snapshot's place come again in the log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from headrace.connect.images import make_image
from headrace.connect.rows import RowKind
from headrace.connectors.db2 import sql
from headrace.connectors.db2.capture import Capture, needed_columns
from headrace.connectors.db2.clock import server_time_us
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Cursor
from headrace.connectors.db2.errors import DriverError
from headrace.connectors.db2.events import CONNECTOR
from headrace.connectors.db2.lsn import LSN_BYTES, format_lsn, lsn_of
from headrace.connectors.db2.position import Db2Position
from headrace.connectors.db2.reading.dialect import SQL, SQLGLOT, bound
from headrace.connectors.db2.reading.kept_connection import kept_connection
from headrace.connectors.db2.reading.snapshot_reader import Db2SnapshotReader, isolation_of
from headrace.connectors.db2.reading.table_catalog import PAGE_BYTES, snapshot_catalog
from headrace.connectors.db2.rows.images import images_at
from headrace.connectors.db2.schema_history import db2_history, history_table, snapshot_position
from headrace.relational.catalog import StoredTable
from headrace.relational.events import RelationFacts
from headrace.relational.history.history import SchemaHistory
from headrace.relational.history.records import ChangeType, HistoryRecord, TableChange
from headrace.relational.history.store import MemoryStore
from headrace.relational.overrides import PROPERTY
from headrace.relational.reading.driver_snapshots import ASKING, TAKING, DriverSnapshots
from headrace.relational.table import Column
from headrace.snapshots.chunks import Chunk, ChunkKind
from headrace.snapshots.snapshot import Snapshot
from headrace.snapshots.snapshot_source import HeldSnapshot
from headrace.snapshots.tables import Leaf


@dataclass(frozen=True)
class Db2State(HeldSnapshot):
    """The place after the last commit that Capture had written when the snapshot was taken."""

    position: Db2Position
    taken_us: int = 0

    @property
    def visible(self) -> str:
        """See HeldSnapshot."""
        return str(self.position)


class Db2SnapshotSource(DriverSnapshots[Db2Position, Db2State]):
    """See DriverSnapshots."""

    page_bytes = PAGE_BYTES
    sql = SQL
    dialect = SQLGLOT
    keyless = ChunkKind.WHOLE
    _connector = CONNECTOR

    def __init__(
        self,
        config: Db2Config,
        capture: Capture,
        *,
        reads_rows: bool = True,
        memory: MemoryStore | None = None,
    ) -> None:
        session = kept_connection(config, isolation_of(config))
        super().__init__(
            config,
            capture,
            snapshot_catalog(session.get),
            session,
            reads_rows=reads_rows,
            is_prefaced=config.include_schema_changes,
        )
        self._config, self._memory = config, memory
        self._locked = False

    # -- the snapshot ---------------------------------------------------------------------------

    def lock(self) -> None:
        """Run the statements of snapshot.locking.mode; like Debezium's, they hold no lock once they
        have run."""
        modes = ("repeatable_read", "exclusive")
        locks = str(self._config.snapshot_isolation_mode) in modes
        if self._locked or not locks or self._config.snapshot_locking_mode == "none":
            return
        with self._asking(TAKING) as connection:
            present = self._tables.tables()
            paths = {table.name: table.path for table in present}
            for name in self._included(present):
                connection.rows(sql.lock(*paths[name]))
        self._locked = True

    def _taken(self, _covers: str | None) -> Db2State:
        """Return the current state: later reads see what was committed before it."""
        return self.now()

    def now(self) -> Db2State:
        """Return the state of a snapshot that is taken at the server's current time. Raises
        HeadraceError."""
        position = self._now()
        with self._asking(TAKING) as connection:
            return Db2State(position, server_time_us(connection))

    def _now(self) -> Db2Position:
        with self._asking(TAKING) as connection:
            ((newest,),) = connection.rows(sql.newest_lsn(self._config))
        return Db2Position() if newest is None else Db2Position.after_commit(bytes(newest))

    def reader(self) -> Db2SnapshotReader:
        """See SnapshotSource."""
        return Db2SnapshotReader(self._config)

    def position(self) -> int:
        """Return the place after the last commit that Capture has written."""
        return self._now().committed

    def transaction_image(self, position: Db2Position, kind: int) -> bytes:
        """Return the image with the number of the commit that rows show."""
        return commit_image(position.lsn_bytes, position.committed, kind)

    # -- see DriverSnapshots --------------------------------------------------------------------

    def _history_position(self, position: Db2Position) -> dict[str, Any]:
        return snapshot_position(position.commit_lsn or bytes(LSN_BYTES))

    def _record(self, table: StoredTable, position: Db2Position, at_ms: int) -> HistoryRecord:
        return HistoryRecord(
            {},
            self._history_position(position),
            at_ms,
            self._database,
            table.schema,
            None,
            (TableChange(ChangeType.CREATE, history_table(table)),),
        )

    @cached_property
    def _database(self) -> str:
        """The name of the database as the server has it, to which `database.dbname` is folded."""
        with self._asking(ASKING) as connection:
            return str(connection.database)

    def _opened_history(self) -> SchemaHistory:
        return db2_history(self._config, self._memory)

    def _cursor(self, statement: str) -> Cursor:
        cursor: Cursor = self._kept.get().cursor(*bound(statement))
        return cursor

    def _key_texts(
        self, rows: Sequence[tuple[Any, ...]], key: Sequence[Column]
    ) -> list[tuple[str | None, ...]]:
        return key_texts(rows, key)

    def _fault(self, error: Exception) -> str | None:
        if not isinstance(error, DriverError) or not error.is_of_statement:
            return None
        return self._config.hidden.in_error(error.text, PROPERTY)

    def _statement(
        self,
        chunk: Chunk,
        leaf: Leaf,
        condition: str | None,
        table: StoredTable,
        facts: RelationFacts,
    ) -> str:
        override = self._overrides.statements.get(table.name)
        if chunk.kind is ChunkKind.WHOLE and override is not None and condition is None:
            return override
        needed = {*needed_columns(facts), *table.key}
        columns = [sql.readable(table.by_name[name]) for name in facts.cell_names if name in needed]
        return SQL.chunk(leaf.path, (), table.key_columns, chunk, condition, columns)


Db2Snapshot = Snapshot[Db2Position, Db2State]


def commit_image(lsn_bytes: int, place: int, kind: int) -> bytes:
    """Return the image of a transaction that shows the commit at a place: the last commit before
    it, or, inside of a transaction, that of the transaction. Empty: none is known."""
    commit = place if kind == RowKind.TRANSACTION else place - 1
    return make_image([format_lsn(lsn_of(commit, lsn_bytes))]) if commit >= 0 else b""


def key_texts(
    rows: Sequence[tuple[Any, ...]], key: Sequence[Column]
) -> list[tuple[str | None, ...]]:
    """Return keys that the driver returned, as texts."""
    return images_at("a key", key).texts(rows)
