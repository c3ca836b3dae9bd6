"""Heartbeats: when one is due, its action, and the slice that holds it.

An offset counts the heartbeats before it, so a range that is planned again has the same ones
(Invariant 2c).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from headrace.config.properties.connector import ConnectorConfig
from headrace.connect.deadline import Deadline
from headrace.connect.records import Records, Shape, group_by_shape
from headrace.connect.rows import ROW, TRANSACTION, RowKind, RowTable, Sequences, put_place
from headrace.debezium.heartbeats import heartbeat
from headrace.offsets.offset import Offset, P
from headrace.offsets.ordinals import heartbeat_part, ordinals_used


class Heartbeats:
    """The heartbeats of one connector, at least `seconds` apart (heartbeat.interval.ms). `execute`
    runs with each (heartbeat.action.query); an error that it raises ends the poll."""

    def __init__(
        self,
        seconds: float,
        execute: Callable[[], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._next = Deadline(seconds, clock)
        self._execute = execute

    @staticmethod
    def of(config: ConnectorConfig, execute: Callable[[], None] | None = None) -> Heartbeats | None:
        """Return the heartbeats that a configuration asks for; None: it asks for none."""
        seconds = config.heartbeat_interval_ms / 1000
        return Heartbeats(seconds, execute) if seconds else None

    def remaining(self) -> float:
        """Return the seconds until the next heartbeat is due; not below 0."""
        return self._next.remaining()

    def beat(self, end: Offset[P]) -> Offset[P]:
        """Run the action of a heartbeat, and return `end` with the heartbeat before it."""
        self._next.restart()
        if self._execute is not None:
            self._execute()
        return replace(end, heartbeat=end.heartbeat + 1)


@dataclass(frozen=True)
class HeartbeatSlice:
    """A single heartbeat. `position`, `kind`, `ordinal` and `part` are its place in the log, after
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
        """A heartbeat has no log."""
        return 0

    def shapes(self) -> Iterator[Shape]:
        """See headrace.connect.slices.Slice."""
        yield heartbeat(self.topic, self.server)

    def read(self) -> Iterator[list[Records]]:
        """The heartbeat: a list with one group of one record."""
        rows = np.zeros(1, ROW)
        put_place(rows, self.position)
        rows["kind"], rows["ordinal"], rows["part"] = self.kind, self.ordinal, self.part
        rows["operation"] = ord("h")  # any but a tombstone's; no event shows it
        table = RowTable(rows, np.zeros(1, TRANSACTION))
        yield group_by_shape(table, {0: heartbeat(self.topic, self.server)})


def heartbeat_slice(end: Offset[Any], topic: str) -> HeartbeatSlice:
    """Return the heartbeat before `end`, after the last row. `headrace.offsets.ordinals` gives its
    numbers. Its ordinal is at least 1, because 0 is that of a message outside of a transaction at
    the same position."""
    inserts = 0 if end.signals is None else end.signals.ordinal
    place = (end.position.committed, RowKind.OUTSIDE, ordinals_used(end.heartbeat, inserts), 0)
    if end.position.transaction is not None:
        part = heartbeat_part(end.heartbeat)
        place = (end.position.transaction, RowKind.TRANSACTION, end.position.messages, part)
    return HeartbeatSlice(topic, end.server, end.sequences, *place)
