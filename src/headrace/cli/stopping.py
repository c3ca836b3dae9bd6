"""SIGINT and SIGTERM in a verb that runs Spark, from its beginning to its end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """A request by a signal to end the verb. A signal is only noted: an exception during a call to
    the JVM prints a stack trace, and an exception while the JVM starts leaves a JVM that nobody
    stops."""

    def __init__(self) -> None:
        self._requested = False
        self._number: int | None = None
        self._is_ending = False
        self.on_repeat: Callable[[], None] = lambda: None
        """Called for every signal after the first, because the user finds that stopping takes too
        long."""

    def listen(self) -> None:
        """Note signals from here on. For the main thread."""
        for number in SIGNALS:
            signal.signal(number, self._note)

    def interrupt(self, number: int, _frame: object) -> None:
        """Handle a signal that comes before `listen` is called. Raises KeyboardInterrupt."""
        self._number = number
        raise KeyboardInterrupt

    def interrupt_at_hangup(self) -> None:
        """Treat SIGHUP, the end of the terminal, like SIGTERM, for a verb that undoes its changes.
        Does nothing if the command was started to outlive the terminal (nohup)."""
        is_main = threading.current_thread() is threading.main_thread()
        number = getattr(signal, "SIGHUP", None)  # not on Windows
        if is_main and number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, self.interrupt)

    def note_query_ended(self) -> None:
        """Note that the query ended: from now on even the first signal counts as a repeated one,
        because the verb is stopping."""
        self._is_ending = True

    @property
    def requested(self) -> bool:
        """Whether a signal was received."""
        return self._requested

    @property
    def status(self) -> int:
        """The exit status of a verb that a signal ended before it did anything."""
        return 128 + (self._number or signal.SIGINT)

    def check(self) -> None:
        """Raise KeyboardInterrupt if a signal was received."""
        if self.requested:
            raise KeyboardInterrupt

    def _note(self, number: int, _frame: object) -> None:
        if self.requested or self._is_ending:
            self.on_repeat()
        self._number = number
        self._requested = True


STOP = StopRequest()
"""The instance of this process: signals belong to processes."""
