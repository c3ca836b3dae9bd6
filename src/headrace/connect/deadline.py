"""Waiting until a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable


class Deadline:
    """A deadline `seconds` after now, or after the last `restart`. `clock` returns monotonic
    seconds."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._moment = clock() + seconds

    def remaining(self) -> float:
        """Return the seconds until the deadline; 0 after it."""
        return max(0.0, self._moment - self._clock())

    @property
    def is_over(self) -> bool:
        """Whether the deadline has passed."""
        return self._clock() >= self._moment

    def restart(self, seconds: float | None = None) -> None:
        """Set the deadline to the same number of seconds, or to `seconds`, from now."""
        self.seconds = self.seconds if seconds is None else seconds
        self._moment = self._clock() + self.seconds

    def pause(self, seconds: float) -> None:
        """Sleep for `seconds`, but not beyond the deadline."""
        time.sleep(min(seconds, self.remaining()))
