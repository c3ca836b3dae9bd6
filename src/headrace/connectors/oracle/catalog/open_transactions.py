"""Transactions that are open in a database, of every instance that is open."""

from __future__ import annotations

import logging

from headrace.connect.deadline import Deadline
from headrace.connectors.oracle import sql
from headrace.connectors.oracle.connection import Connection

log = logging.getLogger(__name__)

_NO_START = 1
"""The largest value of START_SCN that is not the SCN of a change."""
_PAUSE = 60.0
_pause = Deadline(0)
"""Limits warnings of transactions without a START_SCN to one in `_PAUSE` seconds."""
ALONE, CLUSTER = "V$TRANSACTION", "GV$TRANSACTION"


def transactions_view(connection: Connection) -> str:
    """Return the view that has the transactions of all instances. Raises DriverError."""
    statuses = [str(status) for _, status, *_ in connection.rows(sql.THREADS())]
    return _view_of(statuses.count("OPEN"))


def _view_of(instances: int) -> str:
    return CLUSTER if instances > 1 else ALONE


def open_before(
    connection: Connection, scn: int, instances: int | None = None
) -> list[tuple[bytes, int]]:
    """Return the transactions (ids) whose first change has a smaller SCN, with that SCN.
    `instances` is the number of open ones; None: the database is asked. The view has 0 or 1 for
    some transactions: they are left out, with a warning. Raises DriverError."""
    view = transactions_view(connection) if instances is None else _view_of(instances)
    rows = connection.rows(sql.PENDING(view=view), {"scn": scn})
    unknown = [xid for xid, start in rows if int(start) <= _NO_START]
    if unknown and _pause.is_over:
        log.warning(
            "%s has no START_SCN for %d open transactions (the first one is %s): they are left "
            "out, as if they began later",
            view,
            len(unknown),
            bytes(unknown[0]).hex(),
        )
        _pause.restart(_PAUSE)
    return [(xid, int(start)) for xid, start in rows if int(start) > _NO_START]
