"""A watch of how much log a database keeps for a reader, with a warning before the reader loses it.

It has a thread of its own, because the warning matters most while Spark is busy or stuck.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar

log = logging.getLogger(__name__)


class Retention(Protocol):
    """The figures that a database reports about its log and this reader."""

    def to_json(self) -> Mapping[str, Any]:
        """Return the values for metrics."""
        ...


R = TypeVar("R", bound=Retention)


class RetentionWatch(Generic[R]):
    """Asks the database every `seconds`, and logs a warning when the database may soon delete log
    that the reader still needs; see headrace.connectors.connector_metrics.DatabaseWatch.

    `read` returns the figures, or None if the database does not know the reader. `find_warning`
    returns why log that the reader needs may be deleted and what to do, or None if the reader is
    safe. `disconnect`, which never raises, is called when `read` fails, and at the end.
    """

    def __init__(
        self,
        read: Callable[[], R | None],
        find_warning: Callable[[R], str | None],
        disconnect: Callable[[], None],
        seconds: float,
    ) -> None:
        self._read, self._find_warning = read, find_warning
        self._disconnect, self._seconds = disconnect, seconds
        self._last: R | None = None
        self._warned = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headrace-watch", daemon=True)
        self._thread.start()

    def to_json(self) -> Mapping[str, Any] | None:
        """Return the figures read last; None: nothing was read yet, or the database does not know
        the reader."""
        last = self._last
        return None if last is None else last.to_json()

    def close(self) -> None:
        """Stop watching; never raises."""
        self._stop.set()
        self._thread.join(2)

    def _run(self) -> None:
        while True:
            try:
                self._last = self._read()
                self._warn(None if self._last is None else self._find_warning(self._last))
            except Exception as error:  # noqa: BLE001 - the stream reports what is wrong
                log.debug("the database cannot be watched: %s", error)
                self._disconnect()
            if self._stop.wait(self._seconds):
                break
        self._disconnect()

    def _warn(self, warning: str | None) -> None:
        if warning is not None and not self._warned:
            log.warning("%s", warning)
        self._warned = warning is not None
