"""Rows that a signal's filter selects. If the filter fails on a row, the failure is logged and the
remaining rows of the table are left out; the stream continues."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import numpy as np
import psycopg

from headrace.config.secret import without_passwords
from headrace.connectors.postgresql.reading.copy_reader import read_copy
from headrace.connectors.postgresql.reading.dialect import SQL
from headrace.errors import HeadraceError
from headrace.relational.events import RelationFacts

log = logging.getLogger(__name__)

_REFUSALS = (
    psycopg.DataError,
    psycopg.InternalError,
    psycopg.NotSupportedError,
    psycopg.ProgrammingError,
    psycopg.errors.StatementTooComplex,
)


def check_filter(connection: psycopg.Connection, table: tuple[str, str], condition: str) -> None:
    """Let the server plan a query with `condition`, whose syntax was checked before. Raises
    ValueError with the server's message. The connection's transaction continues."""
    query = f"EXPLAIN SELECT FROM {SQL.dialect.quoted(*table)} WHERE {condition}"
    try:
        with connection.transaction():
            connection.execute(query.encode())
    except _REFUSALS as error:
        answer = error.diag.message_primary or str(error)
        message = without_passwords(answer, condition)
        raise ValueError(f"its filter fails: {message}") from None


def read_rows(
    connection: psycopg.Connection, statement: str, facts: RelationFacts, *, filtered: bool
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Read rows as `read_copy` does, in a transaction of the connection. `filtered`: the statement
    has a signal's filter; when it fails on a row, the rows end there."""
    if not filtered:
        yield from read_copy(connection.pgconn, statement)
        return
    connection.execute("SAVEPOINT headrace")
    try:
        yield from read_copy(connection.pgconn, statement)
    except HeadraceError as error:
        if error.code != "postgresql.copy_failed" or error.retriable:
            raise
        log.error(
            "Reading %s stopped early: the filter of the signal failed: %s",
            facts.name,
            error.message,
        )
        connection.execute("ROLLBACK TO headrace")
