"""SIGINT and SIGTERM, from the first moment of a verb that runs Spark to its last."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """Whether a signal asked the verb to end. A signal is only noted, because an exception in the
    middle of a call to the JVM leaves a trace, and in the middle of the JVM's start an orphan."""

    def __init__(self) -> None:
        self._requested = threading.Event()
        self._number: int | None = None
        self.on_repeat: Callable[[], None] = lambda: None
        """Called for every signal behind the first: who stops does not stop soon enough."""

    def listen(self) -> None:
        """Note signals from here on. For the main thread."""
        for number in SIGNALS:
            signal.signal(number, self._note)

    @property
    def requested(self) -> bool:
        """Whether a signal came."""
        return self._requested.is_set()

    @property
    def status(self) -> int:
        """The exit status of a verb that a signal ended before it did anything."""
        return 128 + (self._number or signal.SIGINT)

    def check(self) -> None:
        """Raises KeyboardInterrupt if a signal came."""
        if self.requested:
            raise KeyboardInterrupt

    def _note(self, number: int, _frame: object) -> None:
        if self.requested:
            self.on_repeat()
        self._number = number
        self._requested.set()


STOP = Stop()
"""That of this process: signals belong to processes."""
