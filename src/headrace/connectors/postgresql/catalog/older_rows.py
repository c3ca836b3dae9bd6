"""Proofs about the versions of a table before a transaction, from the catalogue and its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import psycopg
from psycopg import sql

_WRAP = 1 << 32
_SEARCH_LIMIT = "5s"
_SAMPLE = 100


def is_since(changed_by: int, xid: int, snapshot: str) -> bool:
    """Whether a transaction that `snapshot` sees is `xid` or began after it. Ids of the catalogue
    and of the log have 32 bits, so only ids up to the end of the snapshot are later."""
    return (changed_by - xid) % _WRAP < _since(xid, snapshot)


def nulls_before(
    connection: psycopg.Connection,
    table: tuple[str, str],
    columns: Mapping[str, int],
    xid: int | None,
    snapshot: str,
) -> set[str]:
    """Return those of the columns that had null in all rows when they were added. `columns` are
    names, and the transactions that changed them last; `xid` is the transaction before which a row
    with a value shows the contrary (None: any such row does). The transaction of `connection` stays
    intact; a query that fails or takes long proves nothing.

    ADD COLUMN gives all rows a null or all rows a value, and a rewrite of the table by ALTER TABLE
    gives all rows its transaction. So a few rows from before the column prove it, which a table of
    any size has at its beginning. Without such rows, all rows are searched.
    """
    samples = [_sample(table, name, by, snapshot) for name, by in columns.items()]
    sampled = dict(zip(columns, _answers(connection, samples), strict=True))
    nulls = {name for name, is_null in sampled.items() if is_null}
    searched = [name for name, is_null in sampled.items() if is_null is None]
    older = _is_older(xid, snapshot)
    searches = [
        sql.SQL("NOT EXISTS (SELECT FROM {} WHERE {} IS NOT NULL AND {})").format(
            sql.Identifier(*table), sql.Identifier(name), older
        )
        for name in searched
    ]
    answers = zip(searched, _answers(connection, searches), strict=True)
    return nulls | {name for name, is_null in answers if is_null}


def _sample(table: tuple[str, str], name: str, by: int, snapshot: str) -> sql.Composable:
    return sql.SQL(
        "(SELECT bool_and(c IS NULL) FROM (SELECT {} c FROM {} WHERE {} LIMIT {}) rows)"
    ).format(
        sql.Identifier(name), sql.Identifier(*table), _is_older(by, snapshot), sql.Literal(_SAMPLE)
    )


def _is_older(xid: int | None, snapshot: str) -> sql.Composable:
    if xid is None:
        return sql.SQL("true")
    window = sql.Literal(xid), sql.Literal(_since(xid, snapshot))
    return sql.SQL("((xmin::text::bigint - {}) & 4294967295) >= {}").format(*window)


def _answers(
    connection: psycopg.Connection, questions: Sequence[sql.Composable]
) -> list[bool | None]:
    """The answers of the database, all None if the query fails or takes too long."""
    if not questions:
        return []
    try:
        with connection.transaction():
            connection.execute(f"SET LOCAL statement_timeout = '{_SEARCH_LIMIT}'".encode())
            query = sql.SQL("SELECT {}").format(sql.SQL(", ").join(questions))
            row = connection.execute(query).fetchone()
    except psycopg.Error:
        if connection.closed or connection.broken:
            raise
        return [None] * len(questions)
    assert row is not None
    return list(row)


def _since(xid: int, snapshot: str) -> int:
    end = int(snapshot.split(":")[1])
    return (end - xid) % _WRAP
