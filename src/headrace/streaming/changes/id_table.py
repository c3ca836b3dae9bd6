"""A hash table of numbers by ids, in memory that kernels search."""

from __future__ import annotations

import numpy as np

from headrace.streaming.changes.kernels.id_kernel import SPREAD

_FIRST_ENTRIES = 256


class IdTable:
    """A hash table of numbers by ids, neither of them negative. `memory` (int64) has open-addressed
    pairs of both, and grows by replacement: a kernel gets its current address with every call."""

    def __init__(self) -> None:
        self.memory = np.full(2 * _FIRST_ENTRIES, -1, np.int64)
        self.numbers: dict[int, int] = {}

    @property
    def mask(self) -> int:
        """The mask of a hash that gives the number of its entry."""
        return len(self.memory) // 2 - 1

    def put(self, identity: int, number: int) -> None:
        """Enter an id, or replace its number."""
        self.numbers[identity] = number
        if 4 * len(self.numbers) > len(self.memory):
            self.memory = np.full(2 * len(self.memory), -1, np.int64)
            for other, its_number in self.numbers.items():
                self._enter(other, its_number)
        self._enter(identity, number)

    def _enter(self, identity: int, number: int) -> None:
        entry = (identity * SPREAD) & self.mask
        while self.memory[2 * entry] not in (-1, identity):
            entry = (entry + 1) & self.mask
        self.memory[2 * entry : 2 * entry + 2] = (identity, number)
