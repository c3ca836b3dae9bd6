"""SIGINT and SIGTERM in a verb that runs Spark, from its beginning to its end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """Whether a signal asked the verb to end. A signal is only noted, because an exception during a
    call to the JVM leaves a stack trace, and during the JVM's start a JVM that nobody stops."""

    def __init__(self) -> None:
        self._requested = False
        self._number: int | None = None
        self._is_ending = False
        self.on_repeat: Callable[[], None] = lambda: None
        """Called for every signal after the first, because stopping takes too long for the user."""

    def listen(self) -> None:
        """Note signals from here on. For the main thread."""
        for number in SIGNALS:
            signal.signal(number, self._note)

    def interrupt(self, number: int, _frame: object) -> None:
        """Handle a signal before `listen`. Raises KeyboardInterrupt."""
        self._number = number
        raise KeyboardInterrupt

    def interrupt_at_hangup(self) -> None:
        """Treat SIGHUP, the end of the terminal, like SIGTERM, for a verb that undoes its changes;
        not if the command was started to outlive the terminal (nohup)."""
        is_main = threading.current_thread() is threading.main_thread()
        number = getattr(signal, "SIGHUP", None)  # not on Windows
        if is_main and number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, self.interrupt)

    def ends(self) -> None:
        """Note that the query ended: a signal from now on is a repeat, because the verb is
        stopping."""
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


STOP = Stop()
"""The instance of this process: signals belong to processes."""
