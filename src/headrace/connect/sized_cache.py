"""A cache that is bounded by the bytes of what it holds."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SizedCache(Generic[K, V]):
    """Values of at most `limit` bytes together; the least recently used ones go first.

    A value that is larger than the limit is the only one.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.nbytes = 0
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """The value of `key`, or None."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def put(self, key: K, value: V, nbytes: int) -> None:
        """Keep `value`, which takes `nbytes` bytes, and let go of what is too much."""
        with self._lock:
            replaced = self._entries.pop(key, None)
            if replaced is not None:
                self.nbytes -= replaced[1]
            self._entries[key] = (value, nbytes)
            self.nbytes += nbytes
            while self.nbytes > self.limit and len(self._entries) > 1:
                _, (_, freed) = self._entries.popitem(last=False)
                self.nbytes -= freed
