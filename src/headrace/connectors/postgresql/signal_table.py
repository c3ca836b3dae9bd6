"""Writes signals to the signal table."""

from __future__ import annotations

from contextlib import closing

import psycopg
from psycopg import sql

from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog.catalog import Catalog, CatalogTable
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import (
    QUERY_LIMIT,
    KeptConnection,
    connect,
    translate,
    translated,
)
from headrace.connectors.postgresql.replication.publication import (
    add_tables,
    silent_tables,
)
from headrace.connectors.postgresql.source import CONNECTOR
from headrace.errors import HeadraceError
from headrace.relational.readiness import check_signal_table
from headrace.signals.sending import SignalTargets
from headrace.signals.signal import Signal
from headrace.snapshots.modes import SnapshotRule


class SignalTable:
    """See `headrace.signals.collection.SignalCollection`: one connection, opened at its first use.
    `doing` is the purpose of writing in error messages; `limit`: see `connect`."""

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
    """Write a signal into the table `schema.table`, as any user may. Raises HeadraceError."""
    table = SignalTable(config, name, doing="Sending a signal", limit=QUERY_LIMIT)
    with closing(table):
        table.insert(signal)


def signal_targets(config: PostgresConfig, name: str | None) -> SignalTargets:
    """See ConnectorDefinition.signal_targets; `name` is the signal table. Raises
    HeadraceError("postgresql.signal_table"), ("postgresql.not_published"), and errors of
    `connect`."""
    capture, publication_name = Capture(config), config.publication_name
    with (
        connect(config, limit=QUERY_LIMIT) as connection,
        translated(config, "Looking at the tables"),
        closing(Catalog(config, connection, QUERY_LIMIT)) as catalog,
    ):
        tables = catalog.tables()
        silent: list[CatalogTable] = []
        if SnapshotRule.of(config).streams:
            silent = silent_tables(connection, config, catalog, lambda _name: True)
        if name is not None:
            numbers = [table.id for table in tables if table.name == name]
            reading = catalog.read(numbers)
            described = [reading.describe(number) for number in numbers]
            check_signal_table(CONNECTOR, [table for table in described if table], name)
    remedies = {table.name: add_tables(publication_name, [table]) for table in silent}
    if name in remedies:
        raise HeadraceError(
            "postgresql.not_published",
            f"The signal table {name} is not in the publication {publication_name}: no query "
            f"would receive the signal",
            remedies[name],
        )
    names = [table.name for table in tables]
    return SignalTargets(names, [name for name in names if capture.takes(name)], remedies)
