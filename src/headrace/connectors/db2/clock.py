"""The clocks of the server and of Capture. Db2 stores and returns local times without a zone;
commits, rows of snapshots and rows of incremental snapshots get times in UTC, so that they can be
compared."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from headrace.connectors.db2 import sql
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Connection
from headrace.transforms.debezium.zone_offsets import Zone, zone_of

_DISTANCE = re.compile(r"(-?)(\d{1,6})(?:[.,]0*)?")
_SECOND_US = 1_000_000


class Clock:
    """A clock that shows the local time of a zone."""

    def __init__(self, zone: Zone) -> None:
        self._zone = zone

    def microseconds(self, timestamps: Sequence[object]) -> np.ndarray:
        """Return microseconds since 1970 UTC (int64) for the clock's datetimes, which have no zone,
        or for their texts; 0 for None. A time that the clock shows twice is the first one."""
        array = pa.array(timestamps)
        if pa.types.is_string(array.type):
            array = array.cast(pa.timestamp("ns"))
        numbers = array.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
        local = np.asarray(numbers.fill_null(0).to_numpy(zero_copy_only=False), np.int64)
        offsets = self._zone.of_local(local // _SECOND_US) * _SECOND_US
        is_present = np.asarray(numbers.is_valid().to_numpy(zero_copy_only=False), np.bool_)
        return np.where(is_present, local - offsets, 0)


def distance_s(distance: object) -> int:
    """Return CURRENT TIMEZONE in seconds: `distance` is a number whose digits are hours, minutes
    and seconds, or its text; 0 for None."""
    match = _DISTANCE.fullmatch(str(distance).strip())
    digits = int(match[2]) if match else 0
    seconds = digits // 10_000 * 3600 + digits // 100 % 100 * 60 + digits % 100
    return -seconds if match and match[1] else seconds


def distant(distance: object) -> Clock:
    """Return the clock of a server whose CURRENT TIMEZONE is `distance` (see `distance_s`)."""
    offset = distance_s(distance)
    return Clock(Zone(np.zeros(0, np.int64), np.array([offset], np.int64), offset))


def clock_of(config: Db2Config, distance: object) -> Clock:
    """Return the clock of Capture: that of headrace.capture.time.zone, else the server's, whose
    CURRENT TIMEZONE is `distance`."""
    name = config.headrace_capture_time_zone
    return distant(distance) if name is None else Clock(zone_of(name))


def server_time_us(connection: Connection) -> int:
    """Return the current time in microseconds since 1970 UTC, by the server's own distance from
    UTC, whatever Capture's clock shows. Raises DriverError."""
    ((time, distance),) = connection.rows(sql.CURRENT_TIME)
    return int(distant(distance).microseconds([time])[0])
