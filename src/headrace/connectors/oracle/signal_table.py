"""Writing a signal to the signal table."""

from __future__ import annotations

from contextlib import closing

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.capture import Capture
from headrace.connectors.oracle.catalog.catalog import Catalog
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import Binds, opened
from headrace.connectors.oracle.events import CONNECTOR
from headrace.connectors.oracle.reading.kept_connection import kept_connection
from headrace.relational.readiness import check_signal_table
from headrace.relational.table import Table
from headrace.signals.collection import SignalCollection
from headrace.signals.sending import SignalTargets
from headrace.signals.signal import Signal


class SignalTable(SignalCollection):
    """See `headrace.signals.collection.SignalCollection`: one connection, opened when it is first
    needed. `doing` says in errors what the table is written for."""

    def __init__(self, config: OracleConfig, name: str, doing: str = "Writing a watermark") -> None:
        self._name, self._doing = name, doing
        schema, _, table = name.partition(".")
        self._path = schema, table
        self._kept = kept_connection(config)

    @property
    def name(self) -> str:
        """schema.table"""
        return self._name

    def insert(self, signal: Signal) -> None:
        """Write a signal. Raises HeadraceError."""
        statement = sql.INSERT_SIGNAL(table=sql.quoted(*self._path))
        self._run(statement, {"id": signal.id, "kind": signal.type, "data": signal.data})

    def delete(self, identity: str) -> None:
        """Delete the signal with this id. Raises HeadraceError."""
        connection = self._kept.get()
        with self._kept.translated(self._doing):
            columns = Catalog(connection).columns(*self._path)
        column = columns[0].name if columns else "ID"
        statement = sql.DELETE_SIGNAL(table=sql.quoted(*self._path), name=sql.quoted(column))
        self._run(statement, {"id": identity})

    def close(self) -> None:
        """Close the connection; never raises."""
        self._kept.close()

    def _run(self, statement: str, binds: Binds) -> None:
        connection = self._kept.get()
        with self._kept.translated(self._doing):
            connection.execute(statement, binds)
            connection.commit()


def insert_signal(config: OracleConfig, name: str, signal: Signal) -> None:
    """Write a signal into the table `schema.table`, as anybody may write it. Raises
    HeadraceError."""
    with closing(SignalTable(config, name, "Sending a signal")) as table:
        table.insert(signal)


def signal_targets(config: OracleConfig, name: str | None) -> SignalTargets:
    """See ConnectorDefinition.signal_targets; `name` is the signal table. Raises
    HeadraceError("oracle.signal_table"), and what connecting raises."""
    capture = Capture(config)
    with opened(config, "Looking at the tables") as connection:
        catalog = Catalog(connection)
        names = [f"{schema}.{table}" for schema, table, _ in catalog.tables()]
        if name is not None:
            described = catalog.table(*name.split(".", 1)) if "." in name else None
            present: list[Table] = [] if described is None else [described]
            check_signal_table(CONNECTOR, present, name)
    captured = [one for one in names if capture.takes(one)]
    return SignalTargets(names, captured, qualifier=f"{capture.database}.")
