"""Connections that read ranges of keys in parallel, on one snapshot."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, Protocol, TypeVar

from headrace.errors import HeadraceError
from headrace.snapshots.incremental.chunk_source import KeyRange, Skipped, T
from headrace.snapshots.incremental.rows import ChunkRows

log = logging.getLogger(__name__)

S = TypeVar("S")
S_contra = TypeVar("S_contra", contravariant=True)


class Lane(Protocol[T, S_contra]):
    """A connection of its own; S is the type of a database's name for a snapshot that several
    connections read."""

    @property
    def closed(self) -> bool:
        """Whether the connection was lost."""
        ...

    def read(self, snapshot: S_contra, keys: KeyRange[T], /) -> ChunkRows | Skipped:
        """Return the rows of a range on the snapshot of this name. Raises HeadraceError when the
        connection is lost."""
        ...

    def close(self) -> None:
        """Close the connection; never raises."""
        ...


class Lanes(Generic[T, S]):
    """Threads with a lane each, opened when they are first needed. `open_lane` raises HeadraceError
    when the server has no connection for it."""

    def __init__(self, threads: int, open_lane: Callable[[], Lane[T, S]]) -> None:
        self._count, self._open_lane = threads, open_lane
        self._threads: ThreadPoolExecutor | None = None
        self._lanes: dict[int, Lane[T, S]] = {}

    def read(
        self,
        lead: Callable[[KeyRange[T]], ChunkRows | Skipped],
        snapshot: S | None,
        ranges: Sequence[KeyRange[T]],
    ) -> list[ChunkRows | Skipped]:
        """Return the rows of each range. `lead`, which holds `snapshot`, reads the first range, and
        those for which the server has no connection. Raises HeadraceError when a connection is
        lost."""
        rest = ranges[1:]
        if self._threads is None and rest:
            self._threads = ThreadPoolExecutor(
                self._count, thread_name_prefix="headrace incremental"
            )
        assert snapshot is not None or not rest
        futures = [
            self._threads.submit(self._read, number, snapshot, keys)
            for number, keys in enumerate(rest)
            if self._threads is not None and snapshot is not None
        ]
        try:
            first = [lead(keys) for keys in ranges[:1]]
        finally:
            # Even after an error, no thread reads any more when this method returns.
            failed = [future.exception() for future in futures]
        for error in failed:
            if error is not None:
                raise error
        others = zip(rest, (future.result() for future in futures), strict=True)
        return [*first, *(lead(keys) if rows is None else rows for keys, rows in others)]

    def _read(self, number: int, snapshot: S, keys: KeyRange[T]) -> ChunkRows | Skipped | None:
        """Read a range of keys; None if there is no connection to read with."""
        lane = self._lanes.get(number)
        if lane is None or lane.closed:
            try:
                lane = self._open_lane()
            except HeadraceError as problem:
                log.warning("a chunk is not read in parallel with others: %s", problem)
                return None
            self._lanes[number] = lane
        try:
            return lane.read(snapshot, keys)
        except HeadraceError:
            self._lanes.pop(number).close()
            raise

    def close(self) -> None:
        """Close the connections; never raises."""
        if self._threads is not None:
            self._threads.shutdown()
            self._threads = None
        for number in list(self._lanes):
            self._lanes.pop(number).close()
