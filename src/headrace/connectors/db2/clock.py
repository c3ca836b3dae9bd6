"""The server's clock, which is taken as UTC: what commits, rows of snapshots and those of
incremental snapshots have in common, so that their times can be compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from headrace.connectors.db2 import sql
from headrace.connectors.db2.connection import Connection


def server_time(connection: Connection) -> object:
    """The current time as the driver gives it; see `microseconds`. Raises DriverError."""
    ((time,),) = connection.rows(sql.CURRENT_TIME)
    return time


def server_time_us(connection: Connection) -> int:
    """The current time in microseconds since 1970. Raises DriverError."""
    return int(microseconds([server_time(connection)])[0])


def microseconds(timestamps: Sequence[object]) -> np.ndarray:
    """Microseconds since 1970 (int64) of datetimes without zone, which are taken as UTC, or of
    their texts."""
    array = pa.array(timestamps)
    if pa.types.is_string(array.type):
        array = array.cast(pa.timestamp("ns"))
    numbers = array.cast(pa.timestamp("us"), safe=False).cast(pa.int64()).fill_null(0)
    return np.asarray(numbers.to_numpy(zero_copy_only=False), np.int64)
