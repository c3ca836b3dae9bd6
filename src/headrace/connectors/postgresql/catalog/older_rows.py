"""Proofs about the versions of a table before a transaction, from the catalogue and its rows."""

from __future__ import annotations

from collections.abc import Iterable

import psycopg
from psycopg import sql

_WRAP = 1 << 32
_SEARCH_LIMIT = "10s"


def is_since(changed_by: int, xid: int, snapshot: str) -> bool:
    """Whether a transaction that `snapshot` sees is `xid` or began after it. Ids of the catalogue
    and of the log have 32 bits, so only ids up to the end of the snapshot are later."""
    return (changed_by - xid) % _WRAP < _since(xid, snapshot)


def with_values(
    connection: psycopg.Connection,
    table: tuple[str, str],
    names: Iterable[str],
    xid: int | None,
    snapshot: str,
) -> set[str]:
    """Return those of the columns in which a row before the transaction `xid` (None: any row) has a
    value. A query reads until the first such row; all columns have one if it fails or takes long,
    which leaves the transaction of `connection` intact."""
    columns = list(names)
    older: sql.Composable = sql.SQL("true")
    if xid is not None:
        window = sql.Literal(xid), sql.Literal(_since(xid, snapshot))
        older = sql.SQL("((xmin::text::bigint - {}) & 4294967295) >= {}").format(*window)
    found = sql.SQL(", ").join(
        sql.SQL("EXISTS (SELECT FROM {} WHERE {} IS NOT NULL AND {})").format(
            sql.Identifier(*table), sql.Identifier(name), older
        )
        for name in columns
    )
    try:
        with connection.transaction():
            connection.execute(f"SET LOCAL statement_timeout = '{_SEARCH_LIMIT}'".encode())
            row = connection.execute(sql.SQL("SELECT {}").format(found)).fetchone()
    except psycopg.Error:
        if connection.closed or connection.broken:
            raise
        return set(columns)
    assert row is not None
    return {name for name, exists in zip(columns, row, strict=True) if exists}


def _since(xid: int, snapshot: str) -> int:
    end = int(snapshot.split(":")[1])
    return (end - xid) % _WRAP
