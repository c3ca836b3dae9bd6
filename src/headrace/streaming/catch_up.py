"""Whether a stream has read its log up to the end that it had when the stream was opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class ReadLog(Protocol):
    """The part of a stream that CatchUp uses."""

    def has_read(self, place: int) -> bool:
        """Return whether the log was received up to `place`; if not, the stream asks the database
        for its present position."""
        ...


class CatchUp:
    """Whether one stream has caught up. A stream without captured changes has no ranges that would
    say how far it has read."""

    def __init__(self) -> None:
        self.is_over = False
        self._end: int | None = None
        self._is_read = False

    def look(self, stream: ReadLog, log_end: Callable[[], int]) -> None:
        """Note how far the stream has read; called before each request for a range. `log_end` is
        called once, and raises the errors of its source."""
        if not self.is_over:
            if self._end is None:
                self._end = log_end()
            self._is_read = stream.has_read(self._end)

    def ends(self, *, is_empty: bool) -> bool:
        """Whether the stream has just caught up: it had read the log to its end, and the next
        request for a range returned none (`is_empty`). True only once."""
        if self.is_over:
            return False
        self.is_over = self._is_read and is_empty
        return self.is_over
