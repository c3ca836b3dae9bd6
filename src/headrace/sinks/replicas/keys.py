"""Keys of rows in columns: their buckets, their numbers, and the rows with a key of a set.

Keys are equal if all their columns are: null equals null, 0.0 equals -0.0, and NaN equals NaN.
Nothing here relies on a hash alone, except buckets.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from numpy.typing import NDArray

BUCKETS = 16
"""The number of buckets: large parts are divided by a hash of the key, with one or more record
batches for each bucket."""
ABSENT = -1
_WIDEST_SPAN = 1 << 26
"""The range of integers up to which each of them has a flag of its own."""
_FLAGS_PER_KEY, _MIN_BITS, _MAX_BITS = 16, 12, 23
"""The number of flags for each key whose range is wider, so that few other integers share one, and
the least and greatest number of bits of a flag's place."""
_BLOCK = 1 << 15
"""Rows that are looked up at a time, so that their numbers stay in the processor's cache."""
_WORDS = 8
"""The number of 8-byte words, from each end of a text, that determine its bucket."""
_NULL = np.uint64(0x9E3779B97F4A7C15)
"""The word of a null."""
_GOLDEN = _NULL
"""The multiplier and addend that spread words: 2^64 divided by the golden ratio."""


def plain_keys(keys: pa.Table) -> pa.Table:
    """Normalize key columns so that equal keys have the same bytes: large texts and binaries,
    floats without negative zero and with one NaN."""
    return pa.table(
        [_plain(column) for column in keys.columns],
        schema=pa.schema([(field.name, _plain_type(field.type)) for field in keys.schema]),
    )


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string(kind) or pa.types.is_string_view(kind):
        return pa.large_string()
    if (
        pa.types.is_binary(kind)
        or pa.types.is_binary_view(kind)
        or pa.types.is_fixed_size_binary(kind)
    ):
        return pa.large_binary()
    return kind


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Normalize a column for `plain_keys`."""
    kind = _plain_type(column.type)
    if kind != column.type:
        if pa.types.is_fixed_size_binary(column.type):
            column = column.cast(pa.binary(column.type.byte_width))
        column = column.cast(kind)
    if pa.types.is_floating(kind):
        column = pc.add(column, pa.scalar(0.0, kind))
        column = pc.if_else(pc.is_nan(column), pa.scalar(np.nan, kind), column)
    return column


def bucket_of(keys: pa.Table, buckets: int = BUCKETS) -> NDArray[np.uint16]:
    """Return the bucket of each key: the same for equal keys in any batch and process. Integers of
    all widths have the same buckets, and so do texts and binaries of all forms, floats of all
    widths and decimals of the same scale.

    Raises HeadraceError("replicas.key_not_supported") for columns of nested types.
    """
    hashes = np.zeros(keys.num_rows, np.uint64)
    for name, column in zip(keys.column_names, plain_keys(keys).columns, strict=True):
        array = _one_array(column)
        values = _hashes(array, name)
        if array.null_count:
            values[array.is_null().to_numpy(zero_copy_only=False)] = _NULL
        hashes = mixed(hashes ^ values)
    return ((hashes >> np.uint64(32)) % np.uint64(buckets)).astype(np.uint16)


@dataclass(frozen=True)
class SomeKeys:
    """Keys that are folded together: those of some buckets, and of these one share of `shares` if a
    bucket has too many for one fold."""

    buckets: frozenset[int]
    share: int = 0
    shares: int = 1

    def mask(self, keys: pa.Table) -> NDArray[np.bool_]:
        """Return a mask of the keys that are among these. Raises as `bucket_of`."""
        # The remainder of a finer bucket by BUCKETS is its bucket.
        finer = bucket_of(keys, BUCKETS * self.shares)
        chosen = np.isin(finer % BUCKETS, list(self.buckets))
        chosen &= finer // BUCKETS == self.share
        return chosen


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks()
    return array if isinstance(array, pa.Array) else array.chunk(0)


def mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix each word so that every bit affects every other: the last step of SplitMix64."""
    words = words + _GOLDEN
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _hashes(array: pa.Array, name: str) -> NDArray[np.uint64]:
    kind = array.type
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        return _hashes_of_bytes(array)
    hashes = hashes_of_numbers(array)
    if hashes is None:
        raise HeadraceError(
            "replicas.key_not_supported",
            f"The column {name} is part of a key and has the type {kind}, which no key can have",
            "Choose other columns by message.key.columns.",
        )
    return hashes


def hashes_of_numbers(array: pa.Array) -> NDArray[np.uint64] | None:
    """Return a hash of all bits of each value of a type of fixed width, with one NaN and undefined
    hashes for nulls. None: it is another type."""
    kind = array.type
    if pa.types.is_decimal(kind):
        wide = array.cast(pa.decimal128(38, kind.scale)).fill_null(0)
        words = np.frombuffer(wide.buffers()[1], np.uint64)
        words = words[2 * wide.offset : 2 * (wide.offset + len(wide))].reshape(-1, 2)
        return mixed(mixed(words[:, 0]) ^ words[:, 1])
    if pa.types.is_floating(kind):
        numbers = array.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        numbers = np.where(np.isnan(numbers), np.nan, numbers)
        return mixed(np.ascontiguousarray(numbers).view(np.uint64))
    if pa.types.is_null(kind):
        return np.full(len(array), _NULL)
    whole = _whole_numbers(array)
    return None if whole is None else mixed(whole.view(np.uint64))


def _whole_numbers(array: pa.Array) -> NDArray[np.int64] | None:
    """Return the values of a type that 64-bit integers represent, 0 for null; None: it is
    another."""
    kind = array.type
    if pa.types.is_boolean(kind):
        array = array.cast(pa.int8())
    elif pa.types.is_date32(kind) or pa.types.is_time32(kind):
        array = array.cast(pa.int32())
    elif pa.types.is_timestamp(kind) or pa.types.is_time64(kind) or pa.types.is_date64(kind):
        array = array.cast(pa.int64())
    elif not pa.types.is_integer(kind):
        return None
    numbers = array.fill_null(0).to_numpy(zero_copy_only=False)
    return np.ascontiguousarray(numbers.astype(np.int64, copy=False))


def _hashes_of_bytes(array: pa.Array) -> NDArray[np.uint64]:
    """Return a hash of the length and the first and last bytes of each value."""
    count = len(array)
    offsets = np.frombuffer(array.buffers()[1], np.int64)[array.offset : array.offset + count + 1]
    starts, lengths = offsets[:-1], np.diff(offsets)
    hashes = mixed(lengths.astype(np.uint64))
    if not count or not lengths.any():
        return hashes
    first, last = int(offsets[0]), int(offsets[-1])
    content = np.zeros(last - first + 8, np.uint8)
    content[:-8] = np.frombuffer(array.buffers()[2], np.uint8)[first:last]
    words = np.ndarray((last - first + 1,), "<u8", content, strides=(1,))
    for number in range(_WORDS):
        more = np.flatnonzero(lengths > 8 * number)
        if not len(more):
            return hashes
        left = np.minimum(lengths[more] - 8 * number, 8).astype(np.uint64)
        unused = (np.uint64(8) - left) * np.uint64(8)
        word = (words[starts[more] - first + 8 * number] << unused) >> unused
        hashes[more] = mixed(hashes[more] ^ word)
    long = np.flatnonzero(lengths > 8 * _WORDS)
    for number in range(_WORDS if len(long) else 0):
        ends = starts[long] + lengths[long] - first
        hashes[long] = mixed(hashes[long] ^ words[ends - 8 * (number + 1)])
    return hashes


class KeySet:
    """The distinct keys of a table of key columns, each with its number: its place in `keys`.

    Methods take the `columns` of other rows, in the order of the key. They may have narrower types
    than the key, and are cast to its own.
    """

    def __init__(self, keys: pa.Table) -> None:
        self.numbers: NDArray[np.int64]
        """The number of the key of each row of the table from which the set was made."""
        plain = plain_keys(keys)
        self._types = keys.schema.types
        self._values: list[pa.Array] = []
        self._pairs: list[pa.Array] = []
        numbers: NDArray[np.int64] | None = None
        for column in plain.columns:
            encoded = _one_array(column).dictionary_encode(null_encoding="encode")
            codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
            self._values.append(encoded.dictionary)
            if numbers is None:
                numbers = codes
                continue
            pairs = pa.array(numbers * max(len(encoded.dictionary), 1) + codes)
            encoded = pairs.dictionary_encode()
            self._pairs.append(encoded.dictionary)
            numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        assert numbers is not None, "a key has a column"
        self.numbers = numbers
        self._keys = keys
        self._in_order: dict[int, pa.Array | None] = {}
        self._flags = self._flags_of_integers()

    def __len__(self) -> int:
        return len(self._pairs[-1] if self._pairs else self._values[0])

    @property
    def keys(self) -> pa.Table:
        """The distinct keys in the order of their numbers."""
        return self._keys.take(self.first_rows())

    def first_rows(self) -> NDArray[np.int64]:
        """Return the first row of each key in the table from which the set was made."""
        rows = np.empty(len(self), np.int64)
        rows[self.numbers[::-1]] = np.arange(len(self.numbers) - 1, -1, -1)
        return rows

    def may_have(self, place: int, bounds: tuple[object, object] | None) -> bool:
        """Return whether a key may have a value between these bounds in the column at a place; true
        if the bounds are not known, or have another type than the values."""
        if not len(self):
            return False
        if bounds is None:
            return True
        ordered = self._ordered(place)
        if ordered is None or not all(type(bound) is type(ordered[0].as_py()) for bound in bounds):
            return True
        least: Any = bounds[0]
        greatest: Any = bounds[1]
        first = bisect_left(range(len(ordered)), least, key=lambda at: ordered[at].as_py())
        return first < len(ordered) and bool(ordered[first].as_py() <= greatest)

    def _ordered(self, place: int) -> pa.Array | None:
        """Return the values of a column in ascending order; None: some are null, it has no values,
        or statistics of files may have another order."""
        if place not in self._in_order:
            values = self._values[place]
            usable = len(values) and not values.null_count and _has_one_order(values.type)
            self._in_order[place] = values.take(pc.array_sort_indices(values)) if usable else None
        return self._in_order[place]

    def mask(self, columns: Sequence[pa.ChunkedArray]) -> NDArray[np.bool_]:
        """Return whether each row has a key of the set."""
        if self._flags is not None and self._flags.is_exact:
            return self._flags.mask(columns[0])
        mask = np.zeros(len(columns[0]), np.bool_)
        mask[self.find(columns)[0]] = True
        return mask

    def find(
        self, columns: Sequence[pa.ChunkedArray]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows that have a key of the set, in their order, and the numbers of their
        keys."""
        if self._flags is None:
            numbers = self.numbers_of(columns)
            rows = np.flatnonzero(numbers != ABSENT)
            return rows, numbers[rows]
        rows = np.flatnonzero(self._flags.mask(columns[0]))
        numbers = self.numbers_of([column.take(pa.array(rows)) for column in columns])
        if self._flags.is_exact:
            return rows, numbers
        is_in_set = numbers != ABSENT
        return rows[is_in_set], numbers[is_in_set]

    def numbers_of(self, columns: Sequence[pa.ChunkedArray]) -> NDArray[np.int64]:
        """Return the number of the key of each row; ABSENT: it is not in the set."""
        count = len(columns[0])
        numbers_of_rows = np.full(count, ABSENT, np.int64)
        rows: NDArray[np.int64] | None = None
        numbers = np.zeros(0, np.int64)
        for place, whole in enumerate(columns):
            column = whole if rows is None else whole.take(pa.array(rows))
            codes = self._codes(self._cast(column, place), self._values[place])
            if rows is not None:
                known = np.flatnonzero(codes != ABSENT)
                values = max(len(self._values[place]), 1)
                pairs = pa.array(numbers[known] * values + codes[known])
                codes[known] = self._codes(pairs, self._pairs[place - 1])
            in_set = np.flatnonzero(codes != ABSENT)
            numbers = codes[in_set]
            rows = in_set if rows is None else rows[in_set]
        assert rows is not None
        numbers_of_rows[rows] = numbers
        return numbers_of_rows

    def _cast(self, column: pa.ChunkedArray, place: int) -> pa.ChunkedArray:
        if column.type != self._types[place]:
            column = column.cast(self._types[place])
        return _plain(column)

    @staticmethod
    def _codes(column: pa.Array | pa.ChunkedArray, values: pa.Array) -> NDArray[np.int64]:
        indices = pc.index_in(column, value_set=values).fill_null(ABSENT)
        if isinstance(indices, pa.ChunkedArray):
            indices = _one_array(indices)
        codes: NDArray[np.int64] = indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return codes

    def _flags_of_integers(self) -> _Flags | None:
        """Return the flags of the keys; None: they are no integers."""
        (kind, *more) = self._types
        values = self._values[0]
        if more or not pa.types.is_signed_integer(kind) or values.null_count or not len(values):
            return None
        return _Flags(np.asarray(values.to_numpy(), np.int64))


class _Flags:
    """A flag for each integer, which says whether it is in a set: the flag at its distance from the
    least one, or, if their range is too wide for that (not `is_exact`), at a hash of the integer,
    so that other integers have the flag, too."""

    def __init__(self, numbers: NDArray[np.int64]) -> None:
        self._least = int(numbers.min())
        span = int(numbers.max()) - self._least + 1
        self.is_exact = span <= _WIDEST_SPAN
        bits = min(max((_FLAGS_PER_KEY * len(numbers)).bit_length(), _MIN_BITS), _MAX_BITS)
        self._shift = np.uint64(64 - bits)
        # One more at the end, at which integers outside the range are looked up.
        self._flags = np.zeros(span + 1 if self.is_exact else 1 << bits, np.bool_)
        for start in range(0, len(numbers), _BLOCK):
            self._flags[self._places(numbers[start : start + _BLOCK])] = True

    def mask(self, column: pa.ChunkedArray) -> NDArray[np.bool_]:
        """Return whether the integer of each row has the flag; a null has none."""
        return _concatenated([self._mask(chunk) for chunk in column.chunks])

    def _mask(self, chunk: pa.Array) -> NDArray[np.bool_]:
        valid = chunk.fill_null(0) if chunk.null_count else chunk
        numbers = valid.to_numpy(zero_copy_only=False)
        mask = np.empty(len(numbers), np.bool_)
        for start in range(0, len(numbers), _BLOCK):
            places = self._places(numbers[start : start + _BLOCK])
            self._flags.take(places, out=mask[start : start + _BLOCK], mode="clip")
        if chunk.null_count:
            mask &= chunk.is_valid().to_numpy(zero_copy_only=False)
        return mask

    def _places(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        block = numbers.astype(np.int64)
        words = block.view(np.uint64)
        if not self.is_exact:
            words *= _GOLDEN
            words >>= self._shift
            return block
        # Values below the least key wrap around and become greater than all others.
        with np.errstate(over="ignore"):
            block -= self._least
        np.minimum(words, np.uint64(len(self._flags) - 1), out=words)
        return block


def _has_one_order(kind: pa.DataType) -> bool:
    """Return whether the order of a type's values is that of Python."""
    types = pa.types
    of_bytes = types.is_large_string(kind) or types.is_large_binary(kind)
    return bool(of_bytes or types.is_signed_integer(kind) or types.is_boolean(kind))


def _concatenated(arrays: Sequence[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    return np.concatenate(arrays) if arrays else np.zeros(0, np.bool_)
