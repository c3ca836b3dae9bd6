"""Counts a transaction's events while they are received: the order of each in its transaction and
in its table, and at the end the counts by table.

A transaction is received from its beginning, also after a restart in its middle, so no count has to
be stored between two runs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from headrace.connect.json_values import quote
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.debezium.java_collections import java_hash
from headrace.spool.index import SegmentIndex
from headrace.streaming.kernels.count_kernel import (
    COLLECTION_WORDS,
    SERIAL,
    USED,
    WORDS,
    count_rows,
    endings_size,
    write_endings,
)


class TransactionCounts:
    """The counters of one stream. One thread counts; another may write the images of ENDs
    meanwhile. Records of no collection (schema changes) and of collections that are `left_out` do
    not count."""

    def __init__(self, left_out: Collection[str] = ()) -> None:
        self._left_out = left_out
        self._numbers = np.zeros(0, np.int64)
        self._names: dict[str, int] = {}
        self._collections = np.zeros((16, COLLECTION_WORDS), np.int64)
        self._texts: list[np.ndarray] = []
        self._touched = np.zeros(16, np.int64)
        self._buckets = np.zeros(64, np.int64)
        self._state = np.zeros(WORDS, np.int64)
        self._state[SERIAL] = 1
        self._load()

    def _load(self) -> None:
        """Compile or load the kernels now: an open stream must answer in time."""
        at = address_of(self._state)
        count_rows(at, 0, 0, at, at, at, at, at, at, 0, at)
        endings_size(at, 0, at, at, at)
        write_endings(at, 0, at, at, at, at, 0, 0)

    def know(self, names: Sequence[str]) -> None:
        """Add the data collections of new relation versions; `names` has one per version."""
        if len(names) == len(self._numbers):
            return
        new = [self._number(name) for name in names[len(self._numbers) :]]
        self._numbers = np.append(self._numbers, np.array(new, np.int64))

    def _number(self, name: str) -> int:
        if not name or name in self._left_out:
            return -1
        number = self._names.get(name)
        if number is not None:
            return number
        number = self._names[name] = len(self._names)
        if number == len(self._collections):
            larger = np.zeros((2 * number, COLLECTION_WORDS), np.int64)
            larger[:number] = self._collections
            self._collections = larger
            touched = np.zeros(2 * number, np.int64)
            touched[:number] = self._touched
            self._touched = touched
            # The hash table has less than 8/3 of the collections, and at least 16, buckets.
            self._buckets = np.zeros(6 * number + 32, np.int64)
        text = f'{{"data_collection":{quote(name)},"event_count":'.encode("utf-8", "replace")
        memory = np.frombuffer(text + bytes(PADDING), np.uint8)
        self._texts.append(memory)
        self._collections[number] = (java_hash(name), 0, 0, address_of(memory), len(text), 0)
        return number

    def count(self, index: SegmentIndex, first: int, last: int) -> None:
        """Count rows [first, last) of a segment into its `orders` and `counts`."""
        index.grow_orders()
        self._state[USED] = index.count_words
        while first < last:
            first = count_rows(
                address_of(index.rows),
                first,
                last,
                address_of(index.orders),
                address_of(self._numbers),
                address_of(self._collections),
                address_of(self._touched),
                address_of(self._buckets),
                address_of(index.counts),
                len(index.counts),
                address_of(self._state),
            )
            index.count_words = int(self._state[USED])
            if first < last:
                index.grow_counts(2 * len(self._names) + 1)

    def endings_size(self, index: SegmentIndex, rows: np.ndarray, orders: np.ndarray) -> int:
        """Return the bytes that the images of the ENDs among `rows` may take."""
        counts, collections = index.counts, self._collections  # the other thread replaces them
        size = endings_size(
            address_of(rows),
            len(rows),
            address_of(orders),
            address_of(counts),
            address_of(collections),
        )
        return int(size)

    def write_endings(
        self,
        index: SegmentIndex,
        rows: np.ndarray,
        orders: np.ndarray,
        memory: np.ndarray,
        virtual: int,
        used: int,
    ) -> int:
        """Write the images of the ENDs among `rows` (a copy of rows of `index`) to `memory` from
        `used` on; return the bytes used then."""
        counts, collections = index.counts, self._collections  # the other thread replaces them
        used = write_endings(
            address_of(rows),
            len(rows),
            address_of(orders),
            address_of(counts),
            address_of(collections),
            address_of(memory),
            virtual,
            used,
        )
        return int(used)
