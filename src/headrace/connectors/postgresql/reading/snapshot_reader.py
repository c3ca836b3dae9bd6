"""How tasks read chunks of a snapshot: with COPY, on a connection that imports it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import numpy as np
import psycopg

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import (
    connect,
    find_operators_in,
    settings_of_users,
    translate,
)
from headrace.connectors.postgresql.reading.filtered_rows import read_rows
from headrace.connectors.postgresql.reading.keeper import lost_snapshot
from headrace.connectors.postgresql.types.resolve import types_of
from headrace.connectors.postgresql.types.type_facts import operator_schemas
from headrace.relational.events import RelationFacts
from headrace.snapshots.chunks import Cut
from headrace.snapshots.slices import ChunkQuery


class _Rows:
    """See `headrace.snapshots.slices.SnapshotRows`."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        self._operators: set[str] = set()

    def blocks(self, query: ChunkQuery) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The rows of a COPY statement. Raises HeadraceError."""
        facts = query.facts
        assert isinstance(facts, RelationFacts)
        if query.chunk.kind is Cut.WHOLE:
            with settings_of_users(self._connection):
                yield from read_rows(self._connection, query.query, facts, filtered=query.filtered)
            self._operators = set()
            return
        schemas = operator_schemas(types_of(facts))
        if schemas != self._operators:
            find_operators_in(self._connection, schemas)
            self._operators = schemas
        yield from read_rows(self._connection, query.query, facts, filtered=query.filtered)

    def count(self, query: ChunkQuery, rows: int) -> int:
        """How many rows the table has in this snapshot; `rows` came in this chunk."""
        if query.count is None:
            return rows
        try:
            with self._connection.transaction():
                row = self._connection.execute(query.count.encode()).fetchone()
        except (psycopg.DataError, psycopg.ProgrammingError):
            return rows  # a signal's filter fails on a row
        return rows if row is None else int(row[0])


@dataclass(frozen=True)
class PostgresSnapshotReader:
    """See `headrace.snapshots.slices.SnapshotReader`; `snapshot_id` is the exported snapshot's."""

    config: PostgresConfig
    snapshot_id: str

    def open(self) -> AbstractContextManager[_Rows]:
        """Raises HeadraceError("postgresql.snapshot_gone")."""
        return self._opened()

    @contextmanager
    def _opened(self) -> Iterator[_Rows]:
        connection = connect(self.config, application="headrace chunk")
        try:
            try:
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                connection.execute(f"SET TRANSACTION SNAPSHOT '{self.snapshot_id}'".encode())
                connection.execute("SET LOCAL max_parallel_workers_per_gather = 0")
            except psycopg.Error as error:
                lost = lost_snapshot(error)
                raise lost or translate(error, self.config, "Reading a chunk") from None
            yield _Rows(connection)
        finally:
            connection.pgconn.finish()
