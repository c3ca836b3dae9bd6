"""Texts of redo by number, as `row_kernel` looks them up."""

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connectors.oracle.streaming.effects import effect_kernel
from headrace.connectors.oracle.streaming.effects.effect_kernel import (
    ENTRY_WORDS,
    NUMBERS_WORDS,
    slot_of,
)

_FIRST_ENTRIES = 64
_WORD = 8


class TextNumbers:
    """Numbers of texts, or of pairs of texts, that were seen. One thread uses it."""

    def __init__(self) -> None:
        self.words = np.zeros(NUMBERS_WORDS, np.int64)
        """The words that the kernel reads."""
        self._texts: dict[tuple[str, str], tuple[np.ndarray, np.ndarray, int]] = {}
        self._entries = np.zeros((0, ENTRY_WORDS), np.int64)
        self._make_room(_FIRST_ENTRIES)

    def add(self, first: str, second: str, number: int) -> None:
        """Add the number of two texts (`second` is empty if there is only one); once for each."""
        if 2 * len(self._texts) >= len(self._entries):
            self._make_room(2 * len(self._entries))
        entry = self._texts[first, second] = (_padded(first), _padded(second), number)
        self._enter(*entry)

    def has(self, first: str, second: str = "") -> bool:
        """Whether two texts have a number."""
        return (first, second) in self._texts

    def _make_room(self, entries: int) -> None:
        self._entries = np.zeros((entries, ENTRY_WORDS), np.int64)
        self.words[effect_kernel.MASK] = entries - 1
        self.words[effect_kernel.ENTRIES] = address_of(self._entries)
        self.words[effect_kernel.LAST] = 0
        for text in self._texts.values():
            self._enter(*text)

    def _enter(self, first: np.ndarray, second: np.ndarray, number: int) -> None:
        pair = (*_words(first), *_words(second))
        at = slot_of(address_of(self.words), *pair) - address_of(self._entries)
        self._entries[at // (_WORD * ENTRY_WORDS)] = (*pair, number)


def _padded(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(errors="surrogatepass") + bytes(PADDING), np.uint8)


def _words(text: np.ndarray) -> tuple[int, int]:
    return address_of(text), len(text) - PADDING
