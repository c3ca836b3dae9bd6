"""Ranges of a table's keys, read with COPY in a transaction that survives errors of a table."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from headrace.connectors.postgresql.catalog.catalog import CatalogTable
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import answer_text, translate
from headrace.connectors.postgresql.ddl.table_state import structure_of, table_state
from headrace.connectors.postgresql.reading.copy_reader import read_copy
from headrace.connectors.postgresql.reading.dialect import SQL, copied
from headrace.connectors.postgresql.reading.operators import Operators
from headrace.connectors.postgresql.types.resolve import types_of
from headrace.errors import HeadraceError
from headrace.relational.reading.chunk_targets import TableTarget as ChunkTarget
from headrace.relational.reading.key_ranges import Block, KeyRanges
from headrace.snapshots.incremental.chunk_source import Skipped

READING = "Reading a chunk"
_TIME_IS_OVER = "57014"
_CANCEL_SECONDS = 30.0
_STATISTICS = """
SELECT sum(pg_table_size(oid))::bigint, sum(greatest(reltuples, 0))::float8
FROM pg_catalog.pg_class WHERE oid = ANY(%s) AND relkind = 'r'
"""

TableTarget = ChunkTarget[CatalogTable]


class PostgresRanges(KeyRanges[CatalogTable]):
    """See KeyRanges; the connection is closed when it is lost."""

    sql = SQL

    def __init__(self, config: PostgresConfig, connection: psycopg.Connection) -> None:
        self._config, self._connection = config, connection

    @contextmanager
    def planning(self, target: TableTarget) -> Iterator[None]:
        """Run the statements in a savepoint, within the time limit of filters. An error of the
        table becomes Skipped, and a lost connection a HeadraceError that may be retried. The
        transaction continues, with its snapshot and its locks."""
        connection = self._connection
        try:
            connection.execute("SAVEPOINT headrace")
            # A filter that a user wrote may take as long as headrace's own queries.
            limit = 0 if target.condition is None else self._config.database_query_timeout_ms
            connection.execute(f"SET LOCAL statement_timeout = {limit}".encode())
            Operators(connection).find(types_of(target.facts))
            self._check_unchanged(target)
            yield
            # The rollback releases the locks, so that a session that waits for them blocks no other
            # reader.
            connection.execute("ROLLBACK TO headrace")
            connection.execute("RELEASE headrace")
        except psycopg.Error as error:
            lost = isinstance(error, psycopg.OperationalError) and error.sqlstate != _TIME_IS_OVER
            if lost or connection.closed:
                connection.close()
                raise translate(error, self._config, READING) from None
            connection.execute("ROLLBACK TO headrace")
            raise Skipped("SQL_EXCEPTION", answer_text(error, self._config)) from None
        except HeadraceError as error:
            if error.code != "postgresql.copy_failed":
                connection.close()
                raise
            connection.execute("ROLLBACK TO headrace")
            raise Skipped("SQL_EXCEPTION", error.message) from None

    def _check_unchanged(self, target: TableTarget) -> None:
        """Lock the table as reading does. Raises HeadraceError("postgresql.table_changed") when it
        differs from the target's description, or when the snapshot cannot show its rows."""
        leaves = [(leaf.id, leaf.path) for leaf in target.table.leaves]
        state = table_state(self._connection, target.table, leaves)
        is_same = state is not None and state.columns == structure_of(target.table)
        if state is None or not is_same or state.rewritten or state.nullable:
            raise HeadraceError(
                "postgresql.table_changed",
                f"Another session changed {target.table.name} while its rows were to be read",
                "headrace reads the chunk again by itself.",
                retriable=True,
            )

    def _rows(self, statement: str) -> Sequence[tuple[Any, ...]]:
        return self._connection.execute(statement.encode()).fetchall()

    def _blocks(self, select: str, max_bytes: int | None) -> tuple[list[Block], bool]:
        """Read the rows; the COPY is cancelled at `max_bytes`, and the transaction continues from
        the savepoint of `planning`."""
        connection = self._connection
        blocks: list[Block] = []
        size = 0
        full = False
        try:
            for images, ends in read_copy(connection.pgconn, copied(select)):
                if full:
                    continue  # rows still on the way when the server stops
                blocks.append((images, ends))
                size += len(images)
                if max_bytes is not None and size > max_bytes:
                    full = True
                    # If the cancel fails, the remaining rows are received and dropped here.
                    with contextlib.suppress(psycopg.Error):
                        connection.cancel_safe(timeout=_CANCEL_SECONDS)
        except HeadraceError as error:
            if not full or error.code != "postgresql.copy_failed":
                raise
            connection.execute("ROLLBACK TO headrace")
        return blocks, full

    def row_bytes(self, target: TableTarget) -> float | None:
        """Bytes of a row on disk, TOAST included, by the statistics of the table and its
        partitions; None without statistics."""
        row = self._connection.execute(_STATISTICS, (list(target.parts),)).fetchone()
        if row is None or not row[0] or not row[1]:
            return None
        return float(row[0]) / float(row[1])
