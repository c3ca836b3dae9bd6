"""Writing a signal to the signal table."""

from __future__ import annotations

import psycopg
from psycopg import sql

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import QUERY_LIMIT, connect, translate
from headrace.signals.signal import Signal


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
