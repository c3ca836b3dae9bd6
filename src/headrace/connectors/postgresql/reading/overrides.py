"""What a table's own statement gives, and the COPY of its rows."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg
from psycopg import sql

from headrace.connectors.postgresql.catalog.catalog import CatalogColumn
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect
from headrace.errors import HeadraceError
from headrace.relational.overrides import PROPERTY, Overrides


def check_overrides(config: PostgresConfig) -> None:
    """Asks what each statement gives. Raises HeadraceError("postgresql.override")."""
    statements = Overrides.of(config).statements
    if statements:
        with connect(config, limited=True, users_sql=True) as connection:
            for name, statement in statements.items():
                result_columns(connection, name, statement)


def result_columns(
    connection: psycopg.Connection, table: str, statement: str
) -> dict[str, tuple[int, int]]:
    """Type and typmod by column that the statement gives; nothing is read."""
    query = sql.SQL("SELECT * FROM {} LIMIT 0").format(derived(statement))
    try:
        result = connection.execute(query).pgresult
    except psycopg.Error as error:
        raise _refused(table, error.diag.message_primary or str(error)) from None
    if result is None or result.nfields == 0:
        raise _refused(table, "it gives no columns")
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


def derived(statement: str) -> sql.Composed:
    """The statement as a table `t`; the line break ends a comment."""
    return sql.SQL("({}\n) t").format(sql.SQL(statement))


def copy_override(
    connection: psycopg.Connection,
    table: str,
    statement: str,
    columns: Sequence[CatalogColumn],
) -> sql.Composed:
    """COPY … TO STDOUT of the statement's rows, in the table's columns and types; a column that
    it does not give is null."""
    given = result_columns(connection, table, statement)
    parts: list[sql.Composable] = []
    for column in columns:
        declared = column.type.facts.oid, column.type.typmod
        result = given.get(column.name)
        name = sql.Identifier("t", column.name)
        if result is None:
            parts.append(sql.SQL("NULL"))
        elif result == declared:
            parts.append(name)
        else:
            row = connection.execute("SELECT format_type(%s, %s)", declared).fetchone()
            assert row is not None
            parts.append(sql.SQL("CAST({} AS {})").format(name, sql.SQL(row[0])))
    return sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT").format(
        sql.SQL(", ").join(parts), derived(statement)
    )
