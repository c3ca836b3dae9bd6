"""Secrets that a process fetches and keeps for some time."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod

_MOST_SEEN = 8
_lock = threading.Lock()
_kept: dict[KeptSecret, tuple[str, float]] = {}
_seen: dict[KeptSecret, dict[str, tuple[tuple[str, str], ...]]] = {}


class KeptSecret(ABC):
    """A SecretSource that fetches the secret at its first use in a process, after the secret's
    lifetime, and after the secret was refused. Subclasses are frozen, and equal if they have the
    same secret: it is kept once for all of them, and pickled with none of them."""

    def current(self) -> str:
        """Return the secret. Raises as `fetch`."""
        with _lock:
            text, end = _kept.get(self, ("", 0.0))
            if time.monotonic() < end:
                return text
            began = time.monotonic()
            text, seconds = self.fetch()
            _kept[self] = text, began + seconds
            former_texts = _seen.setdefault(self, {})
            former_texts.pop(text, None)
            former_texts[text] = ()
            for oldest in list(former_texts)[:-_MOST_SEEN]:
                del former_texts[oldest]
            return text

    def renewed(self, used: str) -> str:
        """Return the secret after `used` was refused: it is fetched again, unless another thread
        has done so since. Raises as `current`."""
        with _lock:
            if _kept.get(self, ("", 0.0))[0] == used:
                _kept.pop(self, None)
        return self.current()

    def seen(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """Return the last secrets in this process, which messages hide."""
        return dict(_seen.get(self, {}))

    @abstractmethod
    def fetch(self) -> tuple[str, float]:
        """Return a new secret, and for how many seconds it is used. Raises HeadraceError, which
        never shows it."""
