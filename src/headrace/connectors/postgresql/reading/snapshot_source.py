"""PostgreSQL under a snapshot: its state is held, and its tables are listed and described."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

import psycopg

from headrace.connect.slices import Plan
from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog.catalog import Catalog, CatalogTable
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import (
    find_operators_in,
    settings_of_users,
    translate,
)
from headrace.connectors.postgresql.position import PostgresPosition
from headrace.connectors.postgresql.reading.chunks import (
    PAGE_BYTES,
    copy_statement,
    cut_of,
    next_bound,
    number_of_rows,
    query_is_empty,
    tables_with_rows,
)
from headrace.connectors.postgresql.reading.dialect import SQL
from headrace.connectors.postgresql.reading.filtered_rows import DIALECT, check_filter
from headrace.connectors.postgresql.reading.keeper import Keeper, position_of, renew
from headrace.connectors.postgresql.reading.locks import TableLocks
from headrace.connectors.postgresql.reading.overrides import copy_override
from headrace.connectors.postgresql.reading.snapshot_reader import PostgresSnapshotReader
from headrace.connectors.postgresql.types.resolve import types_of
from headrace.connectors.postgresql.types.type_facts import operator_schemas
from headrace.relational.events import RelationFacts
from headrace.relational.overrides import PROPERTY
from headrace.relational.reading.snapshot_tables import SnapshotTables
from headrace.snapshots.chunks import Chunk, Cut, KeyBound
from headrace.snapshots.snapshot import Snapshot
from headrace.snapshots.tables import Leaf, SnapshotTable
from headrace.streaming.facts import EventSettings

log = logging.getLogger(__name__)


class PostgresSnapshotSource(SnapshotTables[CatalogTable]):
    """See `headrace.snapshots.source.SnapshotSource`. `check` is called while a snapshot waits,
    and may raise."""

    page_bytes = PAGE_BYTES
    dialect = DIALECT

    def __init__(
        self,
        config: PostgresConfig,
        capture: Capture,
        catalog: Catalog,
        check: Callable[[], None],
    ) -> None:
        super().__init__(config, capture, catalog)
        self._config, self._check = config, check
        self._keeper: Keeper | None = None
        self.continued_at: int | None = None
        """Where the log was (LSN) when a snapshot was taken that goes on with a lost one."""
        self._locks: TableLocks | None = None
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
            self._locks = TableLocks(self._config, self.names())

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

    def _filled(self, leaves: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
        return tables_with_rows(self._connection, leaves)

    def _cut_of(self, table: CatalogTable) -> Cut:
        return cut_of(table)

    def _check_filter(self, table: CatalogTable, condition: str) -> None:
        types = [column.type.facts for column in table.columns]
        find_operators_in(self._connection, operator_schemas(types))
        check_filter(self._connection, table.path, condition)

    def _is_empty(self, name: str, statement: str) -> bool:
        try:
            with settings_of_users(self._connection):
                return query_is_empty(self._connection, statement)
        except psycopg.Error as error:
            raise translate(error, self._config, f"{PROPERTY}.{name}") from None

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

    def _count_statement(self, leaves: Sequence[Leaf], condition: str | None) -> str:
        names = [(leaf.schema, leaf.name) for leaf in leaves]
        return SQL.count(names, condition)

    def _statement(
        self,
        chunk: Chunk,
        leaf: Leaf,
        condition: str | None,
        table: CatalogTable,
        facts: RelationFacts,
    ) -> str:
        connection, path = self._connection, (leaf.schema, leaf.name)
        names = [column.name for column in facts.columns]
        if chunk.kind is not Cut.WHOLE:
            return copy_statement(path, names, table.key, chunk, condition)
        whole = f"SELECT * FROM {SQL.dialect.quoted(*path)}"
        statement = self._overrides.statements.get(table.name, whole)
        columns = {column.name: column for column in table.columns}
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
