"""Records between those of the log: rows of incremental chunks, and notifications.

They become rows of the range's row table, with the hash of their key, so that they travel in the
same slices and in the same order as the log's records of that key.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headrace.connect.images import make_image
from headrace.connect.rows import MARKERS, NULL, ROW, TRANSACTION
from headrace.connectors.postgresql.catalog.relations import topic_hash
from headrace.connectors.postgresql.key_columns import KeyRendering
from headrace.signals.progress import Insert
from headrace.spool.segment import Segment
from headrace.streaming.facts import Facts, NotificationFacts
from headrace.streaming.range_rows import RangeRows


@dataclass
class Block:
    """The records of one insert. `rows` refer to relation 0, which is `facts`, and to places in
    `images`."""

    insert: Insert
    facts: Facts
    rows: np.ndarray
    images: np.ndarray


@dataclass
class ChunkRows:
    """Rows as a chunk query gave them: images, offsets (one more than rows), hashes of keys, and
    how keys are rendered. `cut`: the limit of bytes left rows out behind them."""

    facts: Facts
    images: np.ndarray
    offsets: np.ndarray
    hashes: np.ndarray
    rendering: KeyRendering
    cut: bool = False

    def __len__(self) -> int:
        return len(self.hashes)

    def __getitem__(self, kept: np.ndarray) -> ChunkRows:
        """The rows that the mask `kept` has."""
        sizes = np.diff(self.offsets)
        images = self.images[np.repeat(kept, sizes)]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes[kept], dtype=np.int64)])
        return ChunkRows(self.facts, images, offsets, self.hashes[kept], self.rendering)


def chunk_block(insert: Insert, found: ChunkRows) -> Block:
    """The `r` records of a chunk."""
    rows = _rows(insert, len(found))
    rows["new"] = found.offsets[:-1]
    rows["size"] = np.diff(found.offsets)
    rows["hash"] = found.hashes
    rows["operation"] = ord("r")
    rows["marker"] = MARKERS.index("incremental")
    return Block(insert, found.facts.as_incremental(), rows, found.images)


def notification_block(insert: Insert, topic: str) -> Block:
    """The record of a notification."""
    told = insert.notification
    assert told is not None
    more = json.dumps(told["additional_data"], ensure_ascii=False)
    names = ("id", "type", "aggregate_type")
    image = make_image([*(told[name] for name in names), more, str(told["timestamp"])])
    rows = _rows(insert, 1)
    rows["size"] = len(image)
    rows["hash"] = np.int64(topic_hash(topic)).view(np.uint64)
    # Debezium's notifications have no operation; anything but 0 is no tombstone.
    rows["operation"] = ord("n")
    return Block(insert, NotificationFacts(topic), rows, np.frombuffer(image, np.uint8))


def _rows(insert: Insert, count: int) -> np.ndarray:
    position, kind, ordinal, part = insert.at
    rows = np.zeros(count, ROW)
    rows["position"], rows["kind"], rows["ordinal"] = position, kind, ordinal
    rows["part"] = np.arange(part, part + count)
    rows["lsn"] = insert.lsn
    return rows


def transaction_of(insert: Insert) -> np.ndarray:
    """The entry that the insert's rows refer to."""
    entry = np.zeros(1, TRANSACTION)
    entry["xid"] = NULL
    entry["commit_us"] = insert.time_us
    entry["commit_ms"] = insert.time_us // 1000
    entry["commit_ns"] = insert.time_us * 1000
    entry["last_commit"] = NULL if insert.last_commit is None else insert.last_commit
    entry["final_lsn"] = insert.at[0]
    return entry


def merge(
    rows: np.ndarray,
    transactions: np.ndarray,
    relations: dict[int, Facts],
    blocks: Sequence[Block],
    places: Sequence[int],
    segment: Segment,
) -> tuple[np.ndarray, np.ndarray, dict[int, Facts]]:
    """The log's rows with the blocks, in order, before the rows at `places`; their images go to
    `segment`. Relations are numbered anew."""
    used, numbers = np.unique(rows["relation"], return_inverse=True)
    rows["relation"] = numbers
    facts = [relations[int(index)] for index in used]
    entries = [transactions]
    parts: list[np.ndarray] = []
    done = written = 0
    for number, (block, place) in enumerate(zip(blocks, places, strict=True)):
        parts.append(rows[done:place])
        done = place
        if block.facts not in facts:
            facts.append(block.facts)
        mine = block.rows.copy()
        mine["new"] += segment.start + written
        mine["relation"] = facts.index(block.facts)
        mine["transaction"] = len(transactions) + number
        segment.array[written : written + len(block.images)] = block.images
        written += len(block.images)
        entries.append(transaction_of(block.insert))
        parts.append(mine)
    parts.append(rows[done:])
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


def places_of(rows: np.ndarray, blocks: Sequence[Block]) -> list[int]:
    """How many of the log's rows come before each block."""
    return [_rows_before(rows, block.insert) for block in blocks]


def merge_orders(orders: np.ndarray, blocks: Sequence[Block], places: Sequence[int]) -> np.ndarray:
    """The orders of the log's rows, with room for the blocks, whose rows are not counted."""
    parts: list[np.ndarray] = []
    done = 0
    for block, place in zip(blocks, places, strict=True):
        parts += [orders[done:place], np.zeros(len(block.rows), orders.dtype)]
        done = place
    return np.concatenate([*parts, orders[done:]])


def _rows_before(rows: np.ndarray, insert: Insert) -> int:
    before = np.zeros(len(rows), bool)
    same = np.ones(len(rows), bool)
    for name, value in zip(("position", "kind", "ordinal", "part"), insert.at, strict=True):
        before |= same & (rows[name] < value)
        same &= rows[name] == value
    return int(np.count_nonzero(before))
