"""Snapshots of Oracle: rows are as of one SCN, for every query and for as long as undo has them."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from headrace.config.properties.history import HistoryKind
from headrace.connect.deadline import Deadline
from headrace.connectors.oracle import sql
from headrace.connectors.oracle.capture import Capture
from headrace.connectors.oracle.catalog.catalog import Catalog
from headrace.connectors.oracle.catalog.open_transactions import open_before
from headrace.connectors.oracle.catalog.stored_tables import WHOLE_SCHEMA_FROM
from headrace.connectors.oracle.clock import current_scn, time_of_scn
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import Connection, Cursor, connect, translated_error
from headrace.connectors.oracle.errors import DriverError
from headrace.connectors.oracle.events import CONNECTOR
from headrace.connectors.oracle.position import OraclePosition
from headrace.connectors.oracle.properties.modes import BoundaryMode
from headrace.connectors.oracle.reading.chunk_query import SCN_NOT_READABLE, RowsQuery
from headrace.connectors.oracle.reading.dialect import PRESENT, SQLGLOT, sql_at
from headrace.connectors.oracle.reading.kept_connection import kept_connection
from headrace.connectors.oracle.reading.snapshot_reader import OracleSnapshotReader, altered
from headrace.connectors.oracle.reading.table_catalog import PAGE_BYTES, snapshot_catalog
from headrace.connectors.oracle.rows.images import key_texts
from headrace.connectors.oracle.schema_history import (
    history_table,
    oracle_history,
    snapshot_position,
)
from headrace.connectors.oracle.scn import after_scn
from headrace.errors import HeadraceError
from headrace.relational.catalog import StoredTable
from headrace.relational.events import RelationFacts
from headrace.relational.history.history import SchemaHistory
from headrace.relational.history.records import ChangeType, HistoryRecord, TableChange
from headrace.relational.history.store import MemoryStore
from headrace.relational.overrides import PROPERTY
from headrace.relational.reading.chunk_sql import ChunkSql, Path
from headrace.relational.reading.driver_snapshots import TAKING, DriverSnapshots
from headrace.relational.table import Column
from headrace.snapshots.chunks import Chunk, ChunkKind
from headrace.snapshots.modes import SnapshotRule
from headrace.snapshots.snapshot import Snapshot
from headrace.snapshots.snapshot_source import HeldSnapshot
from headrace.snapshots.tables import Leaf, SnapshotTable

log = logging.getLogger(__name__)

_SETTLING_SECONDS, _PAUSE_SECONDS = 20.0, 0.5
"""Seconds that a snapshot waits for SCNs after the last DDL statement: Oracle maps
SCNs to times with a precision of three seconds."""
_PROBED_TABLES = 200
_MANY_TABLES = 2000
"""Number of tables in the schema history above which a warning is logged."""
_GONE_CODES = frozenset({"oracle.snapshot_too_old", "oracle.table_altered", "oracle.unknown_scn"})
_ALTERED_CODES = frozenset({"oracle.table_gone", "oracle.column_gone"})


@dataclass(frozen=True)
class OracleState(HeldSnapshot):
    """The state that was committed up to an SCN. Redo after the SCN `mined` has every change of
    those transactions that were open at the state's SCN and are captured completely; None: no such
    transaction was open."""

    scn: int
    taken_us: int = 0
    mined: int | None = None

    @property
    def visible(self) -> str:
        """See HeldSnapshot."""
        return str(self.scn)

    @property
    def position(self) -> OraclePosition:
        """The position after everything that the state contains. Later changes may have the current
        SCN."""
        mined = max(self.scn - 1, 0) if self.mined is None else self.mined
        return OraclePosition.after_scn(self.scn, mined)


class OracleSnapshotSource(DriverSnapshots[OraclePosition, OracleState]):
    """See DriverSnapshots."""

    page_bytes = PAGE_BYTES
    dialect = SQLGLOT
    keyless = ChunkKind.WHOLE
    _connector = CONNECTOR

    def __init__(
        self,
        config: OracleConfig,
        capture: Capture,
        *,
        reads_rows: bool = True,
        memory: MemoryStore | None = None,
    ) -> None:
        session = kept_connection(config)
        super().__init__(
            config,
            capture,
            snapshot_catalog(session.get, comments=capture.reads_comments),
            session,
            reads_rows=reads_rows,
            is_prefaced=config.include_schema_changes,
        )
        self._config, self._capture, self._memory = config, capture, memory
        self._streams = SnapshotRule.of(config).streams
        self._locks: Connection | None = None
        self._lost: int | None = None
        self._ddl: dict[tuple[str, str], tuple[str, tuple[tuple[str, str | None], ...]]] = {}

    # -- the snapshot ---------------------------------------------------------------------------

    @property
    def sql(self) -> ChunkSql:
        """The SQL as of the snapshot's SCN."""
        return PRESENT if self._snapshot is None else sql_at(self._snapshot.scn)

    def lock(self) -> None:
        """Take the locks of snapshot.locking.mode, which are held until the tables are
        described."""
        if self._locks is not None or self._config.snapshot_locking_mode != "shared":
            return
        paths = self._paths()
        self._locks = connect(self._config, container=self._config.container)
        try:
            self._locks.execute(sql.SAVEPOINT())
            for path in paths:
                self._locks.execute(sql.LOCK(table=sql.quoted(*path)))
        except DriverError as error:
            self._unlock()
            raise translated_error(error, self._config, "Locking tables") from None

    def _unlock(self) -> None:
        if self._locks is not None:
            locks, self._locks = self._locks, None
            try:
                locks.execute(sql.UNLOCK())
            except DriverError as error:
                reason = self._config.hidden.in_error(error.text)
                log.debug("the session with the locks is gone: %s", reason)
            locks.close()

    def _taken(self, _covers: str | None) -> OracleState:
        """Return the current state."""
        return self.now()

    def now(self) -> OracleState:
        """Return the state of a snapshot that is taken now: an SCN as of which tables can be read,
        which Oracle refuses for some seconds after a DDL statement. Raises HeadraceError."""
        rest = Deadline(_SETTLING_SECONDS)
        paths = self._paths() if self._reads_rows else []
        while True:
            with self._asking(TAKING) as connection:
                state = self._state(connection)
                refused = self._refused_at(connection, state.scn, paths)
            if refused is None:
                return state
            if rest.is_over:
                raise translated_error(refused, self._config, TAKING)
            time.sleep(_PAUSE_SECONDS)

    def _state(self, connection: Connection) -> OracleState:
        """Return the current state. Open transactions are read before the SCN, so that one that
        begins in between is after that SCN."""
        before = current_scn(connection)
        pending = self._pending(connection, before)
        mode = self._config.internal_log_mining_transaction_snapshot_boundary_mode
        oldest = None
        if mode is not BoundaryMode.SKIP:
            oldest = min(pending, default=before)
        elif pending and self._streams:
            log.warning(
                "%d transactions are open at SCN %d: their changes up to then do not become "
                "events; internal.log.mining.transaction.snapshot.boundary.mode="
                "transaction_view_only captures them completely",
                len(pending),
                before,
            )
        scn = current_scn(connection)
        taken_us = time_of_scn(connection, scn)
        mined = None if oldest is None else max(min(oldest, scn) - 1, 0)
        return OracleState(scn, time.time_ns() // 1000 if taken_us is None else taken_us, mined)

    def _pending(self, connection: Connection, scn: int) -> list[int]:
        """Return the SCNs of the first changes of open transactions. Raises DriverError only if the
        configuration asks for them."""
        try:
            return [start for _, start in open_before(connection, scn)]
        except DriverError:
            mode = self._config.internal_log_mining_transaction_snapshot_boundary_mode
            if mode is not BoundaryMode.SKIP:
                raise
            return []

    def _paths(self) -> list[Path]:
        """Return schemas and names of the tables whose rows are read; each may have dots."""
        with self._asking(TAKING):
            present = self._tables.tables()
        paths = {table.name: table.path for table in present}
        return [paths[name] for name in self._included(present)]

    @staticmethod
    def _refused_at(connection: Connection, scn: int, paths: Sequence[Path]) -> DriverError | None:
        """Return the error with which tables cannot be read as of an SCN; None: they can. Raises
        DriverError."""
        try:
            for first in range(0, len(paths), _PROBED_TABLES):
                connection.rows(sql_at(scn).filled(paths[first : first + _PROBED_TABLES]))
        except DriverError as error:
            if error.code in SCN_NOT_READABLE:
                return error
            raise
        return None

    def regain(self, visible: str) -> bool:
        """See SnapshotSource; possible while undo has the rows."""
        scn = int(visible)
        if self._snapshot is not None or scn == self._lost:
            return self._snapshot is not None and self._snapshot.scn == scn
        paths = self._paths()
        with self._asking(TAKING) as connection:
            refused = self._refused_at(connection, scn, paths)
        if refused is not None:
            log.warning("the snapshot as of SCN %d cannot continue: %s", scn, refused.text)
            return False
        self.adopt(OracleState(scn))
        return True

    def reader(self) -> OracleSnapshotReader:
        """See SnapshotSource."""
        return OracleSnapshotReader(self._config)

    def position(self) -> int:
        """Return the place after the last commit."""
        with self._asking(TAKING) as connection:
            return after_scn(current_scn(connection))

    def close(self) -> None:
        """Release the locks and the connection; never raises."""
        self._unlock()
        super().close()

    # -- see DriverSnapshots --------------------------------------------------------------------

    def tables(self, conditions: Mapping[str, str | None] | None = None) -> list[SnapshotTable]:
        """See SnapshotSource. After this call the tables' structures are known, and locks are
        released."""
        if self._locks is not None:
            self.structures()
        tables = super().tables(conditions)
        self._unlock()
        return tables

    def described(self) -> list[StoredTable]:
        """See DriverSnapshots; also reads the statement that creates each table, if records show
        it."""
        if self._structures is None:
            tables = super().described()
            if self._is_seen:
                self._warn_of(tables)
                with self._asking("Reading the DDL of tables") as connection:
                    self._read_statements(Catalog(connection), tables)
        return super().described()

    def _warn_of(self, tables: Sequence[StoredTable]) -> None:
        """Log a warning for thousands of tables, whose statements take a while, under locks."""
        others = sum(not self._captured.takes(table.name) for table in tables)
        if len(tables) > _MANY_TABLES and others:
            log.warning(
                "The schema history has %d tables, of which %d are not captured, and the "
                "statement of each is read from the data dictionary before the first row: "
                "schema.history.internal.store.only.captured.tables.ddl=true leaves those out",
                len(tables),
                others,
            )

    def _read_statements(self, catalog: Catalog, tables: Sequence[StoredTable]) -> None:
        counts = Counter(table.schema for table in tables)
        of_schemas = {
            schema: catalog.object_ids_of(schema)
            for schema, count in counts.items()
            if count >= WHOLE_SCHEMA_FROM
        }
        for table in tables:
            known = of_schemas.get(table.schema)
            object_ids = (
                catalog.object_ids(*table.path) if known is None else known.get(table.table)
            )
            ids = map(str, object_ids or (0, 0))
            attributes = tuple(zip(("OBJECT_ID", "DATA_OBJECT_ID"), ids, strict=True))
            self._ddl[table.path] = catalog.ddl(*table.path), attributes

    @property
    def _is_seen(self) -> bool:
        """Whether the records of tables are published or stored."""
        return self._config.include_schema_changes or (
            self._config.history_kind() is not HistoryKind.MEMORY
        )

    def _is_described(self, table: StoredTable) -> bool:
        """Whether a table has a schema change; tables that are not captured may have one, too."""
        is_mentioned = self._capture.mentions(table.schema) and not self._capture.is_system(
            table.schema, table.table
        )
        return super()._is_described(table) or (self._is_seen and is_mentioned)

    def _history_position(self, position: OraclePosition) -> dict[str, Any]:
        return snapshot_position(position.scn)

    def _record(self, table: StoredTable, position: OraclePosition, at_ms: int) -> HistoryRecord:
        database = self._config.catalog_name
        ddl, attributes = self._ddl.get(table.path, ("", ()))
        described = replace(history_table(table, database), attributes=attributes)
        return HistoryRecord(
            {},
            self._history_position(position),
            at_ms,
            database,
            table.schema,
            ddl,
            (TableChange(ChangeType.CREATE, described),),
        )

    def _opened_history(self) -> SchemaHistory:
        return oracle_history(self._config, self._memory)

    def _cursor(self, statement: str) -> Cursor:
        connection: Connection = self._kept.get()
        return connection.cursor(statement, exact=True)

    def _key_texts(
        self, rows: Sequence[tuple[Any, ...]], key: Sequence[Column]
    ) -> list[tuple[str | None, ...]]:
        return key_texts(rows, key)

    def _fault(self, error: Exception) -> str | None:
        if not isinstance(error, DriverError) or not error.is_of_statement:
            return None
        return self._config.hidden.in_error(error.text, PROPERTY)

    @contextmanager
    def _asking(self, doing: str) -> Iterator[Connection]:
        """A context with a connection. If undo no longer has the snapshot's SCN, the snapshot is
        let go, and the error says that it continues with a later SCN. A table that was altered or
        dropped is described again."""
        try:
            with super()._asking(doing) as connection:
                yield connection
        except HeadraceError as error:
            if self._snapshot is not None and error.code in _ALTERED_CODES:
                self._described.clear()
                raise altered(error) from None
            if self._snapshot is None or error.code not in _GONE_CODES:
                raise
            self._lost = self._snapshot.scn
            self._let_go()
            self._described.clear()
            raise HeadraceError(
                error.code,
                error.message,
                f"The snapshot continues with a later SCN. {error.remedy}",
                retriable=True,
            ) from None

    # -- chunks ---------------------------------------------------------------------------------

    def _is_empty(self, name: str, statement: str) -> bool:
        return super()._is_empty(name, f"SELECT * FROM ({self._overriding(statement)})")

    def _overriding(self, statement: str) -> str:
        """Return a statement of the user, with the SCN at its place."""
        token = self._config.internal_snapshot_enhance_predicate_scn
        if not token:
            return statement
        return statement.replace(token, sql.as_of(self._present().scn))

    def _statement(
        self,
        chunk: Chunk,
        leaf: Leaf,
        condition: str | None,
        table: StoredTable,
        facts: RelationFacts,
    ) -> RowsQuery:
        """Return the query of a chunk. A chunk that is read by key may be as of a later SCN if a
        stream follows, which corrects it."""
        names = facts.cell_names
        statement = self._overrides.statements.get(table.name)
        override = None
        if chunk.kind is ChunkKind.WHOLE and statement is not None and condition is None:
            override = self._overriding(statement)
            returned = set(self._probed(f"SELECT * FROM ({override})")[0])
            names = tuple(name for name in names if name in returned)
        key = table.key_columns if chunk.kind is ChunkKind.KEY else ()
        return RowsQuery(
            leaf.path,
            tuple(table.by_name[name] for name in names),
            key,
            chunk,
            self._present().scn,
            condition,
            override,
            may_read_later=self._streams
            and bool(key)
            and {column.name for column in key} <= set(names),
        )


OracleSnapshot = Snapshot[OraclePosition, OracleState]
