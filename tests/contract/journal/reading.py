"""Reads the journal's rows: by a snapshot, and by chunks while the log goes on."""

from __future__ import annotations

import contextlib
import itertools
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headrace.connect.kernels.memory import PADDING
from headrace.connect.rows import are_before
from headrace.signals.progress import Key, Pending
from headrace.snapshots.chunks import Chunk, Cut, KeyBound
from headrace.snapshots.incremental.rows import ChunkRows
from headrace.snapshots.incremental.source import ChunkSource, ChunkTransaction, KeyRange, Skipped
from headrace.snapshots.notifications import ChunkAnnouncements
from headrace.snapshots.slices import ChunkQuery
from headrace.snapshots.source import SnapshotSource
from headrace.snapshots.tables import Leaf, SnapshotTable
from headrace.streaming.changes.key_columns import KeyRendering
from headrace.streaming.changes.key_hashes import key_hashes
from tests.contract.journal.events import JournalFacts
from tests.contract.journal.journal import COLLECTIONS, Journal, place_of
from tests.contract.journal.log_reader import JournalPosition

_Images = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Target:
    """A collection: see headrace.snapshots.incremental.source.Target."""

    number: int
    facts: JournalFacts
    key: tuple[str, ...] = ("id",)
    parts: frozenset[int] = frozenset()


@dataclass(frozen=True)
class State(ChunkTransaction[Target]):
    """The rows as of an offset of the log: see HeldSnapshot, SnapshotReader, SnapshotRows,
    Visibility and ChunkTransaction."""

    journal: Journal
    upto: int
    time_us: int
    rendering: KeyRendering
    transaction: int | None = None

    @property
    def taken_us(self) -> int:
        return self.time_us

    @property
    def visible(self) -> str:
        return str(self.upto)

    @property
    def visibility(self) -> State:
        return self

    def hides(self, rows: np.ndarray, _transactions: np.ndarray) -> np.ndarray:
        return ~are_before(rows, place_of(self.upto))

    def keys(self, collection: int) -> list[int]:
        return list(self.journal.rows(collection, self.upto))

    def images(self, collection: int, chosen: slice = slice(None)) -> _Images:
        images = list(self.journal.rows(collection, self.upto).values())[chosen]
        offsets = np.cumsum([0, *map(len, images)], dtype=np.int64)
        padded = np.frombuffer(b"".join(images) + bytes(PADDING), np.uint8)
        return padded[: offsets[-1]], offsets

    @contextlib.contextmanager
    def open(self) -> Iterator[State]:
        yield self

    def blocks(self, query: ChunkQuery, /) -> Iterator[_Images]:
        yield self.images(query.chunk.table, query.query)

    def count(self, query: ChunkQuery, _rows: int, /) -> int:
        return len(self.keys(query.chunk.table))

    def largest_key(self, target: Target, /) -> Key | None:
        keys = self.keys(target.number)
        return (str(keys[-1]),) if keys else None

    def split(self, whole: KeyRange[Target], size: int, count: int, /) -> list[KeyRange[Target]]:
        keys = self.keys(whole.target.number)[self._within(whole)]
        lower = [whole.lower, *((str(key),) for key in keys[size - 1 :: size][: count - 1])]
        whole_ones = [KeyRange(whole.target, *pair) for pair in itertools.pairwise(lower)]
        return [*whole_ones, KeyRange(whole.target, lower[-1], whole.upper, size)]

    def read(self, ranges: Sequence[KeyRange[Target]], /) -> list[ChunkRows | Skipped]:
        return [self._rows(keys.target, self._within(keys)) for keys in ranges]

    def _within(self, keys: KeyRange[Target]) -> slice:
        present = self.keys(keys.target.number)
        first, last = (
            None if key is None else bisect_right(present, int(key[0] or 0))
            for key in (keys.lower, keys.upper)
        )
        end = len(present) if last is None else last
        return slice(first, end if keys.limit is None else min(end, (first or 0) + keys.limit))

    def _rows(self, target: Target, chosen: slice) -> ChunkRows:
        images, offsets = self.images(target.number, chosen)
        hashes = key_hashes(images, offsets, target.facts, self.rendering)
        return ChunkRows(target.facts, images, offsets, hashes, self.rendering)


class SnapshotRows(SnapshotSource[JournalPosition, State]):
    """See headrace.snapshots.source.SnapshotSource."""

    page_bytes = 1024
    held: State | None = None
    continued_at: int | None = None

    def __init__(self, database: RowChunks) -> None:
        self._database = database

    def adopt(self, held: State, /) -> None:
        self.held = held

    def hold(self, covers: str | None) -> State:
        self.held = self._database.now()
        if covers:
            self.continued_at = self.position()
        return self.held

    def tables(self, conditions: Mapping[str, str | None] | None = None) -> list[SnapshotTable]:
        tables = []
        for number, name in enumerate(COLLECTIONS):
            offsets = self.reader().images(number)[1]
            pages = -(-int(offsets[-1]) // self.page_bytes)
            leaf = Leaf(number, "", name, pages, len(offsets) - 1)
            if leaf.rows and (conditions is None or name in conditions):
                tables.append(SnapshotTable(number, "", name, Cut.KEY, (leaf,), number == 0))
        return tables

    def rows(self, leaf: Leaf) -> int:
        return leaf.rows

    def next_bound(
        self, table: SnapshotTable, leaf: Leaf, lower: KeyBound | None, rows: int
    ) -> KeyBound | None:
        keys = self.reader().keys(table.id)
        place = rows + (bisect_left(keys, int(lower[0])) if lower else 0)
        return (str(keys[place]),) if place < len(keys) else None

    def query(
        self, table: SnapshotTable, chunk: Chunk, announcements: ChunkAnnouncements | None
    ) -> ChunkQuery:
        keys = self.reader().keys(table.id)
        first, last = (
            bisect_left(keys, int(bound[0])) if isinstance(bound, tuple) else None
            for bound in (chunk.lower, chunk.upper)
        )
        return ChunkQuery(chunk, slice(first, last), self._database.facts[table.id], announcements)

    def reader(self) -> State:
        assert self.held is not None
        return self.held

    def position(self) -> int:
        return place_of(self.reader().upto)

    def moved(self, _position: JournalPosition, /) -> JournalPosition:
        return JournalPosition(self.reader().upto)

    def close(self) -> None:
        self.held = None


@dataclass(frozen=True)
class RowChunks(ChunkSource[Target]):
    """See headrace.snapshots.incremental.source.ChunkSource."""

    journal: Journal
    facts: Sequence[JournalFacts]
    rendering: KeyRendering

    def now(self) -> State:
        return State(self.journal, self.journal.end(), time.time_ns() // 1000, self.rendering)

    def tables(self) -> list[str]:
        return list(COLLECTIONS)

    def position(self) -> int:
        return place_of(self.journal.end())

    def target(self, pending: Pending) -> Target:
        if pending.name not in COLLECTIONS:
            raise Skipped("UNKNOWN_SCHEMA", "there is no such collection")
        number = COLLECTIONS.index(pending.name)
        return Target(number, self.facts[number])

    @contextlib.contextmanager
    def transaction(self, *, shared: bool) -> Iterator[State]:
        yield self.now()
