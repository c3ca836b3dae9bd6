"""Writing a signal to the signal table."""

from __future__ import annotations

from contextlib import closing

import psycopg
from psycopg import sql

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import QUERY_LIMIT, KeptConnection, translate
from headrace.signals.signal import Signal


class SignalTable:
    """See `headrace.signals.collection.SignalCollection`: one connection, opened when it is first
    needed. `doing` says in errors what the table is written for; `limit`: see `connect`."""

    def __init__(
        self,
        config: PostgresConfig,
        name: str,
        *,
        doing: str = "Writing a watermark",
        limit: str | None = None,
    ) -> None:
        self.name = name
        self._config, self._doing = config, doing
        schema, _, table = name.partition(".")
        self._table = sql.Identifier(schema, table)
        # A trigger of the table may need the search path of its database.
        self._connection = KeptConnection(config, "headrace signals", limit=limit, users_sql=True)
        self.close = self._connection.close

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
            self._connection.get().execute(query)
        except psycopg.Error as error:
            raise translate(error, self._config, self._doing) from None


def insert_signal(config: PostgresConfig, name: str, signal: Signal) -> None:
    """Write a signal into the table `schema.table`, as anybody may write it. Raises
    HeadraceError."""
    table = SignalTable(config, name, doing="Sending a signal", limit=QUERY_LIMIT)
    with closing(table):
        table.insert(signal)
