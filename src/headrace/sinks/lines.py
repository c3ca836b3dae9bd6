"""Converts event columns to JSON lines, in one compiled pass over the Arrow buffers.

A line is `{"topic":…,"key":…,"value":…,"headers":{…}}` and a newline. Keys, values and header
values are JSON text already and are copied unchanged, unless they are plain texts: these become
strings, like topics and names of headers.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,call-arg"

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa

from headrace.connect.kernels.arrow_columns import column_addresses, with_short_offsets
from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.memory import (
    address_of,
    copy16,
    load8,
    load32,
    load64,
    load64_be,
    store8,
    store16,
    store32,
    store64,
)
from headrace.errors import HeadraceError

_PADDING = 64
_LINE_FRAME = 64  # more than the fixed bytes of a line, quotes and separators included
_HEADER_FRAME = 8
_ESCAPED = 6  # the most bytes of one byte inside quotes

# Words of the kernel's argument block (int64). A column takes three: validity, offsets, data.
_TOPIC, _KEY, _VALUE, _SEQUENCE, _NAME, _CONTENT = 0, 3, 6, 9, 12, 15
_LISTS, _LISTS_VALIDITY, _LISTS_SHIFT = 18, 19, 20
_SHIFTS = 21  # six bit shifts into the validity bitmaps, in the order of the columns
_ENDS, _PREVIOUS, _PREVIOUS_LENGTH, _UNSORTED = 27, 28, 29, 30
_TEXTS = 31  # whether a column has plain texts, in the order of the columns
_WORDS = 37

_PREFIX = np.frombuffer(b'{"topic":"' + bytes(16), np.uint8)
_KEY_LABEL = np.frombuffer(b'","key":' + bytes(16), np.uint8)
_VALUE_LABEL = np.frombuffer(b',"value":' + bytes(16), np.uint8)
_HEADERS_LABEL = np.frombuffer(b',"headers":{' + bytes(16), np.uint8)


@part
def _copy(source, length, target):
    """Copy exactly `length` bytes: Arrow guarantees no bytes after a buffer's end."""
    if length >= 16:
        end = length - 16
        for offset in range(0, end, 16):
            copy16(target + offset, source + offset)
        copy16(target + end, source + end)
    else:
        offset = 0
        if length >= 8:
            store64(target, load64(source))
            offset = 8
        if length - offset >= 4:
            store32(target + offset, load32(source + offset))
            offset += 4
        for i in range(offset, length):
            store8(target + i, load8(source + i))
    return target + length


@part
def _quote(source, length, out):
    """Copy text as the inside of a JSON string."""
    for i in range(length):
        byte = load8(source + i)
        if byte >= 32 and byte != 34 and byte != 92:
            store8(out, byte)
            out += 1
        elif byte >= 32:
            store8(out, 92)
            store8(out + 1, byte)
            out += 2
        else:
            store32(out, 0x3030755C)  # \u00
            high, low = byte >> 4, byte & 15
            store8(out + 4, 48 + high)
            store8(out + 5, low + 48 if low < 10 else low + 87)
            out += 6
    return out


@part
def _is_null(block, column, row):
    validity = block[column]
    if validity == 0:
        return False
    bit = row + block[_SHIFTS + column // 3]
    return (load8(validity + (bit >> 3)) >> (bit & 7)) & 1 == 0


@part
def _put_json(block, column, row, out):
    """Write the JSON text of a cell, or its plain text as a string, `null` for a null; -1 for a
    cell that cannot be JSON."""
    if _is_null(block, column, row):
        store32(out, 0x6C6C756E)
        return out + 4
    offsets = block[column + 1]
    start = load32(offsets + 4 * row)
    length = load32(offsets + 4 * row + 4) - start
    source = block[column + 2] + start
    if block[_TEXTS + column // 3] != 0:
        store8(out, 34)
        out = _quote(source, length, out + 1)
        store8(out, 34)
        return out + 1
    if length == 0:
        return -1
    first = load8(source)
    # { [ " - digits, true, false, null
    if not (
        first == 123
        or first == 91
        or first == 34
        or first == 45
        or (first >= 48 and first <= 57)
        or first == 116
        or first == 102
        or first == 110
    ):
        return -1
    return _copy(source, length, out)


@part
def _is_above(previous, previous_length, current, length):
    """Whether `current` sorts after `previous`, both ASCII."""
    shorter = min(previous_length, length)
    i = 0
    while i + 8 <= shorter:
        left, right = load64_be(previous + i), load64_be(current + i)
        if left != right:
            return left < right
        i += 8
    while i < shorter:
        left, right = load8(previous + i), load8(current + i)
        if left != right:
            return left < right
        i += 1
    return previous_length < length


@entry
def _write_lines(block, rows, labels, out):
    """Write all rows; returns the end of the output, or -1 - row for a row that is not JSON."""
    start = out
    topic_offsets, topic_data = load64(block + 8), load64(block + 16)
    sequence_offsets = block[_SEQUENCE + 1]
    sequence_data = block[_SEQUENCE + 2]
    name_offsets = block[_NAME + 1]
    name_data = block[_NAME + 2]
    lists, lists_validity = block[_LISTS], block[_LISTS_VALIDITY]
    lists_shift = block[_LISTS_SHIFT]
    ends = block[_ENDS]
    previous, previous_length = block[_PREVIOUS], block[_PREVIOUS_LENGTH]
    prefix, key_label = load64(labels), load64(labels + 8)
    value_label, headers_label = load64(labels + 16), load64(labels + 24)
    for row in range(rows):
        at = load32(topic_offsets + 4 * row)
        copy16(out, prefix)
        out = _quote(topic_data + at, load32(topic_offsets + 4 * row + 4) - at, out + 10)
        copy16(out, key_label)
        out = _put_json(block, _KEY, row, out + 8)
        if out < 0:
            return -1 - row
        copy16(out, value_label)
        out = _put_json(block, _VALUE, row, out + 9)
        if out < 0:
            return -1 - row
        copy16(out, headers_label)
        out += 12
        bit = row + lists_shift
        if lists != 0 and (
            lists_validity == 0 or (load8(lists_validity + (bit >> 3)) >> (bit & 7)) & 1 == 1
        ):
            first, last = load32(lists + 4 * row), load32(lists + 4 * row + 4)
            for header in range(first, last):
                if header > first:
                    store8(out, 44)
                    out += 1
                store8(out, 34)
                at = load32(name_offsets + 4 * header)
                length = load32(name_offsets + 4 * header + 4) - at
                out = _quote(name_data + at, length, out + 1)
                store16(out, 0x3A22)  # ":
                out = _put_json(block, _CONTENT, header, out + 2)
                if out < 0:
                    return -1 - row
        store8(out, 125)
        store8(out + 1, 125)
        store8(out + 2, 10)
        out += 3
        at = load32(sequence_offsets + 4 * row)
        current, length = sequence_data + at, load32(sequence_offsets + 4 * row + 4) - at
        if previous_length > 0 and not _is_above(previous, previous_length, current, length):
            block[_UNSORTED] = 1
        previous, previous_length = current, length
        if ends != 0:
            ends[row] = out - start
    return out


class LineWriter:
    """Renders record batches with the columns topic, key, value, headers and sequence.

    `sorted` stays True while the sequences of all batches so far increase; `first` and `last` are
    the first and the last sequence. With `with_ends`, `ends` holds the end of every line of the
    last batch (int64, bytes from the start of its lines). `texts` are those of key, value and
    header that are plain texts.
    """

    def __init__(self, *, with_ends: bool = False, texts: Collection[str] = ()) -> None:
        self.sorted = True
        self.first: bytes | None = None
        self.last = b""
        self.ends = np.empty(0, np.int64)
        self._with_ends, self._texts = with_ends, texts
        self._buffer = np.empty(0, np.uint8)
        self._labels = np.array(
            [address_of(x) for x in (_PREFIX, _KEY_LABEL, _VALUE_LABEL, _HEADERS_LABEL)], np.int64
        )

    def render(self, batch: pa.RecordBatch) -> memoryview:
        """The batch's lines, valid until the next call.

        Raises HeadraceError("file.not_json") for a key, value or header that cannot be JSON.
        """
        rows = batch.num_rows
        if rows == 0:
            self.ends = self.ends[:0]
            return memoryview(b"")
        block = np.zeros(_WORDS, np.int64)
        arrays: list[pa.Array] = []  # keeps casts alive while their addresses are used
        capacity = _PADDING + rows * _LINE_FRAME
        capacity += _ESCAPED * _place(block, _TOPIC, _text(batch.column("topic"), arrays))
        for role, column in (("key", _KEY), ("value", _VALUE)):
            length = _place(block, column, _text(batch.column(role), arrays))
            capacity += self._place_texts(block, role, column) * length
        sequence = _text(batch.column("sequence"), arrays)
        _place(block, _SEQUENCE, sequence)
        if "headers" in batch.schema.names:
            escaped = self._place_texts(block, "header", _CONTENT)
            capacity += _place_headers(block, batch.column("headers"), escaped, arrays)
        if self._buffer.size < capacity:
            self._buffer = np.empty(capacity + capacity // 4, np.uint8)
        if self._with_ends:
            self.ends = np.empty(rows, np.int64)
            block[_ENDS] = address_of(self.ends)
        previous = np.frombuffer(self.last or b"\0", np.uint8)
        block[_PREVIOUS], block[_PREVIOUS_LENGTH] = address_of(previous), len(self.last)
        out = address_of(self._buffer)
        end = int(_write_lines(address_of(block), rows, address_of(self._labels), out))
        if end < 0:
            raise _not_json(batch, -1 - end)
        if block[_UNSORTED]:
            self.sorted = False
        if self.first is None:
            self.first = sequence[0].as_py().encode()
        self.last = sequence[rows - 1].as_py().encode()
        return self._buffer[: end - out].data

    def _place_texts(self, block: np.ndarray, role: str, column: int) -> int:
        """Note whether a column has plain texts; returns the most bytes of one of its bytes in a
        line."""
        is_text = role in self._texts
        block[_TEXTS + column // 3] = is_text
        return _ESCAPED if is_text else 1


def _text(array: pa.Array, arrays: list[pa.Array]) -> pa.Array:
    """The column with 32-bit offsets, as string or binary."""
    array = with_short_offsets(array)
    arrays.append(array)
    return array


def _place(block: np.ndarray, column: int, array: pa.Array) -> int:
    """Note a column's addresses; returns the bytes of its data."""
    addresses = column_addresses(array)
    block[column : column + 3] = addresses[:3]
    block[_SHIFTS + column // 3] = addresses.shift
    return addresses.length


def _place_headers(block: np.ndarray, lists: pa.Array, escaped: int, arrays: list[pa.Array]) -> int:
    """Note the addresses of the headers column; returns the most bytes of its headers in lines.
    `escaped`: the most bytes of one byte of a value."""
    if pa.types.is_null(lists.type) or lists.null_count == len(lists):
        return 0
    if pa.types.is_large_list(lists.type):
        lists = lists.cast(pa.list_(lists.type.value_type))
    arrays.append(lists)
    validity, offsets = lists.buffers()[:2]
    entries = lists.values
    if len(entries) == 0:
        return 0
    names, contents = _text(entries.field(0), arrays), _text(entries.field(1), arrays)
    name_bytes = _place(block, _NAME, names)
    content_bytes = _place(block, _CONTENT, contents)
    block[_LISTS] = offsets.address + 4 * lists.offset
    block[_LISTS_VALIDITY] = validity.address if validity is not None and lists.null_count else 0
    block[_LISTS_SHIFT] = lists.offset
    return _ESCAPED * name_bytes + escaped * content_bytes + len(entries) * (_HEADER_FRAME + 8)


def _not_json(batch: pa.RecordBatch, row: int) -> HeadraceError:
    topic, sequence = batch.column("topic")[row], batch.column("sequence")[row]
    return HeadraceError(
        "file.not_json",
        f"A record of topic {topic} at {sequence} has a key, value or header that is not JSON",
        "Set key.converter, value.converter and header.converter to json.",
    )
