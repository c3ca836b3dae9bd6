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


class SignalTable:
    """See `headrace.signals.collection.SignalCollection`: one connection, opened when it is first
    needed. `doing` says in errors what the table is written for."""

    def __init__(
        self,
        config: PostgresConfig,
        name: str,
        *,
        doing: str = "Writing a watermark",
        application: str = "headrace signals",
        limit: str | None = None,
    ) -> None:
        self.name = name
        self._config, self._doing = config, doing
        self._application, self._limit = application, limit
        schema, _, table = name.partition(".")
        self._table = sql.Identifier(schema, table)
        self._connection: psycopg.Connection | None = None

    def insert(self, signal: Signal) -> None:
        """Write a signal. Raises HeadraceError."""
        values = sql.SQL(", ").join(map(sql.Literal, (signal.id, signal.type, signal.data)))
        self._run(sql.SQL("INSERT INTO {} VALUES ({})").format(self._table, values))

    def delete(self, identity: str) -> None:
        """Delete the signal with this id. Raises HeadraceError."""
        query = sql.SQL("DELETE FROM {} WHERE id OPERATOR(pg_catalog.=) {}")
        self._run(query.format(self._table, sql.Literal(identity)))

    def _run(self, query: sql.Composed) -> None:
        try:
            if self._connection is None or self._connection.closed:
                # A trigger of the table may need the search path of its database.
                self._connection = connect(
                    self._config,
                    application=self._application,
                    limit=self._limit,
                    users_sql=True,
                )
            self._connection.execute(query)
        except psycopg.Error as error:
            raise translate(error, self._config, self._doing) from None

    def close(self) -> None:
        """Close the connection; never raises."""
        if self._connection is not None:
            self._connection.close()


def insert_signal(config: PostgresConfig, name: str, signal: Signal) -> None:
    """Write a signal into the table `schema.table`, as anybody may write it. Raises
    HeadraceError."""
    table = SignalTable(
        config, name, doing="Sending a signal", application="headrace signal", limit=QUERY_LIMIT
    )
    try:
        table.insert(signal)
    finally:
        table.close()
