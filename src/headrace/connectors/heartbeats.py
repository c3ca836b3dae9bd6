"""When a heartbeat is due, and the slice that holds it.

An offset counts the heartbeats before it, so a range that is planned again has the same ones
(Invariant 2c).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from headrace.connect.records import Records, group_by_shape
from headrace.connect.rows import ROW, TRANSACTION, RowTable, Sequences
from headrace.debezium.heartbeats import heartbeat


class HeartbeatTimer:
    """`heartbeat.interval.ms`: the time since the last heartbeat, or since the start."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._due = clock() + seconds

    def remaining(self) -> float:
        """Seconds until the next one is due; not below 0."""
        return max(0.0, self._due - self._clock())

    def restart(self) -> None:
        """A heartbeat was made."""
        self._due = self._clock() + self._seconds


@dataclass(frozen=True)
class HeartbeatSlice:
    """One heartbeat. `position`, `kind`, `ordinal` and `part` are its place in the log, behind
    everything else in its range."""

    topic: str
    server: str
    sequences: Sequences
    position: int
    kind: int
    ordinal: int
    part: int

    @property
    def log_bytes(self) -> int:
        """No log is behind a heartbeat."""
        return 0

    def read(self) -> Iterator[list[Records]]:
        """The one record."""
        rows = np.zeros(1, ROW)
        rows["position"], rows["kind"] = self.position, self.kind
        rows["ordinal"], rows["part"] = self.ordinal, self.part
        rows["operation"] = ord("h")  # anything but a tombstone's; nothing shows it
        table = RowTable(rows, np.zeros(1, TRANSACTION))
        yield group_by_shape(table, {0: heartbeat(self.topic, self.server)})
