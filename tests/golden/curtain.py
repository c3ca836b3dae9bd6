"""Keeps our connector waiting while blocks of a workload run, so that what it asks does not depend
on how far they have come."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Curtain:
    """Questions are asked while it is open, and blocks run while it is closed."""

    def __init__(self) -> None:
        self._is_open = True
        self._is_over = False
        self._asking = 0
        self._changed = threading.Condition()

    def close(self) -> None:
        """Blocks follow: the questions that were asked are answered first."""
        with self._changed:
            self._is_open = False
            self._changed.wait_for(lambda: self._is_over or self._asking == 0)

    def open(self) -> None:
        """Our connector goes on."""
        with self._changed:
            self._is_open = True
            self._changed.notify_all()

    def end(self) -> None:
        """The workload is over: nobody waits any longer."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Around a question and its answer."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or self._is_open)
            self._asking += 1
        try:
            yield
        finally:
            with self._changed:
                self._asking -= 1
                self._changed.notify_all()
