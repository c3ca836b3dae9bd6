"""Transactions that are open in a database, of every instance that is open."""

from __future__ import annotations

import logging

from headrace.connect.deadline import Deadline
from headrace.connectors.oracle import sql
from headrace.connectors.oracle.connection import Connection

log = logging.getLogger(__name__)

_NO_START = 1
"""START_SCN up to which it is not that of a change."""
_PAUSE = 60.0
_told = Deadline(0)
"""Seconds between warnings of transactions without a START_SCN."""
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
    those that are open; None: they are asked for. The view gives 0 or 1 for some transactions: they
    are left out, with a warning. Raises DriverError."""
    view = transactions_view(connection) if instances is None else _view_of(instances)
    rows = connection.rows(sql.PENDING(view=view), {"scn": scn})
    unknown = [xid for xid, start in rows if int(start) <= _NO_START]
    if unknown and _told.is_over:
        log.warning(
            "%s has no START_SCN for %d open transactions (the first one is %s): they are left "
            "out, as if they began later",
            view,
            len(unknown),
            bytes(unknown[0]).hex(),
        )
        _told.restart(_PAUSE)
    return [(xid, int(start)) for xid, start in rows if int(start) > _NO_START]
