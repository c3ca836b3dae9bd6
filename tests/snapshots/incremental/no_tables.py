"""A database without tables, of which no chunk can be read."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from headrace.signals.progress import Pending
from headrace.snapshots.incremental.chunk_source import ChunkSource, ChunkTransaction


class NoTables(ChunkSource[Any]):
    """See ChunkSource."""

    def tables(self) -> list[str]:
        return []

    def position(self) -> int:
        raise NotImplementedError

    def target(self, pending: Pending) -> Any:
        raise NotImplementedError

    def transaction(self, *, shared: bool) -> AbstractContextManager[ChunkTransaction[Any]]:
        raise NotImplementedError
