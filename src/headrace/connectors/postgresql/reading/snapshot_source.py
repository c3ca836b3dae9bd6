"""Snapshots of PostgreSQL: the transaction that holds one, and its tables with their
descriptions."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg

from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog.catalog import Catalog, CatalogTable
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import (
    QUERY_LIMIT,
    KeptConnection,
    settings_of_users,
    translated,
)
from headrace.connectors.postgresql.ddl.lock_watch import LockWatch
from headrace.connectors.postgresql.ddl.locks import TableLocks
from headrace.connectors.postgresql.ddl.partitions import (
    attached_partitions,
    from_text,
    require_same_cuts,
    to_text,
    unplanned,
    with_pages,
)
from headrace.connectors.postgresql.ddl.table_state import (
    key_shapes,
    present_paths,
    rewritten_tables,
)
from headrace.connectors.postgresql.position import PostgresPosition
from headrace.connectors.postgresql.reading.dialect import PAGE_BYTES, SQL, SQLGLOT
from headrace.connectors.postgresql.reading.filtered_rows import check_filter
from headrace.connectors.postgresql.reading.keeper import Keeper, begin_snapshot, renew
from headrace.connectors.postgresql.reading.operators import Operators
from headrace.connectors.postgresql.reading.overrides import (
    UNDEFINED,
    is_unseen,
    outdated,
    query_is_empty,
)
from headrace.connectors.postgresql.reading.snapshot_reader import PostgresSnapshotReader
from headrace.connectors.postgresql.reading.table_chunk import TableChunk, table_chunk
from headrace.connectors.postgresql.replication.log_end import inserted_log_end
from headrace.connectors.postgresql.types.resolve import types_of
from headrace.connectors.postgresql.types.type_facts import TypeFacts
from headrace.connectors.waiting import Waiting
from headrace.errors import HeadraceError
from headrace.relational.events import RelationFacts
from headrace.relational.overrides import PROPERTY
from headrace.relational.reading.snapshot_tables import SnapshotTables
from headrace.snapshots.chunks import Chunk, ChunkKind, KeyBound
from headrace.snapshots.notifications import ChunkAnnouncements
from headrace.snapshots.planner import AttemptOver
from headrace.snapshots.slices import ChunkQuery
from headrace.snapshots.snapshot import Snapshot
from headrace.snapshots.snapshot_source import SnapshotHolder, SnapshotSource
from headrace.snapshots.tables import Leaf, SnapshotTable

log = logging.getLogger(__name__)

_ROW_HEAD_BYTES = 28
_DESCRIPTIONS = 3
"""Maximal descriptions of a table for one bound while other sessions change it."""


class PostgresSnapshotSource(
    SnapshotTables[CatalogTable], SnapshotHolder[Keeper], SnapshotSource[PostgresPosition, Keeper]
):
    """See `headrace.snapshots.snapshot_source.SnapshotSource`.

    A waiting snapshot calls `waiting.check`; `watch` releases its locks once another session has
    waited long for them.
    """

    page_bytes = PAGE_BYTES
    sql = SQL
    dialect = SQLGLOT

    def __init__(
        self,
        config: PostgresConfig,
        capture: Capture,
        catalog: Catalog,
        waiting: Waiting,
        watch: LockWatch,
    ) -> None:
        super().__init__(config, capture, catalog)
        self._config, self._waiting, self._watch = config, waiting, watch
        self._locks: TableLocks | None = None
        self._queries = KeptConnection(config, "headrace snapshot queries")
        self._current = KeptConnection(config, "headrace snapshot queries", limit=QUERY_LIMIT)
        self._compared: list[TypeFacts] | None = None
        self._without_rows: set[tuple[int, str]] = set()
        """Partitions without rows when they were attached: the log delivers all of their rows."""

    # -- the snapshot ---------------------------------------------------------------------------

    def lock(self) -> None:
        """Lock the tables if snapshot.locking.mode says so. Raises
        HeadraceError("postgresql.lock_timeout")."""
        is_held = self._locks is not None and self._locks.is_held
        if not is_held and self._config.snapshot_locking_mode == "shared":
            self._locks = TableLocks(self._config, self.names())
            self._watch.guard(self._locks)

    def let_go(self) -> None:
        """See SnapshotSource. Releases the locks, too: another session may wait for them."""
        self._queries.close()
        self._let_go()
        self._unlock()

    def _taken(self, covers: str | None) -> Keeper:
        """Take a snapshot; `covers` is a `txid_current_snapshot()`."""
        return renew(self._config, covers, self._waiting.check, log.warning)

    def reader(self) -> PostgresSnapshotReader:
        """The reader with which tasks import the snapshot."""
        return PostgresSnapshotReader(self._config, self._present().snapshot_id)

    def moved(self, position: PostgresPosition) -> PostgresPosition:
        """Return the position moved to the present end of the log."""
        return replace(position, lsn_commit=self.position())

    def shown(self, position: PostgresPosition) -> int:
        """`source.lsn`."""
        return position.committed

    def last_commit(self, position: PostgresPosition) -> int | None:
        """The LSN of the last commit in `source.sequence`."""
        return position.last_commit

    def position(self) -> int:
        """The present end of the log (LSN)."""
        return inserted_log_end(self._present().connection)

    @contextmanager
    def _session(self) -> Iterator[psycopg.Connection]:
        """A transaction on the snapshot; its locks are released when it ends."""
        connection = self._queries.get()
        try:
            begin_snapshot(connection, self._present().snapshot_id)
            if self._compared is not None:
                Operators(connection).find(self._compared)
            yield connection
            connection.execute("ROLLBACK")
        except BaseException:
            self._queries.close()
            raise

    # -- changes of tables ----------------------------------------------------------------------

    def is_outdated(self, tables: Sequence[SnapshotTable]) -> bool:
        """See SnapshotSource: a table was rewritten or truncated after the snapshot was taken, or
        has attached partitions whose rows the log does not deliver. Raises AttemptOver if a table's
        key has changed, because the bounds of chunks are then meaningless."""
        oids = {table.id for table in tables}
        keyed = [table.id for table in tables if table.kind is ChunkKind.KEY]
        with self._session() as connection:
            rewritten = rewritten_tables(connection, oids | _leaves_of(tables))
            shapes = key_shapes(connection, keyed)
            rewritten |= {table.id for table in tables if self._is_unseen(connection, table)}
        current = self._current.get()
        now = key_shapes(current, keyed)
        for table in tables:
            key = table.key or shapes.get(table.id)  # a later snapshot shows a later key
            if table.id in now and key is not None and now[table.id] != key:
                log.warning("the key of %s was changed while its rows were read", table.name)
                raise AttemptOver
        if rewritten:
            names = [t.name for t in tables if rewritten & ({t.id} | _leaves_of([t]))]
            log.warning(
                "%s: another session rewrote or truncated the table that the snapshot reads; the "
                "snapshot continues with a later one",
                ", ".join(names),
            )
        return self._has_new_rows(current, tables) or bool(rewritten)

    def _has_new_rows(
        self, connection: psycopg.Connection, tables: Sequence[SnapshotTable]
    ) -> bool:
        """Whether a partition with rows was attached to one of the tables since it was planned."""
        planned = {table.id: from_text(table.parts) for table in tables if table.parts is not None}
        new: dict[int, tuple[int, str]] = {}
        for root, present in attached_partitions(connection, planned).items():
            for oid, mark in unplanned(planned[root], present).items():
                if (oid, mark) not in self._without_rows:
                    new[oid] = (root, mark)
        if not new:
            return False
        filled = with_pages(connection, new)
        self._without_rows |= {(oid, mark) for oid, (_, mark) in new.items() if oid not in filled}
        roots = {root for oid, (root, _) in new.items() if oid in filled}
        if roots:
            log.warning(
                "%s: another session attached partitions with rows; the snapshot continues with a "
                "later one",
                ", ".join(table.name for table in tables if table.id in roots),
            )
        return bool(roots)

    def recut(
        self, tables: Sequence[SnapshotTable], begun: Sequence[int]
    ) -> Sequence[SnapshotTable]:
        """See SnapshotSource. The next `is_outdated` finds partitions that were attached after the
        held snapshot was taken."""
        divided = [table.id for table in tables if table.parts is not None]
        if not divided:
            return tables
        with self._session() as connection:
            attached = attached_partitions(connection, divided)
        recut = []
        for table, number in zip(tables, begun, strict=True):
            described = self._describe(table)
            leaves = () if described is None else described[0].leaves
            recut.append(require_same_cuts(table, attached.get(table.id, {}), leaves, number))
        return recut

    def _is_unseen(self, connection: psycopg.Connection, table: SnapshotTable) -> bool:
        """Whether the table's override statement reads rows that the snapshot cannot show."""
        statement = self._overrides.statements.get(table.name)
        if statement is None or table.kind is not ChunkKind.WHOLE:
            return False
        try:
            with translated(self._config, "Planning a chunk"), connection.transaction():
                return is_unseen(connection, table.name, statement, self._config.hidden)
        except ValueError:
            return False  # reported by the task that reads the table

    def tables(self, conditions: Mapping[str, str | None] | None = None) -> list[SnapshotTable]:
        """See SnapshotSource. A table that was rewritten after the snapshot was taken looks empty
        to it, and the log does not deliver the rows of a partition that was attached after it; then
        another snapshot must be taken.

        Raises HeadraceError("postgresql.table_changed").
        """
        self._described.clear()
        self._readings.clear()
        try:
            tables = super().tables(conditions)
        except psycopg.Error as error:
            if error.sqlstate in UNDEFINED:
                raise _changed("a table was changed") from None
            raise
        readings = {id(reading): reading for reading in self._readings.values()}.values()
        described = [table for reading in readings for table in reading.tables.values()]
        paths = {leaf.id: leaf.path for table in described for leaf in table.leaves}
        paths |= {table.id: table.path for table in described}
        with self._session() as connection:
            rewritten = rewritten_tables(connection, paths.keys())
            shapes = key_shapes(connection, [t.id for t in tables if t.kind is ChunkKind.KEY])
            parts = attached_partitions(connection, [t.id for t in described if t.partitioned])
        if rewritten:
            names = [table.name for table in described if table.id in rewritten]
            raise _changed(f"{', '.join(names) or 'a partition'} was rewritten or truncated")
        for table in described:
            attached = parts.get(table.id, {})
            if table.partitioned and any(x.pages and x.id not in attached for x in table.leaves):
                raise _changed(f"a partition was attached to {table.name}")
        present = present_paths(self._current.get(), paths)
        for oid, path in present.items():
            if paths[oid] != path:
                raise _changed(f"{'.'.join(paths[oid])} was renamed")
        return [
            replace(table, key=shapes.get(table.id), parts=to_text(parts.get(table.id)))
            for table in tables
        ]

    def refresh(self, tables: Sequence[SnapshotTable] = ()) -> None:
        """See SnapshotSource: every range of chunks describes its tables again."""
        self._described.clear()
        super().refresh(tables)

    # -- tables ---------------------------------------------------------------------------------

    def _ask(self, statement: str) -> Sequence[tuple[Any, ...]]:
        with self._session() as connection:
            return connection.execute(statement.encode()).fetchall()

    def _estimate(self, leaf: Leaf) -> int:
        """The estimated rows of a leaf: its size divided by the average width of 100 rows."""
        width = (
            "SELECT pg_catalog.avg(pg_catalog.pg_column_size(t.*))"
            f" FROM (SELECT * FROM {SQL.dialect.source(leaf.path, alone=True)} LIMIT 100) t"
        )
        bytes_per_row = float(self._ask(width)[0][0] or 100) + _ROW_HEAD_BYTES
        return int(leaf.pages * PAGE_BYTES / bytes_per_row)

    def _compare(self, facts: RelationFacts) -> None:
        self._compared = types_of(facts)

    def _check_filter(self, table: CatalogTable, condition: str) -> None:
        self._compared = [column.type.facts for column in table.columns]
        with self._session() as connection:
            check_filter(connection, table.path, condition)

    def _is_empty(self, name: str, statement: str) -> bool:
        try:
            with (
                translated(self._config, f"{PROPERTY}.{name}"),
                self._session() as connection,
            ):
                try:
                    unseen = is_unseen(connection, name, statement, self._config.hidden)
                    with settings_of_users(connection):
                        empty = query_is_empty(connection, statement)
                except psycopg.Error as error:
                    raise outdated(name, error, self._config.hidden) from None
        except ValueError as problem:
            log.warning("%s is left out: %s", name, problem)
            return True
        if unseen:
            raise _changed(f"a table that {PROPERTY}.{name} reads was rewritten or truncated")
        return empty

    def _statement(
        self,
        chunk: Chunk,
        leaf: Leaf,
        condition: str | None,
        table: CatalogTable,
        facts: RelationFacts,
    ) -> TableChunk:
        with translated(self._config, "Planning a chunk"):
            return table_chunk(chunk, leaf, condition, table, facts, self._overrides, self._session)

    def query(
        self, table: SnapshotTable, chunk: Chunk, announcements: ChunkAnnouncements | None
    ) -> ChunkQuery | None:
        """See SnapshotSource. A renamed table is read by its present name, but an override
        statement contains the name itself."""
        described = self._describe(table)
        if described is not None:
            present = described[0]
            if chunk.kind is ChunkKind.WHOLE and present.path != (table.schema, table.table):
                self._described[table.id] = None
            named = {leaf.id: leaf for leaf in present.leaves}
            leaves = tuple(_named(leaf, named.get(leaf.id)) for leaf in table.leaves)
            table = replace(table, leaves=leaves)
        return super().query(table, chunk, announcements)

    def next_bound(
        self, table: SnapshotTable, leaf: Leaf, lower: KeyBound | None, rows: int
    ) -> KeyBound | None:
        """See SnapshotSource. A table that was renamed since its description has its new name."""
        for _ in range(_DESCRIPTIONS):
            described = self._describe(table)
            leaves = () if described is None else described[0].leaves
            present = next((candidate for candidate in leaves if candidate.id == leaf.id), None)
            if present is None:
                return None
            try:
                return super().next_bound(table, present, lower, rows)
            except psycopg.Error as error:
                if error.sqlstate not in UNDEFINED:
                    raise
            self.refresh()
        return None  # renamed again and again: the rest is one chunk

    def rows(self, leaf: Leaf) -> int:
        """See SnapshotSource. A renamed leaf has its new name."""
        for _ in range(_DESCRIPTIONS):
            try:
                return super().rows(leaf)
            except psycopg.Error as error:
                if error.sqlstate not in UNDEFINED:
                    raise
            path = present_paths(self._current.get(), [leaf.id]).get(leaf.id)
            if path is None:
                break
            leaf = leaf._replace(schema=path[0], name=path[1])
        return 0

    def close(self) -> None:
        """Release the snapshot and the locks; never raises."""
        self.let_go()
        super().close()
        self._current.close()

    def _unlock(self) -> None:
        if self._locks is not None:
            self._watch.guard(None)
            self._locks.close()
            self._locks = None


def _leaves_of(tables: Sequence[SnapshotTable]) -> set[int]:
    return {leaf.id for table in tables for leaf in table.leaves}


def _named(planned: Leaf, present: Leaf | None) -> Leaf:
    """A leaf under its present name, if it still exists."""
    if present is None:
        return planned
    return planned._replace(schema=present.schema, name=present.name)


def _changed(change: str) -> HeadraceError:
    return HeadraceError(
        "postgresql.table_changed",
        f"The snapshot cannot begin: {change} by another session",
        "headrace begins the snapshot again by itself.",
        retriable=True,
    )


PostgresSnapshot = Snapshot[PostgresPosition, Keeper]
