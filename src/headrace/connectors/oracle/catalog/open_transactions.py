"""Transactions that are open in a database, of every instance that is open."""

from __future__ import annotations

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.connection import Connection

ALONE, CLUSTER = "V$TRANSACTION", "GV$TRANSACTION"


def transactions_view(connection: Connection) -> str:
    """The view that knows the transactions of all instances. Raises DriverError."""
    statuses = [str(status) for _, status, *_ in connection.rows(sql.THREADS())]
    return CLUSTER if statuses.count("OPEN") > 1 else ALONE


def open_before(connection: Connection, scn: int) -> list[tuple[bytes, int]]:
    """The transactions (ids) whose first change has a smaller SCN, with that. Raises
    DriverError."""
    view = transactions_view(connection)
    return [
        (xid, int(start)) for xid, start in connection.rows(sql.PENDING(view=view), {"scn": scn})
    ]
