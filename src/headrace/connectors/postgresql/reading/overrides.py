"""What a table's own statement gives, and the COPY of its rows."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from headrace.config.hidden import HiddenTexts
from headrace.connectors.postgresql.catalog.catalog import CatalogColumn
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import QUERY_LIMIT, connect
from headrace.connectors.postgresql.reading.dialect import SQL, copied
from headrace.errors import HeadraceError
from headrace.relational.overrides import PROPERTY, Overrides


def check_overrides(config: PostgresConfig) -> None:
    """Asks what each statement gives. Raises HeadraceError("postgresql.override")."""
    statements = Overrides.of(config).statements
    if statements:
        with connect(config, limit=QUERY_LIMIT, users_sql=True) as connection:
            for name, statement in statements.items():
                result_columns(connection, name, statement, config.hidden)


def result_columns(
    connection: psycopg.Connection, table: str, statement: str, hidden: HiddenTexts
) -> dict[str, tuple[int, int]]:
    """Type and typmod by column that the statement gives; nothing is read. Errors are without
    what is `hidden`."""
    query = f"SELECT * FROM {_derived(statement)} LIMIT 0"
    try:
        result = connection.execute(query.encode()).pgresult
    except psycopg.Error as error:
        answer = error.diag.message_primary or str(error)
        raise _refused(table, hidden.in_error(answer, f"{PROPERTY}.{table}")) from None
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


def _derived(statement: str) -> str:
    """The statement as a table `t`; the line break ends a comment."""
    return f"({statement}\n) t"


def query_is_empty(connection: psycopg.Connection, statement: str) -> bool:
    """Whether the statement gives no row in this snapshot."""
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
    """COPY … TO STDOUT of the statement's rows, in the table's columns and types; a column that
    it does not give is null."""
    given = result_columns(connection, table, statement, hidden)
    parts: list[str] = []
    for column in columns:
        declared = column.type.facts.oid, column.type.typmod
        result = given.get(column.name)
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
