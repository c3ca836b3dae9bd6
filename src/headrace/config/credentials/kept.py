"""Secrets that a process fetches and keeps for some time."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod

from headrace.config.credentials.former import FormerTexts

_lock = threading.Lock()
_kept: dict[KeptSecret, _Kept] = {}
_former = FormerTexts()


class _Kept:
    """A secret in this process: its text up to `end`, in seconds of the monotonic clock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.text, self.end = "", 0.0


class KeptSecret(ABC):
    """A SecretSource that fetches the secret at its first use in a process, after the secret's
    lifetime, and after the secret was refused. Subclasses are frozen, and equal if they have the
    same secret: it is kept once for all of them, and pickled with none of them."""

    def current(self) -> str:
        """Return the secret. Raises as `fetch`."""
        kept = self._kept()
        with kept.lock:
            began = time.monotonic()
            if began >= kept.end:
                kept.text, seconds = self.fetch()
                kept.end = began + seconds
                _former.note(self, kept.text)
            return kept.text

    def renewed(self, used: str) -> str:
        """Return the secret after `used` was refused: it is fetched again, unless another thread
        has done so since. Raises as `current`."""
        kept = self._kept()
        with kept.lock:
            if kept.text == used:
                kept.end = 0.0
        return self.current()

    def seen(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """Return the last secrets in this process, which messages hide."""
        return _former.of(self)

    def _kept(self) -> _Kept:
        """Return the secret of this process. Its lock is held while it is fetched, which takes
        seconds: other secrets have locks of their own."""
        with _lock:
            return _kept.setdefault(self, _Kept())

    @abstractmethod
    def fetch(self) -> tuple[str, float]:
        """Return a new secret, and for how many seconds it is used. Raises HeadraceError, which
        never shows it."""
