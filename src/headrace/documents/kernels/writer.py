"""The compiled pass from a BSON value to Extended JSON.

The rules on memory are those of `headrace.connect.kernels.memory`. The size of the output is
limited by the value's size, because a document of empty names and tiny values grows far more than
others: see `put_value`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.bytes_text import put_base64
from headrace.connect.kernels.functions import entry, inlined_part, part
from headrace.connect.kernels.java_floats import put_double
from headrace.connect.kernels.memory import (
    PADDING,
    copy16,
    load8,
    load32,
    load32_signed,
    load64,
    stack_memory,
    store8,
    store16,
    store32,
    store64,
)
from headrace.connect.kernels.text import as_word, put_int
from headrace.documents.bson import (
    ARRAY,
    BAD_LENGTH,
    BINARY,
    BOOLEAN,
    CODE,
    CODE_WITH_SCOPE,
    DATE,
    DB_POINTER,
    DECIMAL128,
    DOCUMENT,
    DOUBLE,
    INT32,
    INT64,
    MAX_DEPTH,
    MAX_KEY,
    MIN_KEY,
    NO_ROOM,
    NULL,
    OBJECT_ID,
    OLD_BINARY,
    REGEX,
    STRING,
    SYMBOL,
    TIMESTAMP,
    TOO_DEEP,
    TRAILING_BYTES,
)
from headrace.documents.dialects import FRAGMENTS, STYLE_BYTES, Dialect, fragment_offset
from headrace.documents.kernels.characters import put_characters
from headrace.documents.kernels.scalars import (
    MAX_ISO_MILLIS,
    MAX_SORTED_OPTIONS,
    is_special,
    put_decimal128,
    put_iso_date,
    put_library_double,
    put_object_id,
    put_sorted_options,
)
from headrace.documents.kernels.value_sizes import name_end, value_size

GROWTH = 8
"""Bytes of Extended JSON per byte of BSON, enough for all but unusual documents."""
MAX_GROWTH = 32
"""Bytes of Extended JSON per byte of BSON that no document exceeds."""
SLACK = 512
"""Bytes that a text may need in addition, and that a kernel writes after it."""

_MARGIN = SLACK // 2
_STRICT, _MANUAL, _CANONICAL = int(Dialect.STRICT), int(Dialect.MANUAL), int(Dialect.CANONICAL)
_NULL_TEXT, _TRUE_TEXT, _FALSE_TEXT = as_word(b"null"), as_word(b"true"), as_word(b"false")
_OPEN_BRACE, _CLOSE_BRACE, _OPEN_BRACKET, _CLOSE_BRACKET = map(ord, "{}[]")

_QUOTE, _NAME_END, _COMMA = map(fragment_offset, ("QUOTE", "NAME_END", "COMMA"))
_OBJECT_ID, _TEXT_END = map(fragment_offset, ("OBJECT_ID", "TEXT_END"))
_INT32, _INT32_END = map(fragment_offset, ("INT32", "INT32_END"))
_INT64, _INT64_END = map(fragment_offset, ("INT64", "INT64_END"))
_DOUBLE, _DOUBLE_END = map(fragment_offset, ("DOUBLE", "DOUBLE_END"))
_SPECIAL_DOUBLE = fragment_offset("SPECIAL_DOUBLE")
_SPECIAL_DOUBLE_END = fragment_offset("SPECIAL_DOUBLE_END")
_DATE, _DATE_END = map(fragment_offset, ("DATE", "DATE_END"))
_DATE_NUMBER, _DATE_NUMBER_END = map(fragment_offset, ("DATE_NUMBER", "DATE_NUMBER_END"))
_BINARY, _BINARY_MIDDLE, _BINARY_END = map(
    fragment_offset, ("BINARY", "BINARY_MIDDLE", "BINARY_END")
)
_REGEX, _REGEX_MIDDLE, _REGEX_END = map(fragment_offset, ("REGEX", "REGEX_MIDDLE", "REGEX_END"))
_DB_POINTER, _DB_POINTER_MIDDLE, _DB_POINTER_END = map(
    fragment_offset, ("DB_POINTER", "DB_POINTER_MIDDLE", "DB_POINTER_END")
)
_CODE, _SCOPE, _SYMBOL = map(fragment_offset, ("CODE", "SCOPE", "SYMBOL"))
_TIMESTAMP, _TIMESTAMP_MIDDLE = map(fragment_offset, ("TIMESTAMP", "TIMESTAMP_MIDDLE"))
_DECIMAL, _UNDEFINED = map(fragment_offset, ("DECIMAL", "UNDEFINED"))
_MIN_KEY, _MAX_KEY = map(fragment_offset, ("MIN_KEY", "MAX_KEY"))

# Flags of an open container, in the lowest bits of its place on the stack.
_IS_ARRAY, _IS_SCOPE = 1, 2
_allocate_stack = stack_memory(8 * MAX_DEPTH)
_allocate_options = stack_memory(MAX_SORTED_OPTIONS + PADDING)


@part
def _style_address(dialect, escaped):
    return FRAGMENTS.ctypes.data + STYLE_BYTES * (2 * dialect + escaped)


@inlined_part
def _put_short(style, which, out):
    """Write a constant text of up to 16 bytes."""
    copy16(out, style + which + 8)
    return out + load64(style + which)


@inlined_part
def _put(style, which, out):
    """Write a constant text of up to 48 bytes."""
    copy16(out, style + which + 8)
    copy16(out + 16, style + which + 24)
    copy16(out + 32, style + which + 40)
    return out + load64(style + which)


@part
def _put_text(style, escaped, place, length, out):
    """Write a JSON string of `length` bytes."""
    out = _put_short(style, _QUOTE, out)
    out = put_characters(place, length, escaped, out)
    return _put_short(style, _QUOTE, out)


@part
def _put_date(style, dialect, millis, out):
    if dialect in (_STRICT, _MANUAL):
        out = put_int(millis, _put(style, _DATE, out))
        return _put_short(style, _DATE_END, out)
    if dialect == _CANONICAL or millis < 0 or millis > MAX_ISO_MILLIS:
        out = put_int(millis, _put(style, _DATE_NUMBER, out))
        return _put_short(style, _DATE_NUMBER_END, out)
    out = put_iso_date(millis, _put(style, _DATE, out))
    return _put_short(style, _DATE_END, out)


@part
def _put_rare(kind, place, size, style, escaped, out):
    if kind == BINARY:
        length = load32_signed(place)
        subtype = load8(place + 4)
        skipped = 4 if subtype == OLD_BINARY else 0
        out = put_base64(place + 5 + skipped, length - skipped, _put(style, _BINARY, out))
        out = _put(style, _BINARY_MIDDLE, out)
        store16(out, np.int64(_UPPER_PAIRS[subtype]))
        return _put_short(style, _BINARY_END, out + 2)
    if kind == REGEX:
        middle = name_end(place, place + size - 1)
        out = _put(style, _REGEX, out)
        out = put_characters(place, middle - place, escaped, out)
        out = _put(style, _REGEX_MIDDLE, out)
        options, length = middle + 1, place + size - middle - 2
        if 1 < length <= MAX_SORTED_OPTIONS:
            options = _allocate_options()
            put_sorted_options(middle + 1, length, options)
        out = put_characters(options, length, escaped, out)
        return _put_short(style, _REGEX_END, out)
    if kind == DB_POINTER:
        out = _put(style, _DB_POINTER, out)
        out = put_characters(place + 4, size - 17, escaped, out)
        out = put_object_id(place + size - 12, _put(style, _DB_POINTER_MIDDLE, out))
        return _put_short(style, _DB_POINTER_END, out)
    if kind in (CODE, SYMBOL):
        out = _put(style, _CODE if kind == CODE else _SYMBOL, out)
        out = put_characters(place + 4, size - 5, escaped, out)
        return _put_short(style, _TEXT_END, out)
    if kind == TIMESTAMP:
        out = put_int(load32(place + 4), _put(style, _TIMESTAMP, out))
        out = put_int(load32(place), _put_short(style, _TIMESTAMP_MIDDLE, out))
        store16(out, _TWO_BRACES)
        return out + 2
    if kind == DECIMAL128:
        out = put_decimal128(place, _put(style, _DECIMAL, out))
        return _put_short(style, _TEXT_END, out)
    if kind == MIN_KEY:
        return _put(style, _MIN_KEY, out)
    if kind == MAX_KEY:
        return _put(style, _MAX_KEY, out)
    return _put(style, _UNDEFINED, out)


_UPPER_PAIRS = np.frombuffer(b"".join(b"%02X" % i for i in range(256)), np.uint16)
_TWO_BRACES = int.from_bytes(b"}}", "little")


@inlined_part
def _put_scalar(kind, place, size, dialect, escaped, style, out):
    """Write a value of `size` bytes that is neither a document nor an array nor code with a
    scope."""
    if kind == STRING:
        return _put_text(style, escaped, place + 4, size - 5, out)
    if kind == INT32:
        if dialect == _CANONICAL:
            out = put_int(load32_signed(place), _put(style, _INT32, out))
            return _put_short(style, _INT32_END, out)
        return put_int(load32_signed(place), out)
    if kind == DOUBLE:
        bits = load64(place)
        if is_special(bits):
            out = put_double(bits, _put(style, _SPECIAL_DOUBLE, out))
            return _put_short(style, _SPECIAL_DOUBLE_END, out)
        if dialect == _CANONICAL:
            out = put_library_double(bits, _put(style, _DOUBLE, out))
            return _put_short(style, _DOUBLE_END, out)
        return put_library_double(bits, out)
    if kind == OBJECT_ID:
        out = put_object_id(place, _put(style, _OBJECT_ID, out))
        return _put_short(style, _TEXT_END, out)
    if kind == BOOLEAN:
        is_true = load8(place) == 1
        store64(out, _TRUE_TEXT if is_true else _FALSE_TEXT)
        return out + (4 if is_true else 5)
    if kind == DATE:
        return _put_date(style, dialect, load64(place), out)
    if kind == NULL:
        store32(out, _NULL_TEXT)
        return out + 4
    if kind == INT64:
        out = put_int(load64(place), _put(style, _INT64, out))
        return _put_short(style, _INT64_END, out)
    return _put_rare(kind, place, size, style, escaped, out)


@part
def put_value(kind, place, rest, dialect, escaped, growth, out):
    """Write a BSON value of type `kind`, whose `rest` bytes are at `place`; returns the end of its
    text, or a fault of `headrace.documents.bson`.

    `escaped` (0 or 1): in the form inside a JSON string, without its quotes. Up to `growth * rest +
    SLACK` bytes are written; the result for a text that may need more is NO_ROOM.
    """
    size = value_size(kind, place, rest)
    if size != rest:
        return size if size < 0 else np.int64(TRAILING_BYTES)
    style = _style_address(dialect, escaped)
    stack = _allocate_stack()
    depth = np.int64(0)
    last = place + rest  # the zero byte that ends the innermost container
    flags = np.int64(0)
    most = out + _MARGIN - growth * place
    while True:
        opens = False
        if kind in (DOCUMENT, ARRAY, CODE_WITH_SCOPE):
            if depth == MAX_DEPTH:
                return np.int64(TOO_DEEP)
            stack[depth] = last << 2 | flags
            depth += 1
            flags = np.int64(_IS_ARRAY if kind == ARRAY else 0)
            if kind == CODE_WITH_SCOPE:
                flags = np.int64(_IS_SCOPE)
                length = load32_signed(place + 4)
                out = put_characters(place + 8, length - 1, escaped, _put(style, _CODE, out))
                out = _put(style, _SCOPE, out)
                last = place + size - 1
                place += 8 + length + 4
            else:
                last = place + size - 1
                place += 4
            store8(out, _OPEN_BRACKET if kind == ARRAY else _OPEN_BRACE)
            out += 1
            opens = True
        else:
            out = _put_scalar(kind, place, size, dialect, escaped, style, out)
            place += size
        while place == last and depth:
            store8(out, _CLOSE_BRACKET if flags & _IS_ARRAY else _CLOSE_BRACE)
            store8(out + 1, _CLOSE_BRACE)
            out += 2 if flags & _IS_SCOPE else 1
            place = last + 1
            depth -= 1
            outer = stack[depth]
            last = outer >> 2
            flags = outer & 3
            opens = False
        if depth == 0:
            return out
        if out - growth * place > most:
            return np.int64(NO_ROOM)
        if not opens:
            out = _put_short(style, _COMMA, out)
        kind = load8(place)
        place += 1
        end = name_end(place, last)
        if not flags & _IS_ARRAY:
            out = _put_short(style, _QUOTE, out)
            out = put_characters(place, end - place, escaped, out)
            out = _put_short(style, _NAME_END, out)
        place = end + 1
        size = value_size(kind, place, last - place)
        if size < 0:
            return size


@entry
def put_cell(address, length, dialect, escaped, growth, out):
    """Write a type byte and the value after it; other arguments and results are those of
    `put_value`."""
    if length < 1:
        return np.int64(BAD_LENGTH)
    return put_value(load8(address), address + 1, length - 1, dialect, escaped, growth, out)
