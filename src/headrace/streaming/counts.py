"""Counts a transaction's events while they are received: the order of each in its transaction and
in its table, and at the end the counts by table.

A transaction is received from its beginning, also after a restart in its middle, so nothing has
to be remembered between two runs.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from headrace.connect.images import CELL_HEAD_BYTES, put_head, put_text_head
from headrace.connect.json_values import quote
from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.memory import (
    PADDING,
    address_of,
    copy,
    load8,
    load32_signed,
    load64,
    store8,
    store64,
)
from headrace.connect.kernels.text import put_int
from headrace.connect.rows import BEGIN, ENDING, ORDER, ROW, offset_in_row
from headrace.debezium.java_collections import java_hash
from headrace.spool.index import SegmentIndex

_ROW_SIZE = ROW.itemsize
_OPERATION, _KIND = offset_in_row("operation"), offset_in_row("kind")
_RELATION, _NEW, _SIZE = offset_in_row("relation"), offset_in_row("new"), offset_in_row("size")

# Words of a counter's state.
_TOTAL, _TOUCHED, _SERIAL, _USED, _WORDS = range(5)

# A collection: six int64.
_HASH, _COUNTED_IN, _COUNT, _TEXT, _LENGTH, _COLLECTION_WORDS = 0, 1, 2, 3, 4, 6
_COLLECTION_SIZE = 8 * _COLLECTION_WORDS

_LARGEST_NUMBER = 32
_TRANSACTION = 2  # kind of a row


@entry
def count_rows(
    rows, first, last, orders, numbers, collections, touched, buckets, counts, room, state
):
    """Count rows [first, last); returns how many are done (`room` int64 of `counts` may not be
    enough) and leaves in `state` what the next call needs.

    `numbers` (int64) is the collection of each relation, -1 where it does not count. An END's
    counts are one int64, how many pairs, and pairs of collection and count, in the order of
    java.util.HashMap.
    """
    total = load64(state + 8 * _TOTAL)
    touched_count = load64(state + 8 * _TOUCHED)
    serial = load64(state + 8 * _SERIAL)
    used = load64(state + 8 * _USED)
    done = first
    for i in range(first, last):
        row = rows + _ROW_SIZE * i
        order = orders + 16 * i
        operation = load8(row + _OPERATION)
        store64(order, 0)
        store64(order + 8, 0)
        if load8(row + _KIND) != _TRANSACTION or operation == 0:
            done += 1
            continue
        if operation == BEGIN:
            total = np.int64(0)
            touched_count = np.int64(0)
            serial += 1
        elif operation == ENDING:
            if used + 1 + 2 * touched_count > room:
                break
            store64(order, total)
            store64(order + 8, used)
            _list(collections, touched, touched_count, buckets, counts + 8 * used)
            used += 1 + 2 * touched_count
        else:
            number = load64(numbers + 8 * load32_signed(row + _RELATION))
            if number < 0:
                done += 1
                continue
            collection = collections + _COLLECTION_SIZE * number
            if load64(collection + 8 * _COUNTED_IN) != serial:
                store64(collection + 8 * _COUNTED_IN, serial)
                store64(collection + 8 * _COUNT, 0)
                store64(touched + 8 * touched_count, number)
                touched_count += 1
            total += 1
            count = load64(collection + 8 * _COUNT) + 1
            store64(collection + 8 * _COUNT, count)
            store64(order, total)
            store64(order + 8, count)
        done += 1
    store64(state + 8 * _TOTAL, total)
    store64(state + 8 * _TOUCHED, touched_count)
    store64(state + 8 * _SERIAL, serial)
    store64(state + 8 * _USED, used)
    return done


@part
def _list(collections, touched, count, buckets, out):
    """The counts of the touched collections, by bucket of the hash table that Java would have."""
    size = np.int64(16)
    while 4 * count > 3 * size:
        size *= 2
    for i in range(size + 1):
        store64(buckets + 8 * i, 0)
    for i in range(count):
        collection = collections + _COLLECTION_SIZE * load64(touched + 8 * i)
        bucket = buckets + 8 * ((load64(collection) & (size - 1)) + 1)
        store64(bucket, load64(bucket) + 1)
    for i in range(size):
        bucket = buckets + 8 * i
        store64(bucket + 8, load64(bucket + 8) + load64(bucket))
    store64(out, count)
    for i in range(count):
        number = load64(touched + 8 * i)
        collection = collections + _COLLECTION_SIZE * number
        bucket = buckets + 8 * (load64(collection) & (size - 1))
        place = load64(bucket)
        store64(bucket, place + 1)
        store64(out + 8 + 16 * place, number)
        store64(out + 16 + 16 * place, load64(collection + 8 * _COUNT))


@entry
def endings_size(rows, count, orders, counts, collections):
    """Bytes that the images of the ENDs among the rows may take."""
    size = np.int64(0)
    for i in range(count):
        if load8(rows + _ROW_SIZE * i + _OPERATION) == ENDING:
            at = counts + 8 * load64(orders + 16 * i + 8)
            size += _LARGEST_NUMBER
            for pair in range(load64(at)):
                collection = collections + _COLLECTION_SIZE * load64(at + 8 + 16 * pair)
                size += load64(collection + 8 * _LENGTH) + _LARGEST_NUMBER
    return size


@entry
def write_endings(rows, count, orders, counts, collections, memory, virtual, used):
    """Give each END among the rows its image: one cell, the counts as JSON; returns the bytes
    that are used then."""
    for i in range(count):
        row = rows + _ROW_SIZE * i
        if load8(row + _OPERATION) != ENDING:
            continue
        at = counts + 8 * load64(orders + 16 * i + 8)
        start = memory + used
        begin = put_head(start, 1) + CELL_HEAD_BYTES
        out = begin
        store8(out, ord("["))
        out += 1
        for pair in range(load64(at)):
            collection = collections + _COLLECTION_SIZE * load64(at + 8 + 16 * pair)
            if pair:
                store8(out, ord(","))
                out += 1
            text = load64(collection + 8 * _TEXT)
            out = copy(text, load64(collection + 8 * _LENGTH), out)
            out = put_int(load64(at + 16 + 16 * pair), out)
            store8(out, ord("}"))
            out += 1
        store8(out, ord("]"))
        out += 1
        put_text_head(begin - CELL_HEAD_BYTES, out - begin)
        store64(row + _NEW, virtual + used)
        store64(row + _SIZE, out - start)
        used = out - memory
    return used


class TransactionCounts:
    """The counters of one stream. One thread counts; another may write endings meanwhile.
    Records of no collection (schema changes) and collections that are `left_out` do not count."""

    def __init__(self, left_out: Collection[str] = ()) -> None:
        self._left_out = left_out
        self._numbers = np.zeros(0, np.int64)
        self._names: dict[str, int] = {}
        self._collections = np.zeros((16, _COLLECTION_WORDS), np.int64)
        self._texts: list[np.ndarray] = []
        self._touched = np.zeros(16, np.int64)
        self._buckets = np.zeros(64, np.int64)
        self._state = np.zeros(_WORDS, np.int64)
        self._state[_SERIAL] = 1
        self._load()

    def _load(self) -> None:
        """Compile or load the kernels now: a stream that is open must be answered."""
        at = address_of(self._state)
        count_rows(at, 0, 0, at, at, at, at, at, at, 0, at)
        endings_size(at, 0, at, at, at)
        write_endings(at, 0, at, at, at, at, 0, 0)

    def know(self, names: Sequence[str]) -> None:
        """The data collection of each relation version there is."""
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
            larger = np.zeros((2 * number, _COLLECTION_WORDS), np.int64)
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
        self._state[_USED] = index.count_words
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
            index.count_words = int(self._state[_USED])
            if first < last:
                index.grow_counts(2 * len(self._names) + 1)

    def endings_size(self, index: SegmentIndex, rows: np.ndarray, orders: np.ndarray) -> int:
        """Bytes that the images of the ENDs among `rows` may take."""
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
        `used` on; returns the bytes that are used then."""
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


assert ORDER.itemsize == 16
