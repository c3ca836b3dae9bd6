"""SQL of a snapshot's chunks: their bounds, and the COPY that reads them."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg
from psycopg import sql

from headrace.connectors.postgresql.catalog.catalog import CatalogTable
from headrace.connectors.postgresql.reading.dialect import SQL
from headrace.connectors.postgresql.reading.overrides import derived
from headrace.snapshots.chunks import Chunk, Cut
from headrace.snapshots.tables import Leaf

PAGE_BYTES = 8192
COUNTED_PAGES = 128
TABLES_PER_QUERY = 200


def cut_of(table: CatalogTable) -> Cut:
    """By key when the table has one without nulls, else by pages."""
    if table.key and set(table.key) <= table.not_null:
        return Cut.KEY
    return Cut.PAGES


def number_of_rows(connection: psycopg.Connection, leaf: Leaf) -> int:
    """By the statistics; where there are none, counted, or estimated when the table is large."""
    if leaf.rows > 0:
        return leaf.rows
    table = sql.Identifier(leaf.schema, leaf.name)
    if leaf.pages <= COUNTED_PAGES:
        row = connection.execute(sql.SQL("SELECT count(*) FROM ONLY {}").format(table)).fetchone()
        return int(row[0]) if row else 0
    width = (
        "SELECT pg_catalog.avg(pg_catalog.pg_column_size(t.*))"
        " FROM (SELECT * FROM ONLY {} LIMIT 100) t"
    )
    row = connection.execute(sql.SQL(width).format(table)).fetchone()
    bytes_per_row = float(row[0] or 100) + 28 if row else 128
    return int(leaf.pages * PAGE_BYTES / bytes_per_row)


def next_bound(
    connection: psycopg.Connection,
    leaf: tuple[str, str],
    key: Sequence[str],
    lower: tuple[str, ...] | None,
    rows: int,
) -> tuple[str, ...] | None:
    """The key `rows` rows after `lower` (None: after the first), walking the index; None when
    there are fewer."""
    query = SQL.key_behind(leaf, key, lower, rows).encode()
    row = connection.execute(query).fetchone()
    return None if row is None else tuple(str(value) for value in row)


def tables_with_rows(
    connection: psycopg.Connection, tables: Sequence[tuple[str, str]]
) -> set[tuple[str, str]]:
    """Those that have a row in this snapshot."""
    filled: set[tuple[str, str]] = set()
    for start in range(0, len(tables), TABLES_PER_QUERY):
        some = tables[start : start + TABLES_PER_QUERY]
        exists = (sql.SQL("EXISTS (SELECT FROM ONLY {})").format(sql.Identifier(*t)) for t in some)
        query = sql.SQL("SELECT ARRAY[{}]").format(sql.SQL(", ").join(exists))
        row = connection.execute(query).fetchone()
        assert row is not None
        filled.update(table for table, is_filled in zip(some, row[0], strict=True) if is_filled)
    return filled


def query_is_empty(connection: psycopg.Connection, statement: str) -> bool:
    """Whether the statement gives no row in this snapshot."""
    query = sql.SQL("SELECT EXISTS (SELECT FROM {})").format(derived(statement))
    row = connection.execute(query).fetchone()
    return row is None or not row[0]


def copied(select: str) -> str:
    """COPY … TO STDOUT (text format) of the rows of a SELECT."""
    return f"COPY ({select}) TO STDOUT"


def copy_statement(
    leaf: tuple[str, str],
    columns: Sequence[str],
    key: Sequence[str],
    chunk: Chunk,
    condition: str | None = None,
) -> str:
    """What reads a chunk's rows, ordered by key. `condition` is one that `signals.conditions`
    wrote."""
    conditions = [] if condition is None else [f"({condition})"]
    lower, upper = chunk.lower, chunk.upper
    if isinstance(lower, tuple):
        conditions.append(SQL.compared(key, ">=", lower))
    elif isinstance(lower, int):
        conditions.append(f"ctid >= '({lower},0)'")
    if isinstance(upper, tuple):
        conditions.append(SQL.compared(key, "<", upper))
    elif isinstance(upper, int):
        conditions.append(f"ctid < '({upper},0)'")
    return copied(SQL.rows(leaf, columns, key if chunk.kind is Cut.KEY else (), conditions))
