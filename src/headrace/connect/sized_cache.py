"""A cache that is bounded by the number or by the bytes of its values."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SizedCache(Generic[K, V]):
    """A cache of values whose sizes are at most `limit` together; the least recently used values
    are removed first.

    Sizes are bytes, or 1 each if the limit is a number of values. A value that is larger than the
    limit stays as the only value. Values are not None. Threads may share the cache.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """Return the value of `key`, or None."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def of(self, key: K, make: Callable[[], V]) -> V:
        """Return the value of `key`. If there is none, `make` makes it, and the cache keeps it with
        the size 1. Two threads that miss it at the same time both make it."""
        value = self.get(key)
        if value is None:
            value = make()
            self.put(key, value)
        return value

    def put(self, key: K, value: V, size: int = 1) -> None:
        """Keep `value`, and remove others beyond the limit."""
        with self._lock:
            replaced = self._entries.pop(key, None)
            if replaced is not None:
                self.size -= replaced[1]
            self._entries[key] = (value, size)
            self.size += size
            while self.size > self.limit and len(self._entries) > 1:
                _, (_, freed) = self._entries.popitem(last=False)
                self.size -= freed
