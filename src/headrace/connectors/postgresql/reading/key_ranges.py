"""Ranges of a table's keys: where they end, and their rows."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import psycopg

from headrace.connectors.postgresql.catalog.catalog import CatalogTable
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import find_operators_in, translate
from headrace.connectors.postgresql.reading.chunks import copied
from headrace.connectors.postgresql.reading.copy_reader import read_copy
from headrace.connectors.postgresql.reading.dialect import SQL
from headrace.connectors.postgresql.types.resolve import types_of
from headrace.connectors.postgresql.types.type_facts import operator_schemas
from headrace.errors import HeadraceError
from headrace.relational.reading.chunk_targets import TableTarget as ChunkTarget
from headrace.signals.progress import Key
from headrace.snapshots.incremental.rows import ChunkRows
from headrace.snapshots.incremental.source import KeyRange, Skipped
from headrace.streaming.changes.key_hashes import key_hashes

_TIME_IS_OVER = "57014"
_CANCEL_SECONDS = 30.0
_STATISTICS = """
SELECT sum(pg_table_size(oid))::bigint, sum(greatest(reltuples, 0))::float8
FROM pg_catalog.pg_class WHERE oid = ANY(%s) AND relkind = 'r'
"""


TableTarget = ChunkTarget[CatalogTable]


@contextmanager
def problems(config: PostgresConfig, connection: psycopg.Connection) -> Iterator[None]:
    """What fails because of the table becomes Skipped, and a lost connection a HeadraceError that
    may be tried again. The transaction goes on, with its snapshot and its locks."""
    try:
        connection.execute("SAVEPOINT headrace")
        yield
        connection.execute("RELEASE headrace")
    except psycopg.Error as error:
        lost = isinstance(error, psycopg.OperationalError) and error.sqlstate != _TIME_IS_OVER
        if lost or connection.closed:
            connection.close()
            raise translate(error, config, "Reading a chunk") from None
        connection.execute("ROLLBACK TO headrace")
        raise Skipped("SQL_EXCEPTION", _text(error)) from None
    except HeadraceError as error:
        if error.code != "postgresql.copy_failed":
            connection.close()
            raise
        connection.execute("ROLLBACK TO headrace")
        raise Skipped("SQL_EXCEPTION", error.message) from None


def limit_time(connection: psycopg.Connection, config: PostgresConfig, target: TableTarget) -> None:
    """What others wrote may take as long as a query of ours, and no longer."""
    timeout = 0 if target.condition is None else config.database_query_timeout_ms
    connection.execute(f"SET LOCAL statement_timeout = {timeout}".encode())
    find_operators_in(connection, operator_schemas(types_of(target.facts)))


def largest_key(connection: psycopg.Connection, target: TableTarget) -> Key | None:
    """None: no row is there."""
    alone = not target.table.partitioned
    statement = SQL.largest_key(target.table.path, target.key, SQL.filters(target), alone=alone)
    row = connection.execute(statement.encode()).fetchone()
    return None if row is None else tuple(row)


def split(
    connection: psycopg.Connection, whole: KeyRange[TableTarget], size: int, count: int
) -> list[KeyRange[TableTarget]]:
    """The first ranges of `whole`, `count` at most, each of `size` rows."""
    target = whole.target
    bounds: list[Key] = []
    if count > 1:
        statement = SQL.bounds(
            target.table.path,
            target.key,
            SQL.conditions(whole),
            alone=not target.table.partitioned,
            size=size,
            count=count - 1,
        )
        bounds = [tuple(row) for row in connection.execute(statement.encode())]
    lowers = [whole.lower, *bounds]
    limit = whole.max_bytes
    inner = [KeyRange(target, *pair, None, limit) for pair in zip(lowers, bounds, strict=False)]
    return [*inner, KeyRange(target, lowers[-1], whole.upper, size, limit)]


def read_range(connection: psycopg.Connection, keys: KeyRange[TableTarget]) -> ChunkRows:
    """The rows in the order of the key; in a savepoint that `problems` made."""
    target = keys.target
    select = SQL.rows(
        target.table.path,
        target.facts.cell_names,
        target.key,
        SQL.conditions(keys),
        alone=not target.table.partitioned,
        limit=keys.limit,
    )
    blocks, cut = _read_blocks(connection, copied(select), keys.max_bytes)
    offsets = [np.zeros(1, np.int64)]
    at = 0
    for block, ends in blocks:
        offsets.append(ends[1:] + at)
        at += len(block)
    all_offsets = np.concatenate(offsets)
    if cut and keys.max_bytes is not None:
        fitting = int(np.searchsorted(all_offsets, keys.max_bytes, side="right"))
        all_offsets = all_offsets[: max(fitting, 2)]
        at = int(all_offsets[-1])
    joined = np.concatenate([*(images for images, _ in blocks), np.zeros(64, np.uint8)])
    hashes = key_hashes(joined, all_offsets, target.facts, target.rendering)
    return ChunkRows(target.facts, joined[:at], all_offsets, hashes, target.rendering, cut)


def _read_blocks(
    connection: psycopg.Connection, statement: str, max_bytes: int | None
) -> tuple[list[tuple[np.ndarray, np.ndarray]], bool]:
    """The blocks of `read_copy` until they hold more than `max_bytes`, and whether they do. The
    server is told to stop then; its transaction goes on from the savepoint `headrace`."""
    blocks: list[tuple[np.ndarray, np.ndarray]] = []
    size = 0
    full = False
    try:
        for images, ends in read_copy(connection.pgconn, statement):
            if full:
                continue  # it is on the way until the server stops
            blocks.append((images, ends))
            size += len(images)
            if max_bytes is not None and size > max_bytes:
                full = True
                _cancel(connection)
    except HeadraceError as error:
        if not full or error.code != "postgresql.copy_failed":
            raise
        connection.execute("ROLLBACK TO headrace")
    return blocks, full


def _cancel(connection: psycopg.Connection) -> None:
    # Without it the rows come all the same, and are dropped here.
    with contextlib.suppress(psycopg.Error):
        connection.cancel_safe(timeout=_CANCEL_SECONDS)


def row_bytes(connection: psycopg.Connection, tables: Sequence[int]) -> float | None:
    """Bytes that a row of these tables (oids) takes on disk, TOAST included, by their statistics;
    None: nobody counted them yet."""
    row = connection.execute(_STATISTICS, (list(tables),)).fetchone()
    if row is None or not row[0] or not row[1]:
        return None
    return float(row[0]) / float(row[1])


def _text(error: psycopg.Error) -> str:
    return " ".join((error.diag.message_primary or str(error)).split())
