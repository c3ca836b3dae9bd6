"""PostgreSQL under a snapshot: its state is held, and its tables are listed and described."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import psycopg
from psycopg import sql

from headrace.connect.slices import Plan
from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog.catalog import (
    Catalog,
    CatalogReading,
    CatalogTable,
)
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import find_operators_in, settings_of_users
from headrace.connectors.postgresql.position import PostgresPosition
from headrace.connectors.postgresql.reading.chunks import (
    PAGE_BYTES,
    copy_statement,
    count_statement,
    next_bound,
    number_of_rows,
)
from headrace.connectors.postgresql.reading.filtered_rows import DIALECT
from headrace.connectors.postgresql.reading.keeper import Keeper, position_of, renew
from headrace.connectors.postgresql.reading.locks import TableLocks
from headrace.connectors.postgresql.reading.overrides import copy_override
from headrace.connectors.postgresql.reading.snapshot_reader import PostgresSnapshotReader
from headrace.connectors.postgresql.reading.snapshot_tables import TableList, snapshot_tables
from headrace.connectors.postgresql.types.resolve import types_of
from headrace.connectors.postgresql.types.type_facts import operator_schemas
from headrace.relational.events import RelationFacts
from headrace.relational.overrides import Overrides
from headrace.snapshots.chunks import Chunk, Cut, KeyBound
from headrace.snapshots.notifications import ChunkAnnouncements
from headrace.snapshots.slices import ChunkQuery
from headrace.snapshots.snapshot import Snapshot
from headrace.snapshots.tables import Leaf, SnapshotTable
from headrace.streaming.facts import EventSettings

log = logging.getLogger(__name__)

_TABLES_AT_ONCE = 16
"""That are described together while chunks are cut."""


class PostgresSnapshotSource:
    """See `headrace.snapshots.source.SnapshotSource`. `check` is called while a snapshot waits,
    and may raise."""

    page_bytes = PAGE_BYTES

    def __init__(
        self,
        config: PostgresConfig,
        capture: Capture,
        catalog: Catalog,
        check: Callable[[], None],
    ) -> None:
        self._config, self._capture, self._catalog = config, capture, catalog
        self._check = check
        self._keeper: Keeper | None = None
        self.continued_at: int | None = None
        """Where the log was (LSN) when a snapshot was taken that goes on with a lost one."""
        self._locks: TableLocks | None = None
        self._overrides = Overrides.of(config)
        self._readings: dict[int, CatalogReading] = {}
        self._expected: list[int] = []
        self._numbers: dict[int, int] = {}
        self._described: dict[int, tuple[CatalogTable, RelationFacts] | None] = {}
        self._operators: tuple[Keeper | None, set[str]] = (None, set())

    # -- the snapshot ---------------------------------------------------------------------------

    @property
    def held(self) -> Keeper | None:
        """The keeper of the snapshot; None when there is none, or when it was lost."""
        if self._keeper is not None and not self._keeper.alive():
            self._keeper.close()
            self._keeper = None
        return self._keeper

    def adopt(self, keeper: Keeper) -> None:
        """Hold the snapshot of `keeper`."""
        self._keeper = keeper

    def lock(self) -> None:
        """As snapshot.locking.mode says. Raises HeadraceError("postgresql.lock_timeout")."""
        if self._locks is None and self._config.snapshot_locking_mode == "shared":
            names = snapshot_tables(self._config, self._capture, self._catalog)
            self._locks = TableLocks(self._config, names)

    def hold(self, covers: str | None) -> Keeper:
        """See the protocol; `covers` is a `txid_current_snapshot()`."""
        self._keeper = renew(self._config, covers, self._check, log.warning)
        if covers:
            self.continued_at = self.position()
        return self._keeper

    def reader(self) -> PostgresSnapshotReader:
        """How tasks import the snapshot."""
        return PostgresSnapshotReader(self._config, self._held().snapshot_id)

    def moved(self, position: PostgresPosition) -> PostgresPosition:
        """The position where the log is now."""
        return replace(position, lsn_commit=self.position())

    def last_commit(self, position: PostgresPosition) -> int | None:
        """What `source.sequence` shows of the last commit."""
        return position.last_commit

    def position(self) -> int:
        """Where the log is now (LSN)."""
        return position_of(self._held())

    def _held(self) -> Keeper:
        assert self._keeper is not None
        return self._keeper

    @property
    def _connection(self) -> psycopg.Connection:
        """The keeper's connection: queries on it see the snapshot."""
        return self._held().connection

    # -- tables ---------------------------------------------------------------------------------

    def tables(self, conditions: Mapping[str, str | None] | None = None) -> list[SnapshotTable]:
        """See the protocol."""
        tables = TableList(
            self._connection,
            self._config,
            self._capture,
            self._catalog,
            self._read,
            self.has_key,
        )
        return tables.tables(conditions)

    def expect(self, tables: Sequence[SnapshotTable]) -> None:
        """See the protocol: whoever is described, those that follow are read with it."""
        self._expected = [table.id for table in tables]
        self._numbers = {oid: number for number, oid in enumerate(self._expected)}

    def refresh(self, tables: Sequence[SnapshotTable] = ()) -> None:
        """See the protocol. What chunks were cut from stays as it was described."""
        self._readings.clear()
        if tables:
            self._read([table.id for table in tables])

    def has_key(self, table: SnapshotTable) -> bool:
        """See the protocol."""
        described = self._reading_of(table.id).describe(table.id)
        return described is not None and bool(self._facts(described).key)

    def _describe(self, table: SnapshotTable) -> tuple[CatalogTable, RelationFacts] | None:
        """The table as it is now, and its facts; None when it is gone."""
        if table.id not in self._described:
            described = self._reading_of(table.id).describe(table.id)
            self._described[table.id] = (
                None if described is None else (described, self._facts(described))
            )
        return self._described[table.id]

    def _read(self, oids: Sequence[int]) -> CatalogReading:
        """Tables as they are now, for this range."""
        reading = self._catalog.read(oids, sizes=True)
        self._readings.update(dict.fromkeys(oids, reading))
        return reading

    def _reading_of(self, oid: int) -> CatalogReading:
        if oid not in self._readings:
            number = self._numbers.get(oid, len(self._expected))
            self._read([oid, *self._expected[number + 1 : number + _TABLES_AT_ONCE]])
        return self._readings[oid]

    def _facts(self, table: CatalogTable) -> RelationFacts:
        facts = self._capture.relation(table, table)
        # Only what is needed is read, so images hold these columns only.
        return replace(
            facts, columns=tuple(c for c in facts.columns if c.captured or c.name in facts.key)
        )

    # -- chunks ---------------------------------------------------------------------------------

    def rows(self, leaf: Leaf) -> int:
        """See the protocol."""
        return number_of_rows(self._connection, leaf)

    def next_bound(
        self, table: SnapshotTable, leaf: Leaf, lower: KeyBound | None, rows: int
    ) -> KeyBound | None:
        """See the protocol."""
        described = self._describe(table)
        if described is None:
            return None
        key, facts = described[0].key, described[1]
        # Keys are compared by their types' operators.
        operators = self._keeper, operator_schemas(types_of(facts))
        if operators != self._operators:
            find_operators_in(self._connection, operators[1])
            self._operators = operators
        return next_bound(self._connection, (leaf.schema, leaf.name), key, lower, rows)

    def query(
        self, table: SnapshotTable, chunk: Chunk, announcements: ChunkAnnouncements | None
    ) -> ChunkQuery | None:
        """How a task reads a chunk; None: the table is gone."""
        described = self._describe(table)
        if described is None:
            log.warning("%s is gone; its rows are left out", table.name)
            return None
        condition = None
        if table.condition is not None:
            from headrace.signals.conditions import selected_filter  # 0.2 s, seldom needed

            columns = {c.name for c in described[0].columns}
            condition = selected_filter(
                table.condition, described[0].name, columns, dialect=DIALECT
            )
        count = None
        counted = announcements is not None and announcements.behind
        if counted and not (chunk.first and len(table.leaves) == 1):
            leaves = [(leaf.schema, leaf.name) for leaf in table.leaves]
            count = count_statement(leaves, condition).as_string(self._connection)
        statement = self._statement(table, chunk, condition, *described)
        return ChunkQuery(
            chunk, statement, described[1], announcements, condition is not None, count
        )

    def _statement(
        self,
        table: SnapshotTable,
        chunk: Chunk,
        condition: str | None,
        described: CatalogTable,
        facts: RelationFacts,
    ) -> str:
        connection = self._connection
        names = [column.name for column in facts.columns]
        leaf = table.leaves[chunk.leaf][1:3]
        if chunk.kind is not Cut.WHOLE:
            copy = copy_statement(leaf, names, described.key, chunk, condition)
            return copy.as_string(connection)
        whole = sql.SQL("SELECT * FROM {}").format(sql.Identifier(*leaf)).as_string(connection)
        statement = self._overrides.statements.get(table.name, whole)
        columns = {column.name: column for column in described.columns}
        with settings_of_users(connection):
            copy = copy_override(connection, table.name, statement, [columns[n] for n in names])
        return copy.as_string(connection)

    def close(self) -> None:
        """Let the snapshot and the locks go; never raises."""
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None
        if self._locks is not None:
            self._locks.close()
            self._locks = None


PostgresSnapshot = Snapshot[PostgresPosition, Keeper]


def open_snapshot(
    config: PostgresConfig,
    capture: Capture,
    catalog: Catalog,
    plan: Plan,
    check: Callable[[], None],
    settings: EventSettings,
) -> PostgresSnapshot:
    """A snapshot to begin or to go on with. `check` is called while it waits, and may raise."""
    source = PostgresSnapshotSource(config, capture, catalog, check)
    return Snapshot(config, source, plan, settings)
