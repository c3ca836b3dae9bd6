"""The contract of a connector: one database's log as repeatable ranges.

Two sides, because Spark has two: a connector lives in Spark's source process, one per query; its
slices travel to tasks.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Protocol

from headrace.connect.slices import Slice
from headrace.connectors.states import Watcher
from headrace.offsets.offset import OffsetObject, OffsetSummary


class Connector(Protocol):
    """A connector for the log of one database. Methods are called by one thread, and raise
    HeadraceError only."""

    def validate(self, stored: OffsetObject | None) -> None:
        """Connect once and refuse what cannot work; changes nothing and retries nothing.

        `stored` is the checkpoint's position, None at the first start.
        """
        ...

    def poll(self, after: OffsetObject, wait: timedelta) -> OffsetObject:
        """Return the end of the next range within `wait`, or `after` itself if nothing is new.
        Retriable errors are retried; then the call takes longer.

        The first call (with the constant initial offset) creates or finds the position in the log.
        Everything that planning needs is decided and written down before it returns (Invariant 2c).
        """
        ...

    def slices(self, start: OffsetObject, end: OffsetObject) -> list[Slice]:
        """Return the slices of (start, end], the same at every call."""
        ...

    def summary(self, offset: OffsetObject) -> OffsetSummary:
        """Return what a sink needs to know of an offset: whether it is inside of a transaction, and
        whether the log up to it contains all changes that the rows of snapshots show. Between a
        snapshot and such an offset, the log has rows in their earlier state."""
        ...

    def bounded(self) -> None:
        """Limit `poll` to the end that the log has when it is first read (Spark's availableNow):
        `poll` returns `after` at and after that place, whatever comes meanwhile, and not before.
        Signals that are being carried out are finished first."""
        ...

    def latest(self) -> OffsetObject:
        """Return the head of the log as the database last reported it, to compute the lag."""
        ...

    def acknowledge(self, offset: OffsetObject) -> None:
        """Note that Spark's checkpoint holds `offset`; may be called late, twice or never
        (Invariant 1)."""
        ...

    def metrics(self) -> Mapping[str, Any]:
        """Return the metrics as JSON: `snapshot` and `streaming` by Debezium's names, and what the
        database reports about its log."""
        ...

    def watch(self, watcher: Watcher) -> None:
        """Call `watcher` with the connector's situation, at once and at each change, also while
        `poll` retries."""
        ...

    def close(self) -> None:
        """Close connections and free the log for the next reader; never raises. It may be called
        from a signal handler, in the middle of another call."""
        ...
