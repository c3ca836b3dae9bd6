"""The last texts of secrets that change, which messages hide."""

from __future__ import annotations

import threading
from collections.abc import Hashable

_MAX_TEXTS = 8

Texts = dict[str, tuple[tuple[str, str], ...]]
"""Texts of a secret, the latest last, each with its references and their values."""


class FormerTexts:
    """The last texts in this process of each source of a secret. All methods may be called from any
    thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: dict[Hashable, Texts] = {}

    def note(self, source: Hashable, text: str, values: tuple[tuple[str, str], ...] = ()) -> None:
        """Note the present text of a source, with its references and their values."""
        with self._lock:
            texts = self._texts.setdefault(source, {})
            texts.pop(text, None)
            texts[text] = values
            for oldest in list(texts)[:-_MAX_TEXTS]:
                del texts[oldest]

    def of(self, source: Hashable) -> Texts:
        """Return the last texts of a source."""
        with self._lock:
            return dict(self._texts.get(source, {}))
