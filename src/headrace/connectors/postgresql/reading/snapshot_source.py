"""PostgreSQL under a snapshot: its state is held, and its tables are listed and described."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import psycopg

from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog.catalog import Catalog, CatalogTable
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import settings_of_users, translated
from headrace.connectors.postgresql.position import PostgresPosition
from headrace.connectors.postgresql.reading.dialect import PAGE_BYTES, SQL, SQLGLOT, copied
from headrace.connectors.postgresql.reading.filtered_rows import check_filter
from headrace.connectors.postgresql.reading.keeper import Keeper, renew
from headrace.connectors.postgresql.reading.locks import TableLocks
from headrace.connectors.postgresql.reading.overrides import copy_override, query_is_empty
from headrace.connectors.postgresql.reading.snapshot_reader import PostgresSnapshotReader
from headrace.connectors.postgresql.replication.log_end import inserted_log_end
from headrace.connectors.postgresql.types.resolve import types_of
from headrace.relational.events import RelationFacts
from headrace.relational.overrides import PROPERTY
from headrace.relational.reading.snapshot_tables import SnapshotTables
from headrace.snapshots.chunks import Chunk, Cut
from headrace.snapshots.snapshot import Snapshot
from headrace.snapshots.source import SnapshotHolder, SnapshotSource
from headrace.snapshots.tables import Leaf

log = logging.getLogger(__name__)

_ROW_HEAD_BYTES = 28


class PostgresSnapshotSource(
    SnapshotTables[CatalogTable], SnapshotHolder[Keeper], SnapshotSource[PostgresPosition, Keeper]
):
    """See `headrace.snapshots.source.SnapshotSource`. `check` is called while a snapshot waits,
    and may raise."""

    page_bytes = PAGE_BYTES
    sql = SQL
    dialect = SQLGLOT

    def __init__(
        self,
        config: PostgresConfig,
        capture: Capture,
        catalog: Catalog,
        check: Callable[[], None],
    ) -> None:
        super().__init__(config, capture, catalog)
        self._config, self._check = config, check
        self._locks: TableLocks | None = None

    # -- the snapshot ---------------------------------------------------------------------------

    def lock(self) -> None:
        """As snapshot.locking.mode says. Raises HeadraceError("postgresql.lock_timeout")."""
        if self._locks is None and self._config.snapshot_locking_mode == "shared":
            self._locks = TableLocks(self._config, self.names())

    def _taken(self, covers: str | None) -> Keeper:
        """`covers` is a `txid_current_snapshot()`."""
        return renew(self._config, covers, self._check, log.warning)

    def reader(self) -> PostgresSnapshotReader:
        """How tasks import the snapshot."""
        return PostgresSnapshotReader(self._config, self._present().snapshot_id)

    def moved(self, position: PostgresPosition) -> PostgresPosition:
        """The position where the log is now."""
        return replace(position, lsn_commit=self.position())

    def shown(self, position: PostgresPosition) -> int:
        """`source.lsn`."""
        return position.committed

    def last_commit(self, position: PostgresPosition) -> int | None:
        """What `source.sequence` shows of the last commit."""
        return position.last_commit

    def position(self) -> int:
        """Where the log is now (LSN)."""
        return inserted_log_end(self._connection)

    @property
    def _connection(self) -> psycopg.Connection:
        """The keeper's connection: queries on it see the snapshot."""
        return self._present().connection

    # -- tables ---------------------------------------------------------------------------------

    def _ask(self, statement: str) -> Sequence[tuple[Any, ...]]:
        return self._connection.execute(statement.encode()).fetchall()

    def _estimate(self, leaf: Leaf) -> int:
        """By the width of the first rows and the number of pages."""
        width = (
            "SELECT pg_catalog.avg(pg_catalog.pg_column_size(t.*))"
            f" FROM (SELECT * FROM {SQL.dialect.source(leaf.path, alone=True)} LIMIT 100) t"
        )
        bytes_per_row = float(self._ask(width)[0][0] or 100) + _ROW_HEAD_BYTES
        return int(leaf.pages * PAGE_BYTES / bytes_per_row)

    def _compare(self, facts: RelationFacts) -> None:
        self._present().operators.find(types_of(facts))

    def _check_filter(self, table: CatalogTable, condition: str) -> None:
        self._present().operators.find(column.type.facts for column in table.columns)
        check_filter(self._connection, table.path, condition)

    def _is_empty(self, name: str, statement: str) -> bool:
        connection = self._connection
        with translated(self._config, f"{PROPERTY}.{name}"), settings_of_users(connection):
            return query_is_empty(connection, statement)

    def _statement(
        self,
        chunk: Chunk,
        leaf: Leaf,
        condition: str | None,
        table: CatalogTable,
        facts: RelationFacts,
    ) -> str:
        connection = self._connection
        names = [column.name for column in facts.columns]
        if chunk.kind is not Cut.WHOLE:
            return copied(SQL.chunk(leaf.path, names, table.key_columns, chunk, condition))
        whole = f"SELECT * FROM {SQL.dialect.quoted(*leaf.path)}"
        statement = self._overrides.statements.get(table.name, whole)
        columns = {column.name: column for column in table.columns}
        with settings_of_users(connection):
            return copy_override(connection, table.name, statement, [columns[n] for n in names])

    def close(self) -> None:
        """Let the snapshot and the locks go; never raises."""
        super().close()
        if self._locks is not None:
            self._locks.close()
            self._locks = None


PostgresSnapshot = Snapshot[PostgresPosition, Keeper]
