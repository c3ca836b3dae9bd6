"""Incremental snapshots of PostgreSQL: connections that read ranges of keys on a snapshot whose
visible transactions are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import psycopg

from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog.catalog import Catalog
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import (
    QUERY_LIMIT,
    KeptConnection,
    connect,
    translated,
)
from headrace.connectors.postgresql.position import parse_lsn
from headrace.connectors.postgresql.reading.dialect import SQLGLOT
from headrace.connectors.postgresql.reading.keeper import begin_snapshot
from headrace.connectors.postgresql.reading.key_ranges import READING, PostgresRanges, TableTarget
from headrace.connectors.postgresql.replication.publication import not_published, silent_tables
from headrace.connectors.postgresql.visibility import DeliveredTransactions, VisibleTransactions
from headrace.relational.reading.chunk_targets import ChunkTargets
from headrace.signals.progress import Pending
from headrace.snapshots.incremental.chunk_source import ChunkSource, KeyRange, Skipped
from headrace.snapshots.incremental.lanes import Lanes
from headrace.snapshots.incremental.rows import ChunkRows

_APPLICATION = "headrace incremental"
# A standby assigns no transaction ids; there, the xmax of a snapshot.
_NEXT_XID = (
    "SELECT CASE WHEN pg_is_in_recovery()"
    " THEN txid_snapshot_xmax(txid_current_snapshot()) ELSE txid_current() END"
)
_POSITION = (
    "SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn()"
    " ELSE pg_current_wal_insert_lsn() END)::text"
)
_STATE = (
    "SELECT txid_current_snapshot()::text,"
    " (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, {}"
)


class _Lane(PostgresRanges):
    """See `snapshots.incremental.lanes.Lane`."""

    def __init__(self, config: PostgresConfig) -> None:
        super().__init__(config, connect(config, application=_APPLICATION))

    @property
    def closed(self) -> bool:
        """Whether the connection was lost."""
        return self._connection.closed

    def read(self, snapshot: str, keys: KeyRange[TableTarget]) -> ChunkRows | Skipped:
        """The rows of a range, in a transaction that imports the snapshot."""
        with translated(self._config, READING):
            begin_snapshot(self._connection, snapshot)
            rows = self.read_range(keys)
            self._connection.execute("ROLLBACK")
        return rows

    def close(self) -> None:
        """Close the connection; never raises."""
        self._connection.close()


class _Transaction(PostgresRanges):
    """See `snapshots.incremental.source.ChunkTransaction`; `shared`: its snapshot is exported to
    the lanes."""

    def __init__(
        self,
        config: PostgresConfig,
        connection: psycopg.Connection,
        lanes: Lanes[TableTarget, str],
        *,
        shared: bool,
    ) -> None:
        super().__init__(config, connection)
        begin_snapshot(connection)
        exported = "pg_export_snapshot()" if shared else "NULL"
        ((visible, self.taken_us, self._name),) = self._rows(_STATE.format(exported))
        self.visibility = VisibleTransactions(visible)
        self._lanes = lanes

    def read(self, ranges: Sequence[KeyRange[TableTarget]]) -> list[ChunkRows | Skipped]:
        """Read the first range on this transaction's connection, the others on the lanes."""
        return self._lanes.read(self.read_range, self._name, ranges)


class PostgresChunkSource(ChunkSource[TableTarget]):
    """See ChunkSource: one connection and lanes in addition, each opened at its first use."""

    def __init__(self, config: PostgresConfig, capture: Capture) -> None:
        self._config, self._capture = config, capture
        self._catalog = Catalog(config)
        self._targets = ChunkTargets(self._catalog, capture, SQLGLOT)
        self._lanes: Lanes[TableTarget, str] = Lanes(
            config.headrace_incremental_snapshot_threads, lambda: _Lane(config)
        )
        self._connection = KeptConnection(config, _APPLICATION)
        self._delivered = DeliveredTransactions(self.next_xid, self.visible)

    @property
    def delivered(self) -> DeliveredTransactions:
        """See ChunkSource."""
        return self._delivered

    def close(self) -> None:
        """Close the connections; never raises."""
        self._catalog.close()
        self._lanes.close()
        self._connection.close()

    def rest(self) -> None:
        """Close the lanes until the next read."""
        self._lanes.close()

    def tables(self) -> list[str]:
        """See ChunkSource."""
        return self._targets.names()

    def silent(self, names: Sequence[str]) -> Mapping[str, str]:
        """See ChunkSource: the tables that the publication lacks, with the reason."""
        config, chosen = self._config, frozenset(filter(self._capture.reads, names))
        with (
            connect(config, application=_APPLICATION, limit=QUERY_LIMIT) as connection,
            translated(config, "Looking at the publication"),
        ):
            silent = silent_tables(connection, config, self._catalog, chosen.__contains__)
        return {table.name: str(not_published(config, [table])) for table in silent}

    def estimates(self, names: Sequence[str]) -> dict[str, int]:
        """Row counts of tables according to the statistics; -1 without statistics."""
        return dict.fromkeys(names, 0) | self._catalog.estimates(names)

    def next_xid(self) -> int:
        """An id larger than that of every transaction so far."""
        return int(self._catalog.value(_NEXT_XID))

    def position(self) -> int:
        """The current position of the log (LSN)."""
        return parse_lsn(self._catalog.value(_POSITION))

    def visible(self) -> VisibleTransactions:
        """The transactions that a snapshot sees at present."""
        return VisibleTransactions(self._catalog.value("SELECT txid_current_snapshot()::text"))

    def target(self, pending: Pending) -> TableTarget:
        """See ChunkSource."""
        return self._targets.target(pending, self._capture.key_rendering)

    @contextmanager
    def transaction(self, *, shared: bool) -> Iterator[_Transaction]:
        """A transaction on a new snapshot; `shared`: the snapshot is exported to the lanes."""
        connection = self._connection.get()
        try:
            with translated(self._config, READING):
                yield _Transaction(self._config, connection, self._lanes, shared=shared)
                connection.execute("ROLLBACK")
        except BaseException:
            connection.close()
            raise
