"""Compiled parser of Decimal128 texts.

The rules on memory are those of `headrace.connect.kernels.memory`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.functions import part
from headrace.connect.kernels.memory import load8, store64
from headrace.connect.kernels.text import (
    POWERS_OF_TEN,
    is_below_unsigned,
    multiply_high_unsigned,
    wrapping_add,
    wrapping_multiply,
)
from headrace.documents.kernels.scalars import EXPONENT_BIAS
from headrace.documents.parsing.kernels.string_kernel import QUOTE, begins_with, token

_DASH, _PLUS, _POINT, _ZERO, _NINE = map(ord, "-+.09")
_SMALL_E = ord("e")
_HALF, _MAX_DIGITS = 17, 34
_MAX_EXPONENT = 6111
_SIGN = -(1 << 63)
_NAN, _INFINITY = token('NaN"'), token('Infinity"')
_NAN_WORD, _INFINITY_WORD = 0x7C << 56, 0x78 << 56


@part
def _put(low, high, out):
    store64(out, low)
    store64(out + 8, high)


@part
def put_decimal(place, end, out):
    """Write the 16 bytes of the decimal whose text is at `place`; returns the place after its
    closing quote, or 0 if plain Python has to read or reject it."""
    sign = np.int64(0)
    byte = load8(place) if place < end else np.int64(0)
    if byte in (_DASH, _PLUS):
        sign = np.int64(_SIGN if byte == _DASH else 0)
        place += 1
    if begins_with(place, end, _INFINITY):
        _put(0, _INFINITY_WORD | sign, out)
        return place + _INFINITY[6]
    if byte != _DASH and begins_with(place, end, _NAN):
        _put(0, _NAN_WORD, out)
        return place + _NAN[6]
    first, second = np.int64(0), np.int64(0)
    count, exponent, has_point = np.int64(0), np.int64(0), False
    while place < end:
        byte = load8(place)
        if byte == _POINT and not has_point:
            has_point = True
        elif _ZERO <= byte <= _NINE and count < _MAX_DIGITS:
            if count < _HALF:
                first = 10 * first + byte - _ZERO
            else:
                second = 10 * second + byte - _ZERO
            count += 1
            if has_point:
                exponent -= 1
        else:
            break
        place += 1
    if count == 0 or place >= end:
        return np.int64(0)
    if load8(place) | 32 == _SMALL_E:
        place += 1
        byte = load8(place) if place < end else np.int64(0)
        if byte in (_DASH, _PLUS):
            place += 1
        start, power = place, np.int64(0)
        while place < end and place - start < 5 and _ZERO <= load8(place) <= _NINE:
            power = 10 * power + load8(place) - _ZERO
            place += 1
        if place == start:
            return np.int64(0)
        exponent += -power if byte == _DASH else power
    is_ended = place < end and load8(place) == QUOTE
    if not is_ended or exponent < -EXPONENT_BIAS or exponent > _MAX_EXPONENT:
        return np.int64(0)
    high = np.int64(0)
    if count > _HALF:
        scale = np.int64(POWERS_OF_TEN[count - _HALF])
        high = multiply_high_unsigned(first, scale)
        first = wrapping_add(wrapping_multiply(first, scale), second)
        high += is_below_unsigned(first, second)
    _put(first, high | (exponent + EXPONENT_BIAS) << 49 | sign, out)
    return place + 1
