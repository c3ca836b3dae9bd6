"""Waiting in a source process, for as long as somebody reads on."""

from __future__ import annotations

import threading
from collections.abc import Callable

from headrace.connect.deadline import Deadline
from headrace.errors import HeadraceError

DRIVER_GONE = "spark.driver_gone"
"""Code of the error that `Waiting` raises."""

_LOOK_SECONDS = 0.25


class Waiting:
    """`orphaned` tells whether the process that this one works for is gone. `reason` is what the
    work waits for, in words; None: nothing, or nobody knows. `watcher` is called when it changes,
    by any thread."""

    def __init__(self, orphaned: Callable[[], bool]) -> None:
        self.orphaned = orphaned
        self.reason: str | None = None
        self.watcher: Callable[[], None] = lambda: None
        self.lock = threading.RLock()
        """Held while somebody reports, so that what is reported last is what is so last."""

    def report(self, reason: str | None) -> None:
        """What the work waits for from now on."""
        self.reason = reason
        self.watcher()

    def check(self) -> None:
        """Raises HeadraceError("spark.driver_gone") when nobody reads on."""
        if self.orphaned():
            raise HeadraceError(
                DRIVER_GONE, "The driver of this query ended", "Start the query again."
            )

    def pause(self, seconds: float) -> None:
        """Wait for `seconds`; raises as `check`."""
        deadline = Deadline(seconds)
        while not deadline.is_over:
            self.check()
            deadline.pause(_LOOK_SECONDS)
