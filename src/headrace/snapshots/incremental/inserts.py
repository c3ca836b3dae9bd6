"""Records between those of the log: rows of incremental chunks, and notifications.

They become rows of the range's row table, with the hash of their key, so that they travel in the
same slices and in the same order as the log's records of that key.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headrace.connect.images import make_image
from headrace.connect.rows import MARKERS, NULL, ROW, TRANSACTION, are_before, low_half, put_place
from headrace.debezium.naming.topics import topic_hash
from headrace.signals.notifications import Notifier, report_outcome
from headrace.signals.progress import Insert
from headrace.snapshots.incremental.places import InsertionPoint
from headrace.snapshots.incremental.rows import ChunkRows, ReadChunk
from headrace.spool.segment import Segment
from headrace.streaming.facts import Facts, NotificationFacts
from headrace.streaming.range_rows import RangeRows

_SPARE_PARTS = 1024
"""Least number of parts reserved for rows that come into the range of a chunk before it is read
again."""


@dataclass
class Block:
    """The records of one insert. `rows` refer to relation 0, which is `facts`, and to places in
    `images`; `transaction` is the image of the transaction that they show (empty: none)."""

    insert: Insert
    facts: Facts
    rows: np.ndarray
    images: np.ndarray
    transaction: bytes = b""

    @property
    def size(self) -> int:
        """Size of all images in bytes."""
        return len(self.images) + len(self.transaction)


TransactionImage = Callable[[int, int], bytes]
"""A function of a place of the log and a kind (`RowKind`) that returns the image of the transaction
that rows there show; empty: none."""


def no_image(_place: int, _kind: int) -> bytes:
    """Return no image, for databases whose `source` shows no texts of a transaction."""
    return b""


class Insertions:
    """The inserts of one range. Notifications go to the topic of `notifier`."""

    def __init__(self, notifier: Notifier, image: TransactionImage = no_image) -> None:
        self.inserts: list[Insert] = []
        """The inserts as the range's end offset describes them."""
        self._notifier, self._image = notifier, image
        self._blocks: dict[tuple[int, int, int, int], Block] = {}

    def clear(self) -> None:
        """Remove all inserts, because another range begins."""
        self.inserts.clear()
        self._blocks.clear()

    @property
    def size(self) -> int:
        """Size of the records in bytes."""
        return sum(block.size for block in self._blocks.values())

    def block(self, insert: Insert) -> Block | None:
        """Return the records of an insert, if they were made or kept for this range."""
        return self._blocks.get(insert.at)

    def keep(self, block: Block) -> None:
        """Keep the records of an insert of an earlier process, which were read again."""
        self._blocks[block.insert.at] = block

    def add_rows(self, chunk: ReadChunk, rows: ChunkRows, place: InsertionPoint) -> None:
        """Insert the rows of a chunk that its window has left."""
        if not len(rows):
            return
        # Another process may find more rows when it reads the chunk again.
        parts = len(rows) + max(len(rows), _SPARE_PARTS)
        insert = Insert(
            place.take(parts),
            place.shown,
            place.last_commit,
            chunk.taken_us,
            chunk.table,
            chunk.lower,
            chunk.upper,
            parts=parts,
            order=chunk.order,
        )
        self._add(chunk_block(insert, rows, self._image))

    def notify(
        self,
        identity: str,
        kind: str,
        aggregate: str,
        place: InsertionPoint,
        data: Mapping[str, str],
    ) -> None:
        """Insert a notification (see `Notifier.notify`), and send it by the enabled channels."""
        report_outcome(identity, kind, data)
        if not self._notifier.enabled:
            return
        notification = self._notifier.notify(identity, kind, aggregate, data)
        if self._notifier.topic is None:
            return
        insert = Insert(
            place.take(1),
            place.shown,
            place.last_commit,
            notification.timestamp * 1000,
            notification=notification.to_json(),
        )
        self._add(notification_block(insert, self._notifier.topic))

    def _add(self, block: Block) -> None:
        self.inserts.append(block.insert)
        self._blocks[block.insert.at] = block


def chunk_block(insert: Insert, read: ChunkRows, image: TransactionImage = no_image) -> Block:
    """Return the `r` records of a chunk."""
    rows = _rows(insert, len(read))
    rows["new"] = read.offsets[:-1]
    rows["size"] = np.diff(read.offsets)
    rows["hash"] = read.hashes
    rows["operation"] = ord("r")
    rows["marker"] = MARKERS.index("incremental")
    transaction = image(*insert.at[:2])
    return Block(insert, read.facts.as_incremental(), rows, read.images, transaction)


def notification_block(insert: Insert, topic: str) -> Block:
    """Return the record of a notification."""
    notification = insert.notification
    assert notification is not None
    data = json.dumps(notification["additional_data"], ensure_ascii=False)
    texts = [notification[name] for name in ("id", "type", "aggregate_type")]
    image = make_image([*texts, data, str(notification["timestamp"])])
    rows = _rows(insert, 1)
    rows["size"] = len(image)
    rows["hash"] = np.int64(topic_hash(topic)).view(np.uint64)
    # Debezium's notifications have no operation; any number except 0 marks it as no tombstone.
    rows["operation"] = ord("n")
    return Block(insert, NotificationFacts(topic), rows, np.frombuffer(image, np.uint8))


def _rows(insert: Insert, count: int) -> np.ndarray:
    position, kind, ordinal, part = insert.at
    rows = np.zeros(count, ROW)
    put_place(rows, position)
    rows["kind"], rows["ordinal"] = kind, ordinal
    # Rows beyond the reserved parts share the last one: their keys differ.
    last = count if insert.parts is None else insert.parts
    rows["part"] = part + np.minimum(np.arange(count), last - 1)
    rows["place"] = insert.shown
    return rows


def transaction_of(insert: Insert) -> np.ndarray:
    """Return the transaction entry of the insert's rows."""
    entry = np.zeros(1, TRANSACTION)
    entry["xid"] = NULL
    entry["commit_us"] = insert.time_us
    entry["commit_ms"] = insert.time_us // 1000
    entry["commit_ns"] = insert.time_us * 1000
    entry["last_commit"] = NULL if insert.last_commit is None else low_half(insert.last_commit)
    entry["position"] = low_half(insert.at[0])
    return entry


def merge(
    rows: np.ndarray,
    transactions: np.ndarray,
    relations: dict[int, Facts],
    blocks: Sequence[Block],
    places: Sequence[int],
    segment: Segment,
) -> tuple[np.ndarray, np.ndarray, dict[int, Facts]]:
    """Return the log's rows with the blocks, in order, before the rows at `places`; their images go
    to `segment`. Relations get new numbers."""
    used, numbers = np.unique(rows["relation"], return_inverse=True)
    rows["relation"] = numbers
    facts = [relations[int(index)] for index in used]
    entries = [transactions]
    parts: list[np.ndarray] = []
    copied = written = 0
    for number, (block, place) in enumerate(zip(blocks, places, strict=True)):
        parts.append(rows[copied:place])
        copied = place
        if block.facts not in facts:
            facts.append(block.facts)
        inserted = block.rows.copy()
        inserted["new"] += segment.start + written
        inserted["relation"] = facts.index(block.facts)
        inserted["transaction"] = len(transactions) + number
        entry = transaction_of(block.insert)
        for images in (block.images, np.frombuffer(block.transaction, np.uint8)):
            segment.array[written : written + len(images)] = images
            written += len(images)
        if block.transaction:
            size = len(block.transaction)
            entry["image"], entry["size"] = segment.start + written - size, size
        entries.append(entry)
        parts.append(inserted)
    parts.append(rows[copied:])
    return np.concatenate(parts), np.concatenate(entries), dict(enumerate(facts))


def insert_blocks(range_rows: RangeRows, blocks: Sequence[Block], beside: Segment) -> None:
    """Put blocks of records between the log's rows of a range; their images go to the segment
    `beside`."""
    places = places_of(range_rows.rows, blocks)
    range_rows.rows, range_rows.transactions, range_rows.relations = merge(
        range_rows.rows, range_rows.transactions, range_rows.relations, blocks, places, beside
    )
    if range_rows.orders is not None:
        range_rows.orders = merge_orders(range_rows.orders, blocks, places)
    range_rows.segments.append(beside)
    range_rows.plan = None  # it has only the log's rows


def places_of(rows: np.ndarray, blocks: Sequence[Block]) -> list[int]:
    """Return how many of the log's rows come before each block."""
    return [_rows_before(rows, block.insert) for block in blocks]


def merge_orders(orders: np.ndarray, blocks: Sequence[Block], places: Sequence[int]) -> np.ndarray:
    """Return the orders of the log's rows, with zeros for the rows of blocks, which are not
    counted."""
    parts: list[np.ndarray] = []
    copied = 0
    for block, place in zip(blocks, places, strict=True):
        parts += [orders[copied:place], np.zeros(len(block.rows), orders.dtype)]
        copied = place
    return np.concatenate([*parts, orders[copied:]])


def _rows_before(rows: np.ndarray, insert: Insert) -> int:
    if len(rows) == 0:
        return 0
    position, *place = insert.at
    before = are_before(rows, position)
    same = are_before(rows, position + 1) & ~before
    for name, value in zip(("kind", "ordinal", "part"), place, strict=True):
        before |= same & (rows[name] < value)
        same &= rows[name] == value
    return int(np.count_nonzero(before))
