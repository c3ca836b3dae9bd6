"""Counts of a transaction's events, and the images of ENDs with these counts."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.images import CELL_HEAD_BYTES, put_head, put_text_head
from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.memory import (
    copy,
    load8,
    load32_signed,
    load64,
    store8,
    store64,
)
from headrace.connect.kernels.text import put_int
from headrace.connect.rows import BEGIN, ENDING, ORDER, ROW, offset_in_row

_ROW_SIZE = ROW.itemsize
_OPERATION, _KIND = offset_in_row("operation"), offset_in_row("kind")
_RELATION, _NEW, _SIZE = offset_in_row("relation"), offset_in_row("new"), offset_in_row("size")

# Words of a counter's state.
TOTAL, TOUCHED, SERIAL, USED, WORDS = range(5)

# A collection: six int64.
_HASH, _COUNTED_IN, _COUNT, _TEXT, _LENGTH, COLLECTION_WORDS = 0, 1, 2, 3, 4, 6
_COLLECTION_SIZE = 8 * COLLECTION_WORDS

_LARGEST_NUMBER = 32
_TRANSACTION = 2  # kind of a row

assert ORDER.itemsize == 16


@entry
def count_rows(
    rows, first, last, orders, numbers, collections, touched, buckets, counts, room, state
):
    """Count rows [first, last); return how many are done (`room` int64 of `counts` may not be
    enough) and keep the state for the next call in `state`.

    `numbers` (int64) is the collection of each relation, -1 if it does not count. An END's counts
    are one int64, the number of pairs, and pairs of collection and count, in the order of
    java.util.HashMap.
    """
    total = state[TOTAL]
    touched_count = state[TOUCHED]
    serial = state[SERIAL]
    used = state[USED]
    counted = first
    for i in range(first, last):
        row = rows + _ROW_SIZE * i
        order = orders + 16 * i
        operation = load8(row + _OPERATION)
        store64(order, 0)
        store64(order + 8, 0)
        if load8(row + _KIND) != _TRANSACTION or operation == 0:
            counted += 1
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
            number = numbers[load32_signed(row + _RELATION)]
            if number < 0:
                counted += 1
                continue
            collection = collections + _COLLECTION_SIZE * number
            if collection[_COUNTED_IN] != serial:
                collection[_COUNTED_IN] = serial
                collection[_COUNT] = 0
                touched[touched_count] = number
                touched_count += 1
            total += 1
            count = collection[_COUNT] + 1
            collection[_COUNT] = count
            store64(order, total)
            store64(order + 8, count)
        counted += 1
    state[TOTAL] = total
    state[TOUCHED] = touched_count
    state[SERIAL] = serial
    state[USED] = used
    return counted


@part
def _list(collections, touched, count, buckets, out):
    """Write the counts of the touched collections, by bucket of the hash table that Java would
    have."""
    size = np.int64(16)
    while 4 * count > 3 * size:
        size *= 2
    for i in range(size + 1):
        buckets[i] = 0
    for i in range(count):
        collection = collections + _COLLECTION_SIZE * touched[i]
        bucket = buckets + 8 * ((load64(collection) & (size - 1)) + 1)
        store64(bucket, load64(bucket) + 1)
    for i in range(size):
        bucket = buckets + 8 * i
        store64(bucket + 8, load64(bucket + 8) + load64(bucket))
    store64(out, count)
    for i in range(count):
        number = touched[i]
        collection = collections + _COLLECTION_SIZE * number
        bucket = buckets + 8 * (load64(collection) & (size - 1))
        place = load64(bucket)
        store64(bucket, place + 1)
        store64(out + 8 + 16 * place, number)
        store64(out + 16 + 16 * place, collection[_COUNT])


@entry
def endings_size(rows, count, orders, counts, collections):
    """Return the bytes that the images of the ENDs among the rows may take."""
    size = np.int64(0)
    for i in range(count):
        if load8(rows + _ROW_SIZE * i + _OPERATION) == ENDING:
            at = counts + 8 * load64(orders + 16 * i + 8)
            size += _LARGEST_NUMBER
            for pair in range(load64(at)):
                collection = collections + _COLLECTION_SIZE * load64(at + 8 + 16 * pair)
                size += collection[_LENGTH] + _LARGEST_NUMBER
    return size


@entry
def write_endings(rows, count, orders, counts, collections, memory, virtual, used):
    """Give each END among the rows its image: one cell, the counts as JSON; return the bytes used
    then."""
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
            text = collection[_TEXT]
            out = copy(text, collection[_LENGTH], out)
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
