"""The signal table: whether it is fit, and writing a signal to it."""

from __future__ import annotations

from collections.abc import Iterable

import psycopg
from psycopg import sql

from headrace.connectors.postgresql.catalog.catalog import CatalogTable
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import QUERY_LIMIT, connect, translate
from headrace.errors import HeadraceError
from headrace.signals.signal import Signal


def check_signal_table(tables: Iterable[CatalogTable], name: str) -> None:
    """Raises HeadraceError("postgresql.signal_table") when it is missing or has other columns."""
    table = next((table for table in tables if table.name == name), None)
    if table is None:
        what = "does not exist"
    elif len(table.columns) != 3:
        what = f"has {len(table.columns)} columns instead of three"
    else:
        return
    raise HeadraceError(
        "postgresql.signal_table",
        f"The signal table {name} (signal.data.collection) {what}",
        f"CREATE TABLE {name} (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, "
        "data varchar(2048)); and grant the role SELECT, INSERT and DELETE on it.",
    )


def insert_signal(config: PostgresConfig, table: str, signal: Signal) -> None:
    """As anybody may write it. Raises HeadraceError."""
    schema, _, name = table.partition(".")
    values = (signal.id, signal.type, signal.data)
    try:
        with connect(
            config,
            application="headrace signal",
            limit=QUERY_LIMIT,
            users_sql=True,
        ) as connection:
            connection.execute(
                sql.SQL("INSERT INTO {} VALUES ({})").format(
                    sql.Identifier(schema, name), sql.SQL(", ").join(map(sql.Literal, values))
                )
            )
    except psycopg.Error as error:
        raise translate(error, config, "Sending a signal") from None
