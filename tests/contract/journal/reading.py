"""Reads the journal's rows: by a snapshot, and by chunks while the log goes on."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from headrace.offsets.position import PlacePosition
from headrace.signals.progress import Key, Pending
from headrace.snapshots.chunks import Chunk, ChunkKind, KeyBound
from headrace.snapshots.image_block import ImageBlock
from headrace.snapshots.incremental.chunk_source import (
    ChunkSource,
    ChunkTransaction,
    KeyRange,
    Skipped,
)
from headrace.snapshots.incremental.rows import ChunkRows
from headrace.snapshots.incremental.visibility import SeenBefore
from headrace.snapshots.notifications import ChunkAnnouncements
from headrace.snapshots.slices import ChunkQuery, SnapshotRows
from headrace.snapshots.snapshot_source import HeldSnapshot, SnapshotHolder, SnapshotSource
from headrace.snapshots.tables import Leaf, SnapshotTable
from headrace.streaming.changes.key_columns import KeyRendering
from tests.contract.journal.events import JournalFacts
from tests.contract.journal.journal import Journal


@dataclass(frozen=True)
class State(ChunkTransaction[JournalFacts], HeldSnapshot, SnapshotRows):
    """The rows as of a place of the log: see HeldSnapshot, SnapshotReader, SnapshotRows and
    ChunkTransaction."""

    journal: Journal
    rendering: KeyRendering
    up_to: int
    visible: str = ""
    taken_us: int = 0

    @property
    def visibility(self) -> SeenBefore:
        return SeenBefore(self.up_to)

    def rows(self, collection: str, lower: Any = None, upper: Any = None) -> dict[int, bytes]:
        """The images of the rows after the bound `lower` and up to `upper`, by key."""
        after, last = (None if bound is None else int(bound[0]) for bound in (lower, upper))
        return {
            key: image
            for key, image in self.journal.rows(collection, self.up_to).items()
            if (after is None or after < key) and (last is None or key <= last)
        }

    def open(self) -> AbstractContextManager[State]:
        return nullcontext(self)

    def blocks(self, query: ChunkQuery, /) -> Iterator[ImageBlock]:
        yield ImageBlock.of(self.rows(*query.query).values())

    def largest_key(self, target: JournalFacts, /) -> Key | None:
        return next(((str(key),) for key in reversed(self.rows(target.name))), None)

    def split(
        self, whole: KeyRange[JournalFacts], size: int, count: int, /
    ) -> list[KeyRange[JournalFacts]]:
        keys = list(self.rows(whole.target.name, whole.lower, whole.upper))
        bounds: list[Key] = [(str(key),) for key in keys[size - 1 :: size]]
        return whole.cut_at(bounds[: count - 1], size)

    def read(self, ranges: Sequence[KeyRange[JournalFacts]], /) -> list[ChunkRows | Skipped]:
        return [self._read(keys) for keys in ranges]

    def _read(self, keys: KeyRange[JournalFacts]) -> ChunkRows:
        images = self.rows(keys.target.name, keys.lower, keys.upper).values()
        block = ImageBlock.of(itertools.islice(images, keys.limit))
        return block.rows(keys.target, self.rendering)


class JournalSnapshot(SnapshotHolder[State], SnapshotSource[PlacePosition, State]):
    """See headrace.snapshots.snapshot_source.SnapshotSource."""

    page_bytes = 1024

    def __init__(self, database: RowChunks) -> None:
        self._database = database

    def _taken(self, _covers: str | None) -> State:
        return self._database.now()

    def tables(self, conditions: Mapping[str, str | None] | None = None) -> list[SnapshotTable]:
        tables = []
        for number, name in enumerate(self._database.facts):
            images = self.reader().rows(name).values()
            leaf = Leaf(name, "", name, -(-sum(map(len, images)) // self.page_bytes), len(images))
            if images and (conditions is None or name in conditions):
                tables.append(SnapshotTable.of(leaf, ChunkKind.KEY, opens=number == 0))
        return tables

    def next_bound(
        self, table: SnapshotTable, leaf: Leaf, lower: KeyBound | None, rows: int
    ) -> KeyBound | None:
        keys = list(self.reader().rows(table.name, lower))
        return (str(keys[rows - 1]),) if rows < len(keys) else None

    def query(
        self, table: SnapshotTable, chunk: Chunk, announcements: ChunkAnnouncements | None
    ) -> ChunkQuery:
        query = table.name, chunk.lower, chunk.upper
        return ChunkQuery(chunk, query, self._database.facts[table.name], announcements)

    def reader(self) -> State:
        return self._present()

    def position(self) -> int:
        return self.reader().up_to


@dataclass(frozen=True)
class RowChunks(ChunkSource[JournalFacts]):
    """See headrace.snapshots.incremental.chunk_source.ChunkSource. `facts` are by collection."""

    journal: Journal
    facts: Mapping[str, JournalFacts]
    rendering: KeyRendering

    def now(self) -> State:
        end = self.journal.end()
        return State(self.journal, self.rendering, end, str(end), time.time_ns() // 1000)

    def tables(self) -> list[str]:
        return list(self.facts)

    def position(self) -> int:
        return self.journal.end()

    def target(self, pending: Pending) -> JournalFacts:
        if pending.name not in self.facts:
            raise Skipped("UNKNOWN_SCHEMA", "there is no such collection")
        return self.facts[pending.name]

    def transaction(self, *, shared: bool) -> AbstractContextManager[State]:
        return nullcontext(self.now())
