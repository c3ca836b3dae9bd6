"""Slices of a snapshot's chunks, which are sent to tasks."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import Records, Shape, group_by_shape
from headrace.connect.rows import (
    MARKERS,
    NULL,
    ROW,
    TRANSACTION,
    RowKind,
    RowTable,
    Sequences,
    low_half,
    put_place,
)
from headrace.signals.progress import Insert
from headrace.snapshots.chunks import Chunk
from headrace.snapshots.image_block import ImageBlock
from headrace.snapshots.incremental.inserts import notification_block, transaction_of
from headrace.snapshots.notifications import ChunkAnnouncements
from headrace.streaming.facts import EventSettings, Facts, NotificationFacts, shape_of


@dataclass(frozen=True)
class ChunkQuery:
    """The way a chunk is read. `query` is the query for its database, `facts` describes the cells
    of its rows. `filtered`: with a signal's filter, which may fail on a row. `count` asks for the
    number of the table's rows, if the chunk is not the whole table and the number is reported.
    Picklable."""

    chunk: Chunk
    query: Any
    facts: Facts
    announcements: ChunkAnnouncements | None = None
    filtered: bool = False
    count: Any = None


class SnapshotRows(Protocol):
    """A connection that sees the snapshot. A connection that cannot count rows derives from this
    class. Methods raise HeadraceError."""

    def present(self, query: ChunkQuery, /) -> ChunkQuery | None:
        """Return the query for the current table, before any other request for it; None: no row is
        read, because the table is gone, or because it will be read again."""
        return query

    def blocks(self, query: ChunkQuery, /) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield blocks of rows in the order of the chunk: images, and the offsets (one more than
        rows) at which they begin and end."""
        ...

    def count(self, query: ChunkQuery, rows: int, /) -> int:
        """Return how many rows the table has in this snapshot; `rows` came in this chunk."""
        ...


class SnapshotReader(Protocol):
    """Opens a task's connection to the snapshot. Picklable."""

    def open(self) -> AbstractContextManager[SnapshotRows]:
        """Return a connection that is closed in the end. Raises a retriable HeadraceError when the
        snapshot is over."""
        ...


@dataclass(frozen=True)
class SnapshotPlace:
    """The place of the records of a snapshot: a `position` of the log, and what `source` shows of
    it (`shown`: as their place, in 64 bits). `taken_us` is in microseconds since 1970. `blocking`:
    the stream waits for it. `image` is that of the transaction that its rows show (empty: none).
    """

    position: int
    shown: int
    last_commit: int | None
    taken_us: int
    transaction: int | None
    blocking: bool
    image: bytes = b""

    @property
    def kind(self) -> RowKind:
        """The kind of the rows."""
        return RowKind.OUTSIDE if self.blocking else RowKind.SNAPSHOT

    def entry(self, image: np.ndarray) -> np.ndarray:
        """Return the transaction entry of the rows; `image` is that of the place, and lives as long
        as the rows."""
        entry = np.zeros(1, TRANSACTION)
        entry["xid"] = NULL if self.transaction is None else self.transaction
        entry["commit_us"] = self.taken_us
        entry["commit_ms"] = self.taken_us // 1000
        entry["commit_ns"] = self.taken_us * 1000
        entry["last_commit"] = NULL if self.last_commit is None else low_half(self.last_commit)
        entry["position"] = low_half(self.position)
        entry["xmin"] = NULL
        if self.image:
            entry["image"], entry["size"] = address_of(image), len(self.image)
        return entry

    def image_memory(self) -> np.ndarray:
        """Return the image, with readable bytes after it."""
        return np.frombuffer(self.image + bytes(PADDING), np.uint8)

    def rows(self, count: int, ordinal: int, part: int) -> np.ndarray:
        """Return rows of the snapshot at this place, with parts from `part` on. They have no images
        yet."""
        rows = np.zeros(count, ROW)
        put_place(rows, self.position)
        rows["place"] = self.shown
        rows["kind"], rows["ordinal"] = self.kind, ordinal
        rows["part"] = np.arange(part, part + count)
        rows["marker"] = MARKERS.index("true")
        return rows


class PrefaceRecord(NamedTuple):
    """A record before the first chunk: its facts, the operation of its row, its new image, and the
    value of `source.snapshot` (of MARKERS)."""

    facts: Facts
    operation: int
    image: bytes
    marker: str = "true"


PREFACE_ORDINAL = 0
"""Ordinal of records before the first chunk; the first chunk after them has the next one."""


@dataclass(frozen=True)
class PrefaceSlice:
    """A slice with the records before the first chunk of a snapshot."""

    records: tuple[PrefaceRecord, ...]
    place: SnapshotPlace
    sequences: Sequences
    settings: EventSettings

    @property
    def log_bytes(self) -> int:
        """See the contract; these records have no log."""
        return sum(len(record.image) for record in self.records)

    def shapes(self) -> Iterator[Shape]:
        """See the contract."""
        return (shape_of(record.facts, self.settings) for record in self.records)

    def read(self) -> Iterator[list[Records]]:
        """Yield all records in one piece. They have the current time, and no time of the
        database."""
        place = replace(self.place, taken_us=time.time_ns() // 1000)
        block = ImageBlock.of(record.image for record in self.records)
        rows = self.place.rows(len(self.records), PREFACE_ORDINAL, 0)
        rows["new"] = address_of(block.images) + block.offsets[:-1]
        rows["size"] = np.diff(block.offsets)
        rows["operation"] = [record.operation for record in self.records]
        rows["marker"] = [MARKERS.index(record.marker) for record in self.records]
        facts = list(dict.fromkeys(record.facts for record in self.records))
        rows["relation"] = [facts.index(record.facts) for record in self.records]
        image = self.place.image_memory()
        shapes = {number: shape_of(fact, self.settings) for number, fact in enumerate(facts)}
        table = RowTable(rows, place.entry(image), (block.images, image))
        yield group_by_shape(table, shapes)


@dataclass(frozen=True)
class ChunkSlice:
    """Chunks that one task reads on the snapshot, one after the other."""

    queries: tuple[ChunkQuery, ...]
    reader: SnapshotReader
    place: SnapshotPlace
    sequences: Sequences
    settings: EventSettings
    log_bytes: ClassVar[int | None] = None

    def shapes(self) -> Iterator[Shape]:
        """See the contract."""
        for query in self.queries:
            yield shape_of(query.facts, self.settings)
            if query.announcements is not None:
                topic = NotificationFacts(query.announcements.topic)
                yield shape_of(topic, self.settings)

    def read(self) -> Iterator[list[Records]]:
        """Yield the records of a block of rows at a time. Raises HeadraceError, a retriable one
        when the snapshot is over."""
        with self.reader.open() as connection:
            for query in self.queries:
                yield from self._chunk(connection, query)

    def _chunk(self, connection: SnapshotRows, planned: ChunkQuery) -> Iterator[list[Records]]:
        present = connection.present(planned)
        query = planned if present is None else present
        shape = shape_of(query.facts, self.settings)
        image = self.place.image_memory()
        entry = self.place.entry(image)
        announcements = query.announcements
        part = 0
        if announcements is not None:
            yield from self._records_of(query, announcements.before, part, 0)
            part = len(announcements.before)
        rows_done = 0
        # One block is held back, because the last row has a marker.
        held_back: RowTable | None = None
        for images, offsets in () if present is None else connection.blocks(query):
            count = len(offsets) - 1
            if count == 0:
                continue
            if held_back is not None:
                yield group_by_shape(held_back, {0: shape})
            rows = self._rows(query.chunk, offsets, part + rows_done)
            rows["new"] += address_of(images)
            if rows_done == 0 and query.chunk.first:
                name = "first" if query.chunk.first == "run" else "first_in_data_collection"
                rows["marker"][0] = MARKERS.index(name)
            rows_done += count
            held_back = RowTable(rows, entry, (images, image))
        if held_back is not None:
            if query.chunk.last:
                markers = held_back.rows["marker"]
                name = "last" if query.chunk.last == "run" else "last_in_data_collection"
                if not (name != "last" and MARKERS[markers[-1]] == "first"):
                    markers[-1] = MARKERS.index(name)
            yield group_by_shape(held_back, {0: shape})
        if announcements is not None and announcements.after:
            scanned = rows_done if present is None else connection.count(query, rows_done)
            yield from self._records_of(query, announcements.after, part + rows_done, scanned)

    def _rows(self, chunk: Chunk, offsets: np.ndarray, part: int) -> np.ndarray:
        """Return the rows of a block, whose images begin at address 0."""
        rows = self.place.rows(len(offsets) - 1, chunk.ordinal, part)
        rows["new"] = offsets[:-1]
        rows["size"] = offsets[1:] - offsets[:-1]
        rows["operation"] = ord("r")
        return rows

    def _records_of(
        self,
        query: ChunkQuery,
        notifications: Sequence[dict[str, Any]],
        part: int,
        scanned: int,
    ) -> Iterator[list[Records]]:
        """Yield the records of a notification at a time, with parts from `part` on. `scanned` is
        how many rows the table had."""
        announcements = query.announcements
        assert announcements is not None
        position = self.place.position
        for number, notification in enumerate(notifications):
            data = dict(notification["additional_data"])
            if notification["type"] == "TABLE_SCAN_COMPLETED":
                data["total_rows_scanned"] = str(scanned)
            insert = Insert(
                (position, int(self.place.kind), query.chunk.ordinal, part + number),
                self.place.shown,
                None,
                notification["timestamp"] * 1000,
                notification={**notification, "additional_data": data},
            )
            block = notification_block(insert, announcements.topic)
            rows = block.rows.copy()
            rows["new"] = address_of(block.images)
            table = RowTable(rows, transaction_of(insert), (block.images,))
            yield group_by_shape(table, {0: shape_of(block.facts, self.settings)})
