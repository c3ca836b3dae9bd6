"""PostgreSQL under incremental snapshots: connections that read ranges of keys on a snapshot that
says what it sees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

import psycopg

from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog.catalog import Catalog
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect, translate
from headrace.connectors.postgresql.position import parse_lsn
from headrace.connectors.postgresql.reading.filtered_rows import DIALECT
from headrace.connectors.postgresql.reading.key_ranges import (
    TableTarget,
    largest_key,
    limit_time,
    problems,
    read_range,
    row_bytes,
    split,
)
from headrace.connectors.postgresql.visibility import DeliveredTransactions, VisibleTransactions
from headrace.errors import HeadraceError
from headrace.relational.reading.chunk_targets import ChunkTargets
from headrace.signals.progress import Key, Pending
from headrace.snapshots.incremental.lanes import Lanes
from headrace.snapshots.incremental.rows import ChunkRows
from headrace.snapshots.incremental.source import KeyRange, Skipped

_READING = "Reading a chunk"


def _read_range(
    connection: psycopg.Connection, config: PostgresConfig, keys: KeyRange[TableTarget]
) -> ChunkRows | Skipped:
    try:
        with problems(config, connection):
            limit_time(connection, config, keys.target)
            return read_range(connection, keys)
    except Skipped as problem:
        return problem


class _Lane:
    """See `snapshots.incremental.lanes.Lane`."""

    def __init__(self, config: PostgresConfig) -> None:
        self._config = config
        self._connection = connect(config, application="headrace incremental")

    @property
    def closed(self) -> bool:
        """Whether the connection was lost."""
        return self._connection.closed

    def read(self, snapshot: str, keys: KeyRange[TableTarget]) -> ChunkRows | Skipped:
        """The rows of a range, in a transaction that imports the snapshot."""
        connection = self._connection
        try:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            connection.execute(f"SET TRANSACTION SNAPSHOT '{snapshot}'".encode())
            rows = _read_range(connection, self._config, keys)
            connection.execute("ROLLBACK")
        except psycopg.Error as error:
            raise translate(error, self._config, _READING) from None
        return rows

    def close(self) -> None:
        """Close the connection; never raises."""
        self._connection.close()


class _Transaction:
    """See `snapshots.incremental.source.ChunkTransaction`; `name`: the exported snapshot's."""

    def __init__(
        self,
        config: PostgresConfig,
        lead: psycopg.Connection,
        lanes: Lanes[TableTarget],
        visible: str,
        taken_us: int,
        name: str | None,
    ) -> None:
        self._config, self._lead, self._lanes, self._name = config, lead, lanes, name
        self.visibility = VisibleTransactions(visible)
        self.taken_us = taken_us

    @contextmanager
    def planning(self, target: TableTarget) -> Iterator[None]:
        """In a savepoint, and within the time that filters have."""
        with problems(self._config, self._lead):
            limit_time(self._lead, self._config, target)
            yield

    def largest_key(self, target: TableTarget) -> Key | None:
        """See the protocol."""
        return largest_key(self._lead, target)

    def row_bytes(self, target: TableTarget) -> float | None:
        """See the protocol."""
        return row_bytes(self._lead, list(target.parts))

    def split(
        self, whole: KeyRange[TableTarget], size: int, count: int
    ) -> list[KeyRange[TableTarget]]:
        """See the protocol."""
        return split(self._lead, whole, size, count)

    def read(self, ranges: Sequence[KeyRange[TableTarget]]) -> list[ChunkRows | Skipped]:
        """The first range by the connection of this transaction, the others by the lanes."""

        def lead(keys: KeyRange[TableTarget]) -> ChunkRows | Skipped:
            return _read_range(self._lead, self._config, keys)

        return self._lanes.read(lead, self._name, ranges)


class PostgresChunkSource:
    """See `snapshots.incremental.source.ChunkSource`: one connection and lanes beside it, opened
    when they are first needed."""

    def __init__(self, config: PostgresConfig, capture: Capture) -> None:
        self._config, self._capture = config, capture
        self._catalog = Catalog(config)
        self._targets = ChunkTargets(self._catalog, capture, DIALECT)
        self._lanes: Lanes[TableTarget] = Lanes(
            config.headrace_incremental_snapshot_threads, lambda: _Lane(config)
        )
        self._connection: psycopg.Connection | None = None
        self.delivered = DeliveredTransactions(self)

    def close(self) -> None:
        """Close the connections; never raises."""
        self._catalog.close()
        self._lanes.close()
        self._lose()

    def rest(self) -> None:
        """Close the lanes until something is to be read."""
        self._lanes.close()

    def tables(self) -> list[str]:
        """See the protocol."""
        return self._targets.names()

    def estimates(self, names: Sequence[str]) -> dict[str, int]:
        """Rows of tables by the statistics; -1: there are none."""
        estimates = self._catalog.estimates(names)
        return {name: estimates.get(name, 0) for name in names}

    def next_xid(self) -> int:
        """An id that is larger than that of every transaction so far; on a standby, where nothing
        gets one, the end of a snapshot."""
        return int(
            self._one(
                "SELECT CASE WHEN pg_is_in_recovery()"
                " THEN txid_snapshot_xmax(txid_current_snapshot()) ELSE txid_current() END"
            )
        )

    def position(self) -> int:
        """Where the log is now (LSN)."""
        return parse_lsn(
            self._one(
                "SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn()"
                " ELSE pg_current_wal_insert_lsn() END)::text"
            )
        )

    def visible(self) -> VisibleTransactions:
        """What a snapshot sees now."""
        return VisibleTransactions(self._one("SELECT txid_current_snapshot()::text"))

    def _one(self, query: str) -> str:
        try:
            row = self._connected().execute(query.encode()).fetchone()
        except psycopg.Error as error:
            self._connection = None
            raise translate(error, self._config, _READING) from None
        assert row is not None
        return str(row[0])

    def _connected(self) -> psycopg.Connection:
        if self._connection is None or self._connection.closed:
            self._connection = connect(self._config, application="headrace incremental")
        return self._connection

    def target(self, pending: Pending) -> TableTarget:
        """See the protocol."""
        return self._targets.target(pending, self._capture.key_rendering)

    def transaction(self, *, shared: bool) -> AbstractContextManager[_Transaction]:
        """A snapshot of now; `shared`: it is exported to the lanes."""
        return self._transaction(shared)

    @contextmanager
    def _transaction(self, exports: bool) -> Iterator[_Transaction]:
        lead = self._connected()
        try:
            lead.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            row = lead.execute(
                "SELECT txid_current_snapshot()::text,"
                " (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, "
                + ("pg_export_snapshot()" if exports else "NULL")
            ).fetchone()
            assert row is not None
            visible, taken_us, name = str(row[0]), int(row[1]), row[2]
            yield _Transaction(self._config, lead, self._lanes, visible, taken_us, name)
            lead.execute("ROLLBACK")
        except psycopg.Error as error:
            self._lose()
            raise translate(error, self._config, _READING) from None
        except HeadraceError:
            self._lose()
            raise

    def _lose(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
