"""The database's clock: its SCN, its distance from UTC, and the times of SCNs."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.connection import Connection
from headrace.connectors.oracle.errors import DriverError

_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)$")
UNKNOWN_SCN = 8181
"""ORA-08181: no time is known for an SCN."""
_EPOCH = datetime.fromtimestamp(0, UTC).replace(tzinfo=None)


def offset_us(clock: str) -> int:
    """Return how many microseconds a clock is ahead of UTC, by the time with zone that it shows
    (`2026-01-02 03:04:05.678 +01:00`)."""
    match = _OFFSET.search(clock.strip())
    if match is None:
        return 0
    minutes = int(match[2]) * 60 + int(match[3])
    return minutes * 60_000_000 * (-1 if match[1] == "-" else 1)


def current_scn(connection: Connection) -> int:
    """Return the current SCN: later commits have a larger one. Raises DriverError."""
    ((scn,),) = connection.rows(sql.CURRENT_SCN())
    return int(scn)


def time_of_scn(connection: Connection, scn: int) -> int | None:
    """Return the time of an SCN in microseconds since 1970; None: the database does not know it any
    more. Raises DriverError."""
    ((clock,),) = connection.rows(sql.CLOCK())
    try:
        ((text,),) = connection.rows(sql.TIME_OF_SCN(), {"scn": scn})
    except DriverError as error:
        if error.code == UNKNOWN_SCN:
            return None
        raise
    passed = datetime.fromisoformat(str(text)[:26]) - _EPOCH
    seconds = passed.days * 86_400 + passed.seconds
    return seconds * 1_000_000 + passed.microseconds - offset_us(str(clock))
