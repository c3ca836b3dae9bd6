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
        self._requested = False
        self._number: int | None = None
        self._is_ending = False
        self.on_repeat: Callable[[], None] = lambda: None
        """Called for every signal after the first: who stops does not stop soon enough."""

    def listen(self) -> None:
        """Note signals from here on. For the main thread."""
        for number in SIGNALS:
            signal.signal(number, self._note)

    def interrupt(self, number: int, _frame: object) -> None:
        """A handler for the time before `listen`. Raises KeyboardInterrupt."""
        self._number = number
        raise KeyboardInterrupt

    def interrupt_at_hangup(self) -> None:
        """Treats SIGHUP, the end of the terminal, like SIGTERM, for a verb that undoes its changes;
        not if the command was started to outlive the terminal (nohup)."""
        is_main = threading.current_thread() is threading.main_thread()
        number = getattr(signal, "SIGHUP", None)  # Windows has none
        if is_main and number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, self.interrupt)

    def ends(self) -> None:
        """The query ended: a signal from now on is a repeat, since all that is left is to stop."""
        self._is_ending = True

    @property
    def requested(self) -> bool:
        """Whether a signal came."""
        return self._requested

    @property
    def status(self) -> int:
        """The exit status of a verb that a signal ended before it did anything."""
        return 128 + (self._number or signal.SIGINT)

    def check(self) -> None:
        """Raises KeyboardInterrupt if a signal came."""
        if self.requested:
            raise KeyboardInterrupt

    def _note(self, number: int, _frame: object) -> None:
        if self.requested or self._is_ending:
            self.on_repeat()
        self._number = number
        self._requested = True


STOP = Stop()
"""That of this process: signals belong to processes."""
