"""Whether a stream has read its log up to the end that it had when the stream was opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class ReadLog(Protocol):
    """A stream, as far as this is concerned."""

    def has_read(self, place: int) -> bool:
        """Whether the log was received up to `place`; where it was not, the database is asked where
        it is by now."""
        ...


class CatchUp:
    """Whether one stream has caught up. If nothing is captured, no range says how far it read."""

    def __init__(self) -> None:
        self.is_over = False
        self._end: int | None = None
        self._is_read = False

    def look(self, stream: ReadLog, log_end: Callable[[], int]) -> None:
        """Called before the stream is asked for a range. `log_end` is called once, and raises the
        errors of its source."""
        if not self.is_over:
            if self._end is None:
                self._end = log_end()
            self._is_read = stream.has_read(self._end)

    def ends(self, *, is_empty: bool) -> bool:
        """Whether it is over now and was not before: everything had been read, and the stream,
        asked after that, had no range (`is_empty`)."""
        if self.is_over:
            return False
        self.is_over = self._is_read and is_empty
        return self.is_over
