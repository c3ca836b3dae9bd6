"""Waiting in a source process, as long as the driver of its query is alive."""

from __future__ import annotations

import threading
from collections.abc import Callable

from headrace.connect.deadline import Deadline
from headrace.errors import HeadraceError

DRIVER_GONE = "spark.driver_gone"
"""Code of the error that `Waiting` raises."""

_LOOK_SECONDS = 0.25


class Waiting:
    """`orphaned` returns whether the process that this one works for has ended. `reason` says in
    words what the work waits for; None: nothing, or it is not known. `watcher` is called, by any
    thread, each time a reason is reported."""

    def __init__(self, orphaned: Callable[[], bool]) -> None:
        self.orphaned = orphaned
        self.reason: str | None = None
        self.watcher: Callable[[], None] = lambda: None
        self.lock = threading.RLock()
        """Held during a report, so that the last report has the latest state."""

    def report(self, reason: str | None) -> None:
        """Set what the work waits for from now on, and call `watcher`."""
        self.reason = reason
        self.watcher()

    def check(self) -> None:
        """Raise HeadraceError("spark.driver_gone") if the driver of the query has ended."""
        if self.orphaned():
            raise HeadraceError(
                DRIVER_GONE, "The driver of this query ended", "Start the query again."
            )

    def pause(self, seconds: float) -> None:
        """Wait for `seconds`; raises like `check`."""
        deadline = Deadline(seconds)
        while not deadline.is_over:
            self.check()
            deadline.pause(_LOOK_SECONDS)
