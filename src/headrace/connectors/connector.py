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
from headrace.offsets.offset import OffsetObject


class Connector(Protocol):
    """One database's log. Methods are called by one thread, and raise HeadraceError only."""

    def validate(self, stored: OffsetObject | None) -> None:
        """Connects once and refuses what cannot work; changes nothing and retries nothing.

        `stored` is the checkpoint's position, None at the first start.
        """
        ...

    def poll(self, after: OffsetObject, wait: timedelta) -> OffsetObject:
        """The end of the next range, at most `wait` later; `after` itself when nothing is new. An
        error that may be tried again is, which takes longer.

        The first call (with the constant initial offset) creates or finds the position in the
        log. Everything that planning needs is decided and written down before it returns
        (Invariant 2c).
        """
        ...

    def slices(self, start: OffsetObject, end: OffsetObject) -> list[Slice]:
        """The slices of (start, end]: the same whenever asked again."""
        ...

    def is_settled(self, offset: OffsetObject) -> bool:
        """Whether the log up to an offset has everything that rows of snapshots have: between a
        snapshot and there it has rows in their earlier state."""
        ...

    def bounded(self) -> None:
        """Limits `poll` to the end that the log has when it is first read (Spark's availableNow):
        `poll` returns `after` at and after that place, whatever comes meanwhile, and not before.
        Signals that are being carried out are finished first."""
        ...

    def latest(self) -> OffsetObject:
        """The head of the log as last heard, for lag."""
        ...

    def acknowledge(self, offset: OffsetObject) -> None:
        """Spark's checkpoint holds `offset`; may come late, twice or never (Invariant 1)."""
        ...

    def metrics(self) -> Mapping[str, Any]:
        """What it measured, as JSON: `snapshot` and `streaming` by Debezium's names, and what the
        database says of the log."""
        ...

    def watch(self, watcher: Watcher) -> None:
        """From now on calls `watcher` with the connector's situation, at once and at each change,
        also while `poll` retries."""
        ...

    def close(self) -> None:
        """Close connections and free the log for the next reader; never raises. It may be called
        from a signal handler, in the middle of another call."""
        ...
