"""Kernels that scan JSON texts: they skip strings and values, and check texts for the form that
Jackson writes.

A function returns the end of what it skipped, or -1 if `end` comes first or the text has another
form. The rules on memory are those of `headrace.connect.kernels.memory`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from headrace.connect.kernels.functions import part
from headrace.connect.kernels.memory import count_trailing_zeros, load8, load32, load64
from headrace.connect.kernels.text import as_word

_BYTES16 = ir.VectorType(ir.IntType(8), 16)

QUOTE, BACKSLASH, COMMA, COLON = ord('"'), ord("\\"), ord(","), ord(":")
OPEN_OBJECT, CLOSE_OBJECT = ord("{"), ord("}")
OPEN_ARRAY, CLOSE_ARRAY = ord("["), ord("]")
_DASH, _POINT, _ZERO, _SMALL_E, _LARGE_E, _PLUS = map(ord, "-.0eE+")
_TRUE, _FALSE, _NULL = (as_word(text) for text in (b"true", b"alse", b"null"))
_SPACE = 32
_MAX_DEPTH = 60
_MAX_EXACT = 15
"""The most digits with which a decimal text is always the shortest one of its double."""
_MAX_LONG = 18
_LARGEST_PLAIN, _SMALLEST_PLAIN = 7, 3
"""The most digits before the point, and zeros after it, of doubles that Java writes without an
exponent."""
_BEYOND_BASIC_PLANE = 0xF0


@intrinsic
def string_mask16(typing_context, source):  # noqa: ARG001
    """Return a mask of 16 bytes: bit i is set if byte i ends a run of plain characters in a JSON
    string: a quote, a backslash or a control character."""

    def generate(_context, builder, _signature, arguments):
        pointer = builder.inttoptr(arguments[0], _BYTES16.as_pointer())
        value = builder.load(pointer)
        value.align = 1

        def splat(byte):
            return ir.Constant(_BYTES16, [ir.Constant(ir.IntType(8), byte)] * 16)

        control = builder.icmp_unsigned("<", value, splat(_SPACE))
        quote = builder.icmp_unsigned("==", value, splat(QUOTE))
        backslash = builder.icmp_unsigned("==", value, splat(BACKSLASH))
        either = builder.or_(control, builder.or_(quote, backslash))
        return builder.zext(builder.bitcast(either, ir.IntType(16)), ir.IntType(64))

    return types.int64(types.int64), generate


@part
def skip_space(place, end):
    """Return the place after white space; `end` if nothing else follows."""
    while place < end:
        byte = load8(place)
        if byte > _SPACE or (byte != _SPACE and byte != 10 and byte != 13 and byte != 9):
            return place
        place += 1
    return end


@part
def plain_end(place, end):
    """Return the end of a run of plain characters of a string; -1: it does not end."""
    while place < end:
        mask = string_mask16(place)
        if mask:
            place += count_trailing_zeros(mask)
            return place if place < end else np.int64(-1)
        place += 16
    return np.int64(-1)


@part
def skip_string(place, end):
    """Return the place after the string that begins at `place`, the byte after its first quote."""
    while True:
        place = plain_end(place, end)
        if place < 0:
            return place
        byte = load8(place)
        if byte == QUOTE:
            return place + 1
        if byte != BACKSLASH:
            return np.int64(-1)
        place += 2
        if place >= end:
            return np.int64(-1)


@part
def skip_value(place, end):
    """Return the place after the value at `place`: only its brackets and strings are parsed."""
    depth = 0
    while place < end:
        byte = load8(place)
        if byte == QUOTE:
            place = skip_string(place + 1, end)
            if place < 0:
                return place
            if depth == 0:
                return place
            continue
        if byte in (OPEN_OBJECT, OPEN_ARRAY):
            depth += 1
        elif byte in (CLOSE_OBJECT, CLOSE_ARRAY):
            depth -= 1
            if depth < 0:
                return place
            if depth == 0:
                return place + 1
        elif depth == 0 and (byte == COMMA or byte <= _SPACE):
            return place
        place += 1
    return end if depth == 0 else np.int64(-1)


@part
def _is_digit(byte):
    return byte >= _ZERO and byte <= _ZERO + 9


@part
def is_upper_hexadecimal(byte):
    """Return whether a byte is a digit or a letter from A to F."""
    return _is_digit(byte) or (byte >= 65 and byte <= 70)


@part
def hexadecimal_unit(place):
    """Return the number of four hexadecimal digits of either case; -1 if a byte is not such a
    digit."""
    unit = np.int64(0)
    for i in range(4):
        byte = load8(place + i)
        if _is_digit(byte):
            digit = byte - _ZERO
        else:
            digit = (byte | 32) - 87
            if digit < 10 or digit > 15:
                return np.int64(-1)
        unit = unit << 4 | digit
    return unit


@part
def _canonical_escape(place, end):
    """Return the place after the escape at `place`, a backslash, if it is one that Jackson
    writes."""
    if place + 1 >= end:
        return np.int64(-1)
    kind = load8(place + 1)
    if kind in (98, 116, 110, 102, 114, QUOTE, BACKSLASH):  # b t n f r
        return place + 2
    if kind != 117 or place + 6 > end:
        return np.int64(-1)
    for i in range(4):
        if not is_upper_hexadecimal(load8(place + 2 + i)):
            return np.int64(-1)
    unit = hexadecimal_unit(place + 2)
    if unit < _SPACE:
        return np.int64(-1) if unit in (8, 9, 10, 12, 13) else place + 6
    if unit < 0xD800 or unit > 0xDBFF or place + 12 > end:
        return np.int64(-1)
    if load8(place + 6) != BACKSLASH or load8(place + 7) != 117:
        return np.int64(-1)
    for i in range(4):
        if not is_upper_hexadecimal(load8(place + 8 + i)):
            return np.int64(-1)
    low = hexadecimal_unit(place + 8)
    return place + 12 if low >= 0xDC00 and low <= 0xDFFF else np.int64(-1)


@part
def _canonical_string(place, end):
    """Return the place after the string whose first quote is before `place`, in Jackson's form."""
    begin = place
    while True:
        place = plain_end(place, end)
        if place < 0:
            return place
        byte = load8(place)
        if byte == QUOTE:
            break
        if byte != BACKSLASH:
            return np.int64(-1)
        place = _canonical_escape(place, end)
        if place < 0:
            return place
    for each in range(begin, place):
        if load8(each) >= _BEYOND_BASIC_PLANE:
            return np.int64(-1)
    return place + 1


@part
def digits_end(place, end):
    """Return the place after a run of digits."""
    while place < end and _is_digit(load8(place)):
        place += 1
    return place


@part
def _canonical_number(place, end):
    """Return the place after the text of a Java long, or of a double without exponent."""
    if load8(place) == _DASH:
        place += 1
        if (
            place < end
            and load8(place) == _ZERO
            and (place + 1 >= end or load8(place + 1) != _POINT)
        ):
            return np.int64(-1)
    whole = place
    place = digits_end(place, end)
    digits = place - whole
    if digits == 0 or (digits > 1 and load8(whole) == _ZERO):
        return np.int64(-1)
    if place >= end:
        return place if digits <= _MAX_LONG else np.int64(-1)
    byte = load8(place)
    if byte in (_SMALL_E, _LARGE_E):
        return np.int64(-1)
    if byte != _POINT:
        return place if digits <= _MAX_LONG else np.int64(-1)
    fraction = place + 1
    place = digits_end(fraction, end)
    count = place - fraction
    if count == 0 or digits > _LARGEST_PLAIN or digits + count > _MAX_EXACT:
        return np.int64(-1)
    if count > 1 and load8(place - 1) == _ZERO:
        return np.int64(-1)
    if place < end and (load8(place) == _SMALL_E or load8(place) == _LARGE_E):
        return np.int64(-1)
    if load8(whole) == _ZERO and (count > 1 or load8(fraction) != _ZERO):
        zeros = 0
        while zeros < count and load8(fraction + zeros) == _ZERO:
            zeros += 1
        if zeros >= _SMALLEST_PLAIN:
            return np.int64(-1)
    return place


@part
def is_word(place, end, word, length):
    """Return whether the `length` characters (at most 4) of `word` are at `place`."""
    return place + length <= end and load32(place) == word


@part
def canonical_scalar(place, end):
    """Return the place after a string, number, boolean or null in Jackson's form."""
    byte = load8(place)
    if byte == QUOTE:
        return _canonical_string(place + 1, end)
    if byte == 116 and is_word(place, end, _TRUE, 4):
        return place + 4
    if byte == 102 and is_word(place + 1, end, _FALSE, 4):
        return place + 5
    if byte == 110 and is_word(place, end, _NULL, 4):
        return place + 4
    return _canonical_number(place, end)


@part
def canonical_value(place, end):
    """Return the place after a value without white space whose strings and numbers have Jackson's
    form; -1 also for values that are nested more than 60 deep."""
    kinds, depth = np.int64(0), 0  # a bit for each open bracket: 1 is an object
    while place < end:
        byte = load8(place)
        if byte in (OPEN_OBJECT, OPEN_ARRAY):
            is_object = byte == OPEN_OBJECT
            kinds, depth = kinds << 1 | is_object, depth + 1
            if depth > _MAX_DEPTH or place + 1 >= end:
                return np.int64(-1)
            place += 1
            if load8(place) == (CLOSE_OBJECT if is_object else CLOSE_ARRAY):
                place += 1
                kinds, depth = kinds >> 1, depth - 1
            else:
                if is_object:
                    place = _member_name(place, end)
                    if place < 0:
                        return place
                continue
        else:
            place = canonical_scalar(place, end)
            if place < 0:
                return place
        # After a value, open brackets are closed, or the next element begins.
        while depth > 0:
            if place >= end:
                return np.int64(-1)
            byte = load8(place)
            is_object = kinds & 1
            if byte == (CLOSE_OBJECT if is_object else CLOSE_ARRAY):
                place += 1
                kinds, depth = kinds >> 1, depth - 1
                continue
            if byte != COMMA:
                return np.int64(-1)
            place += 1
            if is_object:
                place = _member_name(place, end)
                if place < 0:
                    return place
            break
        if depth == 0:
            return place
    return np.int64(-1)


@part
def _member_name(place, end):
    """Return the place after the colon of a member."""
    if place >= end or load8(place) != QUOTE:
        return np.int64(-1)
    place = _canonical_string(place + 1, end)
    if place < 0 or place >= end or load8(place) != COLON:
        return np.int64(-1)
    return place + 1


@part
def are_equal(left, right, length):
    """Return whether `length` bytes are the same; reads up to 7 bytes beyond them."""
    offset = 0
    while offset + 8 <= length:
        if load64(left + offset) != load64(right + offset):
            return False
        offset += 8
    rest = length - offset
    if rest == 0:
        return True
    difference = load64(left + offset) ^ load64(right + offset)
    return difference & ((1 << (8 * rest)) - 1) == 0
