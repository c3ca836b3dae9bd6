"""Kernels that write VARIANT values of a column: the bytes of the values one after the other to
`out`, and the end of each to `ends` (int64, `ends[0]` is 0). Every argument is an address or a
count. The format is Parquet's `VariantEncoding.md`, version 1."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.memory import copy, load8, load32, load64, store8, store64

NULL = 0
_OBJECT, _ARRAY = 2, 3  # basic types, the low two bits of a value's first byte
_MAX_SHORT = 63  # bytes of a short string
_SHORT_STRING = 1
_MAX_SMALL = 255  # elements whose number takes one byte

HEAD_BYTES = 5
"""The most bytes of a text, object or array before its offsets."""
OFFSET_BYTES = 4
"""The most bytes of an offset."""


@part
def _size_of(number):
    """Bytes that an unsigned number takes: 1 to 4."""
    if number < 1 << 8:
        return 1
    if number < 1 << 16:
        return 2
    return 3 if number < 1 << 24 else 4


@part
def _put(number, size, out):
    """Write a number of `size` bytes, little-endian."""
    for at in range(size):
        store8(out + at, number >> (8 * at) & 255)
    return out + size


@entry
def put_fixed(header, scale, size, values, stride, valid, count, ends, out):
    """Write values of `size` bytes, `stride` apart; `valid` is a byte each. `scale` is written
    after the header if it is not negative."""
    begin = out
    store64(ends, 0)
    for i in range(count):
        if load8(valid + i):
            store8(out, header)
            out += 1
            if scale >= 0:
                store8(out, scale)
                out += 1
            for at in range(size):
                store8(out + at, load8(values + stride * i + at))
            out += size
        else:
            store8(out, NULL)
            out += 1
        ends[i + 1] = out - begin


@entry
def put_texts(long_header, is_string, offsets, data, valid, count, ends, out):
    """Write texts or bytes; `offsets` are int64. Strings of up to 63 bytes are short strings."""
    begin = out
    store64(ends, 0)
    for i in range(count):
        if load8(valid + i):
            start = offsets[i]
            length = offsets[i + 1] - start
            if is_string and length <= _MAX_SHORT:
                store8(out, length << 2 | _SHORT_STRING)
                out += 1
            else:
                store8(out, long_header)
                out = _put(length, 4, out + 1)
            out = copy(data + start, length, out)
        else:
            store8(out, NULL)
            out += 1
        ends[i + 1] = out - begin


@entry
def put_objects(children, fields, ids, id_size, valid, count, ends, out):
    """Write objects with the same `fields` in each row; `children` has the addresses of the ends
    and bytes of each field, `ids` (int64) the fields' numbers in the metadata, both in the order of
    names."""
    begin = out
    is_large = fields > _MAX_SMALL
    store64(ends, 0)
    for i in range(count):
        if load8(valid + i) == 0:
            store8(out, NULL)
            out += 1
            ends[i + 1] = out - begin
            continue
        total = 0
        for field in range(fields):
            child = load64(children + 16 * field)
            total += child[i + 1] - child[i]
        offset_size = _size_of(total)
        flags = offset_size - 1 | (id_size - 1) << 2 | is_large << 4
        store8(out, flags << 2 | _OBJECT)
        out = _put(fields, 4 if is_large else 1, out + 1)
        for field in range(fields):
            out = _put(ids[field], id_size, out)
        place = 0
        for field in range(fields):
            out = _put(place, offset_size, out)
            child = load64(children + 16 * field)
            place += child[i + 1] - child[i]
        out = _put(place, offset_size, out)
        for field in range(fields):
            child = load64(children + 16 * field)
            start = child[i]
            length = child[i + 1] - start
            out = copy(load64(children + 16 * field + 8) + start, length, out)
        ends[i + 1] = out - begin


@entry
def put_lists(ids, id_size, offsets, child_ends, child_data, valid, count, ends, out):
    """Write arrays, or objects if `id_size` is not 0: then `ids` (int32) has the number of each
    element's name. `offsets` (int64) delimit the elements of each row."""
    begin = out
    store64(ends, 0)
    for i in range(count):
        if load8(valid + i) == 0:
            store8(out, NULL)
            out += 1
            ends[i + 1] = out - begin
            continue
        first, last = offsets[i], offsets[i + 1]
        start = child_ends[first]
        length = child_ends[last] - start
        is_large = last - first > _MAX_SMALL
        offset_size = _size_of(length)
        if id_size:
            flags = offset_size - 1 | (id_size - 1) << 2 | is_large << 4
            store8(out, flags << 2 | _OBJECT)
        else:
            store8(out, (offset_size - 1 | is_large << 2) << 2 | _ARRAY)
        out = _put(last - first, 4 if is_large else 1, out + 1)
        if id_size:
            for element in range(first, last):
                out = _put(load32(ids + 4 * element), id_size, out)
        for element in range(first, last + 1):
            out = _put(child_ends[element] - start, offset_size, out)
        out = copy(child_data + start, length, out)
        ends[i + 1] = out - begin
