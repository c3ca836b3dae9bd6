"""Writing a signal to the signal table."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from headrace.connectors.db2 import sql
from headrace.connectors.db2.capture import Capture
from headrace.connectors.db2.catalog.catalog import Catalog
from headrace.connectors.db2.catalog.registrations import registrations
from headrace.connectors.db2.checks.replication import registering
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Connection, opened
from headrace.connectors.db2.events import CONNECTOR
from headrace.connectors.db2.reading.kept_connection import kept_connection
from headrace.errors import HeadraceError
from headrace.relational.readiness import check_signal_table
from headrace.relational.signals.driver_table import SENDING, WATERMARK, DriverSignalTable
from headrace.relational.table import Column, Table
from headrace.signals.sending import SignalTargets
from headrace.signals.signal import Signal
from headrace.snapshots.modes import SnapshotRule


class SignalTable(DriverSignalTable[Connection]):
    """See DriverSignalTable."""

    def __init__(self, config: Db2Config, name: str, doing: str = WATERMARK) -> None:
        super().__init__(kept_connection(config), name, doing)

    def _insert(self, connection: Connection, signal: Signal) -> None:
        connection.rows(sql.insert_signal(*self.path), (signal.id, signal.type, signal.data))

    def _delete(self, connection: Connection, column: str, identity: str) -> None:
        connection.rows(sql.delete_signal(*self.path, column), (identity,))

    def _columns(self, connection: Connection) -> Sequence[Column]:
        return Catalog(connection).columns(*self.path)


def insert_signal(config: Db2Config, name: str, signal: Signal) -> None:
    """Write a signal into the table `schema.table`, as any user may. Raises HeadraceError."""
    with closing(SignalTable(config, name, SENDING)) as table:
        table.insert(signal)


def signal_targets(config: Db2Config, name: str | None) -> SignalTargets:
    """See ConnectorDefinition.signal_targets; `name` is the signal table. Raises
    HeadraceError("db2.signal_table"), ("db2.not_registered"), and what connecting raises."""
    capture = Capture(config)
    with opened(config, "Looking at the tables") as connection:
        catalog = Catalog(connection)
        names = [".".join(path) for path in catalog.tables()]
        registered = {
            f"{registration.source_schema}.{registration.source_table}"
            for registration in registrations(connection, config)
        }
        if name is not None:
            described = catalog.table(*_path(name)) if "." in name else None
            present: list[Table] = [] if described is None else [described]
            check_signal_table(CONNECTOR, present, name)
    streams = SnapshotRule.of(config).streams
    if streams and name is not None and name not in registered:
        raise HeadraceError(
            "db2.not_registered",
            f"The signal table {name} is not registered for SQL replication: no query would "
            f"receive the signal",
            registering(config, [_path(name)]),
        )
    captured = [registration for registration in names if capture.takes(registration)]
    remedies = {
        registration: registering(config, [_path(registration)])
        for registration in captured
        if streams and registration not in registered
    }
    return SignalTargets(names, captured, remedies)


def _path(name: str) -> tuple[str, str]:
    """Return schema and name of `schema.table`."""
    schema, _, table = name.partition(".")
    return schema, table
