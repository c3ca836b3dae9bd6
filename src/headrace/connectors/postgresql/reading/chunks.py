"""SQL of a snapshot's chunks: their bounds, and the COPY that reads them."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg
from psycopg import sql

from headrace.connectors.postgresql.catalog.catalog import CatalogTable
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
    # Qualified, because ORDER BY "id" would mean the text in the select list.
    columns = sql.SQL(", ").join(sql.Identifier("t", name) for name in key)
    texts = sql.SQL(", ").join(sql.SQL("{}::text").format(sql.Identifier("t", n)) for n in key)
    where: sql.Composable = sql.SQL("")
    if lower is not None:
        where = sql.SQL(" WHERE {}").format(_compare(key, ">=", lower))
    query = sql.SQL("SELECT {} FROM ONLY {} t{} ORDER BY {} OFFSET {} LIMIT 1").format(
        texts, sql.Identifier(*leaf), where, columns, sql.Literal(rows)
    )
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


def _compare(key: Sequence[str], operator: str, bound: Sequence[str]) -> sql.Composed:
    left = sql.SQL(", ").join(sql.Identifier(name) for name in key)
    right = sql.SQL(", ").join(sql.Literal(value) for value in bound)
    if len(key) == 1:
        return sql.SQL("{} {} {}").format(left, sql.SQL(operator), right)
    return sql.SQL("({}) {} ({})").format(left, sql.SQL(operator), right)


def copy_statement(
    leaf: tuple[str, str],
    columns: Sequence[str],
    key: Sequence[str],
    chunk: Chunk,
    condition: str | None = None,
) -> sql.Composed:
    """COPY … TO STDOUT (text format) of a chunk's rows, ordered by key. `condition` is one that
    `signals.conditions` wrote."""
    conditions: list[sql.Composable] = []
    if condition is not None:
        conditions.append(sql.SQL("({})").format(sql.SQL(condition)))
    order: sql.Composable = sql.SQL("")
    if chunk.kind is Cut.KEY:
        if isinstance(chunk.lower, tuple):
            conditions.append(_compare(key, ">=", chunk.lower))
        if isinstance(chunk.upper, tuple):
            conditions.append(_compare(key, "<", chunk.upper))
        order = sql.SQL(" ORDER BY {}").format(
            sql.SQL(", ").join(sql.Identifier(name) for name in key)
        )
    else:
        if isinstance(chunk.lower, int):
            conditions.append(sql.SQL("ctid >= {}").format(sql.Literal(f"({chunk.lower},0)")))
        if isinstance(chunk.upper, int):
            conditions.append(sql.SQL("ctid < {}").format(sql.Literal(f"({chunk.upper},0)")))
    where: sql.Composable = sql.SQL("")
    if conditions:
        where = sql.SQL(" WHERE {}").format(sql.SQL(" AND ").join(conditions))
    return sql.SQL("COPY (SELECT {} FROM ONLY {}{}{}) TO STDOUT").format(
        sql.SQL(", ").join(sql.Identifier(name) for name in columns),
        sql.Identifier(*leaf),
        where,
        order,
    )


def count_statement(leaves: Sequence[tuple[str, str]], condition: str | None) -> sql.Composed:
    """Rows of these tables. `condition` is one that `signals.conditions` wrote."""
    where = sql.SQL("") if condition is None else sql.SQL(" WHERE {}").format(sql.SQL(condition))
    counts = [
        sql.SQL("(SELECT count(*) FROM ONLY {}{})").format(sql.Identifier(*leaf), where)
        for leaf in leaves
    ]
    return sql.SQL("SELECT {}").format(sql.SQL(" + ").join(counts))
