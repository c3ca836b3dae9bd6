"""Incremental snapshots over a driver's connections: the parts that databases share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, Protocol

from headrace.errors import HeadraceError
from headrace.relational.catalog import StoredTable
from headrace.relational.events import RelationFacts
from headrace.relational.reading.chunk_targets import ChunkTargets, TableTarget
from headrace.relational.reading.driver_snapshots import DriverCursor, fetched
from headrace.relational.reading.kept_connection import KeptConnection
from headrace.relational.reading.key_ranges import Block, KeyRanges
from headrace.relational.rows.fetch_sizes import rows_at_once
from headrace.relational.rows.images import RowImages
from headrace.relational.table import Column
from headrace.signals.progress import Key, Pending
from headrace.snapshots.incremental.chunk_source import ChunkSource, KeyRange, Skipped
from headrace.snapshots.incremental.lanes import Lane, Lanes, S
from headrace.snapshots.incremental.rows import ChunkRows
from headrace.streaming.changes.key_columns import KeyRendering

READING = "Reading a chunk"
Target = TableTarget[StoredTable]


class Dial(Protocol):
    """The configuration properties that concern chunks."""

    @property
    def snapshot_fetch_size(self) -> int: ...
    @property
    def headrace_incremental_snapshot_threads(self) -> int: ...


class DriverRanges(KeyRanges[StoredTable]):
    """See KeyRanges; on its own connection."""

    large: frozenset[str] = frozenset()
    """The kinds of types whose values may be large."""

    def __init__(self, config: Dial, session: KeptConnection[Any]) -> None:
        self._fetch_size, self._kept = config.snapshot_fetch_size, session
        self._at_once = self._fetch_size
        self._facts: RelationFacts

    @abstractmethod
    def _cursor(self, statement: str, /) -> DriverCursor:
        """Run a query and return its cursor. Raises an error of the driver."""

    @abstractmethod
    def _key_texts(
        self, rows: Sequence[tuple[Any, ...]], key: Sequence[Column], /
    ) -> list[tuple[str | None, ...]]:
        """The driver's keys, as texts."""

    @abstractmethod
    def _images(self, facts: RelationFacts, cursor: Any, /) -> RowImages[Any]:
        """Return the converter of a cursor's rows to images."""

    @contextmanager
    def planning(self, target: Target) -> Iterator[None]:  # noqa: ARG002
        """Context that turns an error of the table into Skipped, and a lost connection into a
        retriable HeadraceError."""
        try:
            with self._kept.translated(READING):
                yield
        except HeadraceError as error:
            if error.retriable:
                raise
            raise Skipped("SQL_EXCEPTION", error.message) from None

    def _rows(self, statement: str) -> Sequence[tuple[Any, ...]]:
        return fetched(self._cursor(statement))

    def _keys(self, statement: str, key: Sequence[Column]) -> list[Key]:
        return list(self._key_texts(self._rows(statement), key))

    def read_range(self, keys: KeyRange[Target]) -> ChunkRows | Skipped:
        """See KeyRanges."""
        self._facts = keys.target.facts
        kinds = (str(column.type) for column in self._facts.columns)
        self._at_once = rows_at_once(self._fetch_size, kinds, self.large)
        return super().read_range(keys)

    def _blocks(self, select: str, max_bytes: int | None) -> tuple[list[Block], bool]:
        cursor = self._cursor(select)
        images = self._images(self._facts, cursor)
        blocks: list[Block] = []
        size = 0
        while rows := cursor.fetch(self._at_once):
            block = images.block(rows)
            blocks.append(block)
            size += len(block.images)
            if max_bytes is not None and size > max_bytes:
                cursor.close()
                return blocks, True
        cursor.close()
        return blocks, False


class DriverChunks(ChunkSource[Target], Generic[S]):
    """See ChunkSource: one connection, and lanes in addition, opened when they are first needed. S
    is the state of the database that lanes read."""

    def __init__(
        self,
        config: Dial,
        session: KeptConnection[Any],
        targets: ChunkTargets[StoredTable],
        rendering: KeyRendering,
        open_lane: Callable[[], Lane[Target, S]],
    ) -> None:
        self._kept, self._targets, self._rendering = session, targets, rendering
        threads = config.headrace_incremental_snapshot_threads
        self._lanes: Lanes[Target, S] = Lanes(threads, open_lane)

    def close(self) -> None:
        """Close the connections; never raises."""
        self._lanes.close()
        self._kept.close()

    def rest(self) -> None:
        """Close the lanes until the next chunk is read."""
        self._lanes.close()

    def tables(self) -> list[str]:
        """See ChunkSource."""
        with self._kept.transaction("Listing tables"):
            return self._targets.names()

    def target(self, pending: Pending) -> Target:
        """See ChunkSource."""
        with self._kept.transaction("Describing a table"):
            return self._targets.target(pending, self._rendering)
