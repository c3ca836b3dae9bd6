"""Writing a signal to the signal table."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.capture import Capture
from headrace.connectors.oracle.catalog.catalog import Catalog
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import Connection, opened
from headrace.connectors.oracle.events import CONNECTOR
from headrace.connectors.oracle.reading.kept_connection import kept_connection
from headrace.relational.readiness import check_signal_table
from headrace.relational.signals.driver_table import SENDING, WATERMARK, DriverSignalTable
from headrace.relational.table import Column, Table
from headrace.signals.sending import SignalTargets
from headrace.signals.signal import Signal


class SignalTable(DriverSignalTable[Connection]):
    """See DriverSignalTable."""

    def __init__(self, config: OracleConfig, name: str, doing: str = WATERMARK) -> None:
        super().__init__(kept_connection(config), name, doing)

    def _insert(self, connection: Connection, signal: Signal) -> None:
        binds = {"id": signal.id, "kind": signal.type, "data": signal.data}
        connection.execute(sql.INSERT_SIGNAL(table=sql.quoted(*self.path)), binds)

    def _delete(self, connection: Connection, column: str, identity: str) -> None:
        table, name = sql.quoted(*self.path), sql.quoted(column)
        connection.execute(sql.DELETE_SIGNAL(table=table, name=name), {"id": identity})

    def _columns(self, connection: Connection) -> Sequence[Column]:
        return Catalog(connection).columns(*self.path)


def insert_signal(config: OracleConfig, name: str, signal: Signal) -> None:
    """Write a signal into the table `schema.table`, as any user may. Raises HeadraceError."""
    with closing(SignalTable(config, name, SENDING)) as table:
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
    captured = [name for name in names if capture.takes(name)]
    return SignalTargets(names, captured, qualifier=f"{capture.database}.")
