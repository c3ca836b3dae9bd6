"""How tasks read chunks of a snapshot: with COPY, on a connection that imports it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import psycopg

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect, settings_of_users, translate
from headrace.connectors.postgresql.reading.filtered_rows import read_rows
from headrace.connectors.postgresql.reading.keeper import begin_snapshot, lost_snapshot
from headrace.connectors.postgresql.reading.key_ranges import READING
from headrace.connectors.postgresql.reading.operators import Operators
from headrace.connectors.postgresql.types.resolve import types_of
from headrace.relational.events import RelationFacts
from headrace.snapshots.chunks import Cut
from headrace.snapshots.slices import ChunkQuery


class _Rows:
    """See `headrace.snapshots.slices.SnapshotRows`."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        self._operators = Operators(connection)

    def blocks(self, query: ChunkQuery) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The rows of a COPY statement. Raises HeadraceError."""
        facts = query.facts
        assert isinstance(facts, RelationFacts)
        rows = read_rows(self._connection, query.query, facts, filtered=query.filtered)
        if query.chunk.kind is Cut.WHOLE:
            with settings_of_users(self._connection):
                yield from rows
        else:
            self._operators.find(types_of(facts))
            yield from rows

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

    @contextmanager
    def open(self) -> Iterator[_Rows]:
        """Raises HeadraceError("postgresql.snapshot_gone")."""
        connection = connect(self.config, application="headrace chunk")
        try:
            try:
                begin_snapshot(connection, self.snapshot_id)
                connection.execute("SET LOCAL max_parallel_workers_per_gather = 0")
            except psycopg.Error as error:
                lost = lost_snapshot(error)
                raise lost or translate(error, self.config, READING) from None
            yield _Rows(connection)
        finally:
            connection.pgconn.finish()
