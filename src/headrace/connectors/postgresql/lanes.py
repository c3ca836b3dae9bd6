"""Connections that read ranges of keys at the same time, on one snapshot."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import psycopg

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect, translate
from headrace.connectors.postgresql.inserts import ChunkRows
from headrace.connectors.postgresql.reading.key_ranges import (
    KeyRange,
    Skipped,
    limit_time,
    problems,
    read_range,
)
from headrace.errors import HeadraceError

log = logging.getLogger(__name__)


class Lanes:
    """Threads with a connection each, opened when they are first needed."""

    def __init__(self, config: PostgresConfig) -> None:
        self._config = config
        self._threads: ThreadPoolExecutor | None = None
        self._connections: dict[int, psycopg.Connection] = {}

    def read(
        self, lead: psycopg.Connection, snapshot: str | None, wanted: Sequence[KeyRange]
    ) -> list[ChunkRows | Skipped]:
        """The rows of each range: the first one by `lead`, which is in the transaction that
        exported `snapshot`, and whatever the server has no connection for. Raises HeadraceError
        when a connection is lost."""
        rest = wanted[1:]
        if self._threads is None and rest:
            self._threads = ThreadPoolExecutor(
                self._config.headrace_incremental_snapshot_threads,
                thread_name_prefix="headrace incremental",
            )
        assert snapshot is not None or not rest
        futures = [
            self._threads.submit(self._read, lane, str(snapshot), part)
            for lane, part in enumerate(rest)
            if self._threads is not None
        ]
        try:
            found = [self._one(lead, part) for part in wanted[:1]]
        finally:
            # Whatever fails, nobody reads any more when this returns.
            failed = [future.exception() for future in futures]
        for error in failed:
            if error is not None:
                raise error
        others = zip(rest, (future.result() for future in futures), strict=True)
        return [*found, *(self._one(lead, part) if rows is None else rows for part, rows in others)]

    def _one(self, connection: psycopg.Connection, wanted: KeyRange) -> ChunkRows | Skipped:
        try:
            with problems(self._config, connection):
                limit_time(connection, self._config, wanted.target)
                return read_range(connection, wanted)
        except Skipped as problem:
            return problem

    def _read(self, lane: int, snapshot: str, wanted: KeyRange) -> ChunkRows | Skipped | None:
        """None: there is no connection to read with."""
        connection = self._connections.get(lane)
        if connection is None or connection.closed:
            try:
                connection = connect(self._config, application="headrace incremental")
            except HeadraceError as problem:
                log.warning("a chunk is not read at the same time as others: %s", problem)
                return None
            self._connections[lane] = connection
        try:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            connection.execute(f"SET TRANSACTION SNAPSHOT '{snapshot}'".encode())
            found = self._one(connection, wanted)
            connection.execute("ROLLBACK")
        except psycopg.Error as error:
            self._drop(lane)
            raise translate(error, self._config, "Reading a chunk") from None
        except HeadraceError:
            self._drop(lane)
            raise
        return found

    def _drop(self, lane: int) -> None:
        connection = self._connections.pop(lane, None)
        if connection is not None:
            connection.close()

    def close(self) -> None:
        """Close the connections; never raises."""
        if self._threads is not None:
            self._threads.shutdown()
            self._threads = None
        for lane in list(self._connections):
            self._drop(lane)
