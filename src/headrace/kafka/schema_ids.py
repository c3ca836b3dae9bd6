"""The ids of schemas in registries, kept so that a registry is asked once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b

from headrace.connect.sized_cache import SizedCache

MAX_IDS = 10_000
_DIGEST_BYTES = 16

SchemaKey = bytes
"""A digest of everything that determines the id of a schema."""


def schema_key(*parts: str) -> SchemaKey:
    """Return the key of a schema from texts: its registry, how it is looked up there, its subject
    and its text."""
    digest = blake2b(digest_size=_DIGEST_BYTES)
    for part in parts:
        raw = part.encode()
        digest.update(len(raw).to_bytes(8, "big"))
        digest.update(raw)
    return digest.digest()


class SchemaIds:
    """A cache of at most `limit` schema ids; the least recently used ids are removed first.

    One instance serves all converters of a process. Threads may share it; an id that two of them
    lack at the same time is requested twice.
    """

    def __init__(self, limit: int = MAX_IDS) -> None:
        self.limit = limit
        self._ids: SizedCache[SchemaKey, int] = SizedCache(limit)
        self._used: list[dict[SchemaKey, int]] = []

    def __len__(self) -> int:
        return len(self._ids)

    def of(self, key: SchemaKey, ask: Callable[[], int]) -> int:
        """Return the id of a schema; `ask` is called for an id that is not in the cache."""
        number = self._ids.of(key, ask)
        for used in self._used:
            used[key] = number
        return number

    def learn(self, ids: Mapping[SchemaKey, int]) -> None:
        """Add ids that another process requested."""
        for key, number in ids.items():
            self._ids.put(key, number)

    @contextmanager
    def used(self) -> Iterator[dict[SchemaKey, int]]:
        """Yield a dict that gets every id that is used inside the block, from the cache or not."""
        used: dict[SchemaKey, int] = {}
        self._used.append(used)
        try:
            yield used
        finally:
            self._used = [ids for ids in self._used if ids is not used]
