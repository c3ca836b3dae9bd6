"""Statements of snapshot.select.statement.overrides: their columns, and the COPY of their rows."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from headrace.config.hidden import HiddenTexts
from headrace.connectors.postgresql.catalog.catalog import CatalogColumn
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import QUERY_LIMIT, connect, settings_of_users
from headrace.connectors.postgresql.ddl.table_state import locks_unseen_tables
from headrace.connectors.postgresql.reading.dialect import SQL, copied
from headrace.errors import HeadraceError
from headrace.relational.overrides import PROPERTY, Overrides

UNDEFINED = ("42P01", "42703", "3F000")
"""SQLSTATEs of statements that name a dropped or renamed object."""


def check_overrides(config: PostgresConfig) -> None:
    """Check that each statement returns columns. Raises HeadraceError("postgresql.override")."""
    statements = Overrides.of(config).statements
    if statements:
        with connect(config, limit=QUERY_LIMIT, users_sql=True) as connection:
            for name, statement in statements.items():
                try:
                    result_columns(connection, name, statement)
                except psycopg.Error as error:
                    raise _refused(name, _answer(name, error, config.hidden)) from None


def result_columns(
    connection: psycopg.Connection, table: str, statement: str
) -> dict[str, tuple[int, int]]:
    """Type and typmod of the statement's result columns, by name; reads no rows, but locks all
    tables that the statement reads. Raises psycopg.Error, and
    HeadraceError("postgresql.override")."""
    query = f"SELECT * FROM {_derived(statement)} LIMIT 0"
    result = connection.execute(query.encode()).pgresult
    if result is None or result.nfields == 0:
        raise _refused(table, "it returns no columns")
    return {
        (result.fname(i) or b"").decode(): (result.ftype(i), result.fmod(i))
        for i in range(result.nfields)
    }


def _refused(table: str, why: str) -> HeadraceError:
    return HeadraceError(
        "postgresql.override",
        f"{PROPERTY}.{table}: {why}",
        "Give one SELECT whose columns have the names of the table's.",
    )


def is_unseen(
    connection: psycopg.Connection, table: str, statement: str, hidden: HiddenTexts
) -> bool:
    """Whether the snapshot of the connection's transaction cannot show the rows of some table that
    the statement reads, because another session rewrote, truncated or created it later. Locks each
    of these tables. Raises psycopg.Error, and ValueError as `copy_override`."""
    try:
        with settings_of_users(connection):
            result_columns(connection, table, statement)
            return locks_unseen_tables(connection)
    except psycopg.Error as error:
        raise outdated(table, error, hidden) from None


def outdated(table: str, error: psycopg.Error, hidden: HiddenTexts) -> Exception:
    """A ValueError, without `hidden` texts, if the statement of a table names an object that no
    longer exists, else `error`."""
    if error.sqlstate not in UNDEFINED:
        return error
    return ValueError(
        f"{PROPERTY}.{table} fails: {_answer(table, error, hidden)}. Correct the statement, start "
        f"again, and have {table} read with a signal of the type execute-snapshot"
    )


def _answer(table: str, error: psycopg.Error, hidden: HiddenTexts) -> str:
    answer = error.diag.message_primary or str(error)
    return hidden.in_error(answer, f"{PROPERTY}.{table}")


def _derived(statement: str) -> str:
    """The statement as a derived table `t`; the line break ends a comment."""
    return f"({statement}\n) t"


def query_is_empty(connection: psycopg.Connection, statement: str) -> bool:
    """Whether the statement returns no row in this snapshot."""
    query = f"SELECT EXISTS (SELECT FROM {_derived(statement)})"
    row = connection.execute(query.encode()).fetchone()
    return row is None or not row[0]


def copy_override(
    connection: psycopg.Connection,
    table: str,
    statement: str,
    columns: Sequence[CatalogColumn],
    hidden: HiddenTexts,
) -> str:
    """Return a COPY … TO STDOUT of the statement's rows, in the table's columns and types; a column
    that the statement lacks is null. Raises ValueError if it names an object that no longer exists,
    psycopg.Error for errors of the server, and HeadraceError("postgresql.override"), without
    `hidden` texts."""
    try:
        result_types = result_columns(connection, table, statement)
    except psycopg.OperationalError:
        raise
    except psycopg.Error as error:
        problem = outdated(table, error, hidden)
        if problem is error:
            problem = _refused(table, _answer(table, error, hidden))
        raise problem from None
    parts: list[str] = []
    for column in columns:
        declared = column.type.facts.oid, column.type.typmod
        result = result_types.get(column.name)
        name = SQL.dialect.quoted("t", column.name)
        if result is None:
            parts.append("NULL")
        elif result == declared:
            parts.append(name)
        else:
            row = connection.execute("SELECT format_type(%s, %s)", declared).fetchone()
            assert row is not None
            parts.append(f"CAST({name} AS {row[0]})")
    return copied(f"SELECT {', '.join(parts)} FROM {_derived(statement)}")
