"""Transactions that are open in a database, of every instance that is open."""

from __future__ import annotations

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.connection import Connection

ALONE, CLUSTER = "V$TRANSACTION", "GV$TRANSACTION"


def transactions_view(connection: Connection) -> str:
    """The view that knows the transactions of all instances. Raises DriverError."""
    statuses = [str(status) for _, status, *_ in connection.rows(sql.THREADS())]
    return _view_of(statuses.count("OPEN"))


def _view_of(instances: int) -> str:
    return CLUSTER if instances > 1 else ALONE


def open_before(
    connection: Connection, scn: int, instances: int | None = None
) -> list[tuple[bytes, int]]:
    """The transactions (ids) whose first change has a smaller SCN, with that. `instances` are
    those that are open; None: they are asked for. Raises DriverError."""
    view = transactions_view(connection) if instances is None else _view_of(instances)
    return [
        (xid, int(start)) for xid, start in connection.rows(sql.PENDING(view=view), {"scn": scn})
    ]
