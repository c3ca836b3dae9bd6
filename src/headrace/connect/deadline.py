"""Waiting until a moment, and no longer."""

from __future__ import annotations

import time
from collections.abc import Callable


class Deadline:
    """The moment that is `seconds` after now, or after the last `restart`. `clock` gives seconds
    that never go back."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._moment = clock() + seconds

    def remaining(self) -> float:
        """Seconds until the moment; 0 after it."""
        return max(0.0, self._moment - self._clock())

    @property
    def is_over(self) -> bool:
        """Whether the moment has come."""
        return self._clock() >= self._moment

    def restart(self, seconds: float | None = None) -> None:
        """Wait as long again, or `seconds`, from now on."""
        self.seconds = self.seconds if seconds is None else seconds
        self._moment = self._clock() + self.seconds

    def pause(self, seconds: float) -> None:
        """Sleep for `seconds`, but not beyond the moment."""
        time.sleep(min(seconds, self.remaining()))
