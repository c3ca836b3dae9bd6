"""A COPY that ends when its rows have as many bytes as there is room for."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import numpy as np
import psycopg

from headrace.connectors.postgresql.reading.copy_reader import read_copy
from headrace.errors import HeadraceError

_CANCEL_SECONDS = 30.0
_STATISTICS = """
SELECT sum(pg_table_size(oid))::bigint, sum(greatest(reltuples, 0))::float8
FROM pg_catalog.pg_class WHERE oid = ANY(%s) AND relkind = 'r'
"""


def read_blocks(
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
    found = connection.execute(_STATISTICS, (list(tables),)).fetchone()
    if found is None or not found[0] or not found[1]:
        return None
    return float(found[0]) / float(found[1])
