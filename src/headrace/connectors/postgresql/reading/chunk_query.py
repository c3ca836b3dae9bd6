"""SQL of incremental chunks: the next rows of a table by key, and its largest key."""

from __future__ import annotations

from collections.abc import Sequence

from psycopg import sql

from headrace.relational.key_order import KeyColumn, is_beyond
from headrace.signals.progress import Key

_NUMBER = sql.Identifier("headrace row number")


def is_after(key: Sequence[str], nullable: Sequence[bool], bound: Key) -> sql.Composable:
    """Rows behind `bound` in ORDER BY key, where nulls come last."""
    if not any(nullable):
        return sql.SQL("{} > {}").format(_row(key), _values(bound))
    return _beyond(key, nullable, bound)


def is_upto(key: Sequence[str], nullable: Sequence[bool], bound: Key) -> sql.Composed:
    """Rows up to and including `bound`."""
    if not any(nullable):
        return sql.SQL("{} <= {}").format(_row(key), _values(bound))
    return sql.SQL("NOT {}").format(_beyond(key, nullable, bound))


def _row(key: Sequence[str]) -> sql.Composed:
    names = sql.SQL(", ").join(sql.Identifier("t", name) for name in key)
    return sql.SQL("({})").format(names) if len(key) == 1 else sql.SQL("ROW({})").format(names)


def _values(bound: Key) -> sql.Composed:
    values = sql.SQL(", ").join(sql.Literal(value) for value in bound)
    return sql.SQL("({})").format(values) if len(bound) == 1 else sql.SQL("ROW({})").format(values)


def _beyond(key: Sequence[str], nullable: Sequence[bool], bound: Key) -> sql.Composable:
    columns = [
        KeyColumn(sql.Identifier("t", name).as_string(), may_be_null)
        for name, may_be_null in zip(key, nullable, strict=True)
    ]
    return sql.SQL(is_beyond(columns, bound, lambda value: sql.Literal(value).as_string()))


def chunk_statement(
    table: tuple[str, str],
    columns: Sequence[str],
    key: Sequence[str],
    conditions: Sequence[sql.Composable],
    *,
    only: bool,
    limit: int | None,
) -> sql.Composed:
    """COPY … TO STDOUT (text format) of rows in key order."""
    return sql.SQL("COPY (SELECT {} FROM {}{} t{} ORDER BY {}{}) TO STDOUT").format(
        sql.SQL(", ").join(sql.Identifier("t", name) for name in columns),
        sql.SQL("ONLY " if only else ""),
        sql.Identifier(*table),
        _where(conditions),
        sql.SQL(", ").join(sql.Identifier("t", name) for name in key),
        sql.SQL("") if limit is None else sql.SQL(" LIMIT {}").format(sql.Literal(limit)),
    )


def maximum_statement(
    table: tuple[str, str],
    key: Sequence[str],
    conditions: Sequence[sql.Composable],
    *,
    only: bool,
) -> sql.Composed:
    """The largest key, as text; no row when there is none."""
    return sql.SQL("SELECT {} FROM {}{} t{} ORDER BY {} LIMIT 1").format(
        sql.SQL(", ").join(sql.SQL("{}::text").format(sql.Identifier("t", name)) for name in key),
        sql.SQL("ONLY " if only else ""),
        sql.Identifier(*table),
        _where(conditions),
        sql.SQL(", ").join(sql.SQL("{} DESC").format(sql.Identifier("t", name)) for name in key),
    )


def bounds_statement(
    table: tuple[str, str],
    key: Sequence[str],
    conditions: Sequence[sql.Composable],
    *,
    only: bool,
    size: int,
    count: int,
) -> sql.Composed:
    """Every `size`-th key, `count` of them at most, as text."""
    return sql.SQL(
        "SELECT {} FROM (SELECT {}, row_number() OVER (ORDER BY {}) AS {} FROM {}{} t{}"
        " ORDER BY {} LIMIT {}) t WHERE {} % {} = 0 ORDER BY {}"
    ).format(
        sql.SQL(", ").join(sql.SQL("{}::text").format(sql.Identifier("t", name)) for name in key),
        _names(key),
        _names(key),
        _NUMBER,
        sql.SQL("ONLY " if only else ""),
        sql.Identifier(*table),
        _where(conditions),
        _names(key),
        sql.Literal(size * count),
        _NUMBER,
        sql.Literal(size),
        _NUMBER,
    )


def _names(key: Sequence[str]) -> sql.Composed:
    return sql.SQL(", ").join(sql.Identifier("t", name) for name in key)


def _where(conditions: Sequence[sql.Composable]) -> sql.Composable:
    if not conditions:
        return sql.SQL("")
    return sql.SQL(" WHERE {}").format(sql.SQL(" AND ").join(conditions))
