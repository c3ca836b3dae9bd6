"""Digests of rows: 64 bits that are the same for equal rows, in any batch and process.

Digests are made from the values in the types of the replica, so nothing is compared as text: a
decimal by its digits and scale, an instant by its microseconds. A null differs from every value of
its type. NaN equals NaN, and 0.0 does not equal -0.0. The order of the elements of lists and maps
counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from headrace.errors import HeadraceError
from headrace.sinks.replicas.keys import hashes_of_numbers, mixed, plain_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NULL, _EMPTY = np.uint64(0xA0761D6478BD642F), np.uint64(0xE7037ED1A0B428DB)
_BLOCK_WORDS = 1 << 20
"""The number of 8-byte words that are in memory at a time."""


def row_digests(rows: pa.Table, columns: Sequence[str]) -> NDArray[np.uint64]:
    """Return a digest of these columns, in their order, for each row. Raises
    HeadraceError("replicas.type_not_compared") for a type that no replica has."""
    digests = np.zeros(rows.num_rows, np.uint64)
    for name in columns:
        digests = mixed(digests ^ _digests(_one_array(rows[name]), name))
    return digests


def key_digests(rows: pa.Table, key: Sequence[str]) -> NDArray[np.uint64]:
    """Return a digest of the key of each row; equal keys have equal digests, even 0.0 and -0.0.
    Raises as `row_digests`."""
    return row_digests(plain_keys(rows.select(key)), key)


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks()
    if isinstance(array, pa.Array):
        return array
    return array.chunk(0) if array.num_chunks else pa.array([], array.type)


def _digests(array: pa.Array, name: str) -> NDArray[np.uint64]:
    """Return a digest of each value."""
    digests = _digests_of_values(array, name)
    if array.null_count:
        digests[array.is_null().to_numpy(zero_copy_only=False)] = _NULL
    return digests


def _digests_of_values(array: pa.Array, name: str) -> NDArray[np.uint64]:
    """Return a digest of each value, undefined for nulls."""
    kind, types = array.type, pa.types
    if types.is_string(kind):
        array = array.cast(pa.large_string())
    elif types.is_binary(kind) or types.is_fixed_size_binary(kind):
        array = array.cast(pa.binary()).cast(pa.large_binary())
    elif types.is_list(kind):
        array = array.cast(pa.large_list(kind.value_type))
    kind = array.type
    if types.is_large_string(kind) or types.is_large_binary(kind):
        return _digests_of_bytes(array)
    if types.is_large_list(kind) or types.is_map(kind):
        return _digests_of_lists(array, name)
    if types.is_struct(kind):
        members = np.full(len(array), _EMPTY)
        for number in range(kind.num_fields):
            members = mixed(members ^ _digests(array.field(number), name))
        return members
    digests = hashes_of_numbers(array)
    if digests is None:
        raise HeadraceError(
            "replicas.type_not_compared",
            f"The column {name} of the replica has the type {kind}, which cannot be compared",
            "Choose the tables with --table so that its table is left out.",
        )
    return digests


def _digests_of_bytes(array: pa.Array) -> NDArray[np.uint64]:
    """Return digests of all bytes and the length: words of eight bytes, each mixed with its
    place."""
    count = len(array)
    if not count:
        return np.zeros(0, np.uint64)
    offsets = np.frombuffer(array.buffers()[1], np.int64)[array.offset : array.offset + count + 1]
    starts, lengths = offsets[:-1], np.diff(offsets)
    digests = mixed(lengths.astype(np.uint64) ^ _EMPTY)
    content = array.buffers()[2]
    first, last = int(offsets[0]), int(offsets[-1])
    if content is None or first == last:
        return mixed(digests)
    padded = np.zeros(last - first + 8, np.uint8)
    padded[:-8] = np.frombuffer(content, np.uint8)[first:last]
    unaligned = np.ndarray((last - first + 1,), "<u8", padded, strides=(1,))
    words = (lengths + 7) // 8
    ends = np.cumsum(words)
    digested = 0
    while digested < count:
        # At least one value, and as many more as fit.
        before = int(ends[digested - 1]) if digested else 0
        until = max(int(np.searchsorted(ends, before + _BLOCK_WORDS, "right")), digested + 1)
        block = slice(digested, until)
        sums = _sums(unaligned, starts[block] - first, lengths[block], words[block])
        digests[block] = mixed(digests[block] ^ sums)
        digested = until
    return digests


def _sums(
    unaligned: NDArray[np.uint64],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    words: NDArray[np.int64],
) -> NDArray[np.uint64]:
    """Return the sums of the mixed words of values that begin at `starts`."""
    total = int(words.sum())
    firsts = np.cumsum(words) - words
    places = np.arange(total, dtype=np.int64) - np.repeat(firsts, words)
    words_of_values = unaligned[np.repeat(starts, words) + 8 * places]
    left = np.minimum(np.repeat(lengths, words) - 8 * places, 8).astype(np.uint64)
    unused = (np.uint64(8) - left) * np.uint64(8)
    words_of_values = (words_of_values << unused) >> unused
    return _sums_of_runs(mixed(words_of_values ^ mixed(places.view(np.uint64))), words)


def _sums_of_runs(values: NDArray[np.uint64], counts: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the sum of each run of `counts` values, modulo 2^64."""
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)])
    ends = np.cumsum(counts)
    sums_of_runs: NDArray[np.uint64] = sums[ends] - sums[ends - counts]
    return sums_of_runs


def _digests_of_lists(array: pa.Array, name: str) -> NDArray[np.uint64]:
    """Return digests of the elements, each mixed with its place, and of their number."""
    width = np.int64 if pa.types.is_large_list(array.type) else np.int32
    ends = np.frombuffer(array.buffers()[1], width)[array.offset : array.offset + len(array) + 1]
    offsets = ends.astype(np.int64)
    counts = np.diff(offsets)
    first, last = int(offsets[0]), int(offsets[-1])
    elements = [array.keys, array.items] if pa.types.is_map(array.type) else [array.values]
    of_lists = mixed(counts.astype(np.uint64) ^ _EMPTY)
    places = np.arange(last - first, dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)
    for part in elements:
        digests_of_elements = _digests(part[first:last], name)
        of_lists = mixed(
            of_lists
            ^ _sums_of_runs(mixed(digests_of_elements ^ mixed(places.view(np.uint64))), counts)
        )
    return of_lists
