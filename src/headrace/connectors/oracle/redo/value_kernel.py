"""Compiled conversion of values in redo statements: the literal of a column's value to headrace's
text.

Rare forms (those of other releases, stored bytes, texts in other character sets) are odd: the
statement goes to `headrace.connectors.oracle.redo.reference`, which gives the same text for every
value that is read here. The rules on memory are those of `scan`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.images import NO_CELL, NULL, TEXT
from headrace.connect.kernels.functions import inlined_part, part
from headrace.connect.kernels.memory import (
    byte_mask16,
    copy,
    copy16,
    count_trailing_zeros,
    load8,
    load64,
    store8,
    store64,
)
from headrace.connect.kernels.text import as_word
from headrace.connectors.oracle.redo.forms import LiteralForm
from headrace.connectors.oracle.redo.scan import NONE, QUOTE, find_byte, has_word
from headrace.converters.json.kernels.times import NO_TIME, timestamp_micros

_TEXT_FORM, _NUMBER_FORM, _TIMESTAMP_FORM = (
    int(LiteralForm.TEXT),
    int(LiteralForm.NUMBER),
    int(LiteralForm.TIMESTAMP),
)
_BYTES_FORM, _ZONED_FORM, _LOCAL_FORM = (
    int(LiteralForm.BYTES),
    int(LiteralForm.ZONED),
    int(LiteralForm.LOCAL),
)
_MONTHS_FORM, _SECONDS_FORM = int(LiteralForm.YEAR_TO_MONTH), int(LiteralForm.DAY_TO_SECOND)

# A column: six int64. NAME and NAME_LENGTH: its name in double quotes.
NAME, NAME_LENGTH, FORM, DIGITS, IS_APART, NOT_NULL = 0, 8, 16, 24, 32, 40
COLUMN_BYTES = 48

_MINUS, _PLUS, _POINT, _ZERO, _NINE, _SPACE = b"-+.09 "
_CLOSE, _BACKSLASH, _COLON, _BAR, _SMALL_X = b")\\:|x"
_NULL_WORD = as_word(b"NULL")
_UNSUPPORTED, _UNSUPPORTED_2 = as_word(b"Unsuppor"), as_word(b"ted")
_TYPE = as_word(b" Type")
_TO_DATE, _TO_DATE_2 = as_word(b"TO_DATE("), as_word(b"'")
_TO_TIMES, _TAMP = as_word(b"TO_TIMES"), as_word(b"TAMP('")
_TAMP_TZ = as_word(b"TAMP_TZ(")
_HEXTORAW = as_word(b"HEXTORAW")
_OPEN_QUOTE = as_word(b"('")
_UNISTR = as_word(b"UNISTR('")
_CLOSED = as_word(b"')")
_EMPTY_CLOB, _EMPTY_BLOB = as_word(b"EMPTY_CL"), as_word(b"EMPTY_BL")
_OB = as_word(b"OB()")
_LM_EMPTY, _STRING = as_word(b"LM_EMPTY"), as_word(b"_STRING'")
_MASK = (as_word(b", 'YYYY-"), as_word(b"MM-DD HH"), as_word(b"24:MI:SS"))
_MASK_0, _MASK_1, _MASK_2 = _MASK
_UTC_1, _UTC_2 = as_word(b" +00:00"), as_word(b"+00:00")


@inlined_part
def _put(cell, address, length):
    store64(cell, TEXT)
    store64(cell + 8, address)
    store64(cell + 16, length)


@inlined_part
def _is_digit(byte):
    return (byte - _ZERO) & 0xFF <= 9


@part
def _joined_text(place, stop, cell, arena):
    """Write texts in quotes and UNISTR('…'), joined by `||`, to the arena; returns the end of the
    value, or NONE. The arena is free after the cell's address and length."""
    out = arena
    while True:
        if load8(place) == QUOTE and place < stop:
            place += 1
            while True:
                if place >= stop:
                    return NONE
                quotes = byte_mask16(place, QUOTE)
                copy16(out, place)
                count = np.int64(16)
                if quotes:
                    count = count_trailing_zeros(quotes)
                count = min(count, stop - place)
                out += count
                place += count
                if count < 16 and place < stop:
                    if place + 1 < stop and load8(place + 1) == QUOTE:
                        store8(out, QUOTE)
                        out += 1
                        place += 2
                    else:
                        place += 1
                        break
        elif has_word(place, stop, _UNISTR, 8):
            place += 8
            while True:
                if place >= stop:
                    return NONE
                byte = load8(place)
                if byte == QUOTE:
                    # A doubled quote is rare: it is left to Python.
                    if not has_word(place, stop, _CLOSED, 2):
                        return NONE
                    place += 2
                    break
                if byte != _BACKSLASH:
                    store8(out, byte)
                    out += 1
                    place += 1
                    continue
                if place + 1 < stop and load8(place + 1) == _BACKSLASH:
                    store8(out, _BACKSLASH)
                    out += 1
                    place += 2
                    continue
                unit = _unit(place, stop)
                if unit < 0:
                    return NONE
                place += 5
                if 0xD800 <= unit < 0xE000:
                    low = NONE
                    if unit < 0xDC00 and place < stop and load8(place) == _BACKSLASH:
                        low = _unit(place, stop)
                    if low < 0xDC00 or low > 0xDFFF:
                        return NONE
                    place += 5
                    unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)
                out = _put_point(unit, out)
        else:
            return NONE
        next_place = place
        while next_place < stop and load8(next_place) == _SPACE:
            next_place += 1
        if next_place + 1 < stop and load8(next_place) == _BAR and load8(next_place + 1) == _BAR:
            place = next_place + 2
            while place < stop and load8(place) == _SPACE:
                place += 1
            if place >= stop:
                return NONE
            continue
        _put(cell, arena, out - arena)
        return place


@part
def _unit(place, stop):
    """Return the UTF-16 unit of the four hexadecimal digits after a backslash; NONE."""
    if stop - place < 5:
        return NONE
    unit = np.int64(0)
    for i in range(1, 5):
        byte = load8(place + i)
        lower = byte | 32
        if _is_digit(byte):
            unit = unit * 16 + byte - _ZERO
        elif 97 <= lower <= 102:
            unit = unit * 16 + lower - 87
        else:
            return NONE
    return unit


@part
def _put_point(point, out):
    """Write a code point in UTF-8; returns its end."""
    if point < 0x80:
        store8(out, point)
        return out + 1
    if point < 0x800:
        store8(out, 0xC0 | point >> 6)
        store8(out + 1, 0x80 | point & 63)
        return out + 2
    if point < 0x10000:
        store8(out, 0xE0 | point >> 12)
        store8(out + 1, 0x80 | point >> 6 & 63)
        store8(out + 2, 0x80 | point & 63)
        return out + 3
    store8(out, 0xF0 | point >> 18)
    store8(out + 1, 0x80 | point >> 12 & 63)
    store8(out + 2, 0x80 | point >> 6 & 63)
    store8(out + 3, 0x80 | point & 63)
    return out + 4


@inlined_part
def _quoted_text(place, stop, cell, arena):
    """Read a text in quotes: the cell points into the statement if no quote inside is doubled and
    nothing is joined to it."""
    end = find_byte(place + 1, stop, QUOTE)
    if end < 0:
        return NONE
    after_quote = end + 1
    if after_quote < stop:
        byte = load8(after_quote)
        if byte in (QUOTE, _BAR):
            return _joined_text(place, stop, cell, arena)
        if byte == _SPACE and after_quote + 1 < stop:
            byte = load8(after_quote + 1)
            if byte in (_BAR, _SPACE):
                return _joined_text(place, stop, cell, arena)
    _put(cell, place + 1, end - place - 1)
    return after_quote


@inlined_part
def _number(place, stop, cell, arena):
    """Read digits with or without sign and fraction; returns their end, or NONE. Redundant zeros,
    signs of zero and exponents are odd."""
    first = place
    if place < stop and load8(place) == _MINUS:
        place += 1
    whole = place
    is_zero = True
    while place < stop and _is_digit(load8(place)):
        if load8(place) != _ZERO:
            is_zero = False
        place += 1
    digits = place - whole
    if digits > 1 and load8(whole) == _ZERO:
        return NONE
    end = place
    if place < stop and load8(place) == _POINT:
        place += 1
        while place < stop and _is_digit(load8(place)):
            if load8(place) != _ZERO:
                is_zero = False
            place += 1
        if place - end == 1:
            return NONE
        end = place
    if end == whole or (is_zero and whole != first):
        return NONE
    if digits:
        _put(cell, first, end - first)
        return end
    # Oracle leaves out the zero before the point.
    store8(arena, _MINUS)
    out = arena + (whole - first)
    store8(out, _ZERO)
    copy(whole, end - whole, out + 1)
    _put(cell, arena, out + 1 + end - whole - arena)
    return end


@inlined_part
def _closing(place, stop):
    """Return the place after the quote and the parenthesis that close an argument, or after the
    usual mask of a date; NONE for other texts."""
    if stop - place < 2 or load8(place) != QUOTE:
        return NONE
    place += 1
    if load8(place) == _CLOSE:
        return place + 1
    if (
        stop - place >= 26
        and load64(place) == _MASK_0
        and load64(place + 8) == _MASK_1
        and load64(place + 16) == _MASK_2
        and load8(place + 24) == QUOTE
        and load8(place + 25) == _CLOSE
    ):
        return place + 26
    return NONE


@inlined_part
def _fraction_end(place, stop):
    """Return the end of up to nine digits of a fraction whose point is at `place`; NONE."""
    end = place + 1
    while end < stop and end - place <= 9 and _is_digit(load8(end)):
        end += 1
    return end


@inlined_part
def _significant(place, end):
    """Return the end of a fraction without trailing zeros, and without the point if it has no
    digits."""
    while end > place + 1 and load8(end - 1) == _ZERO:
        end -= 1
    return place if end == place + 1 else end


@inlined_part
def _timestamp(place, stop, cell):
    """Read TO_DATE('…', mask) and TO_TIMESTAMP('…'); the cell points to their text."""
    if has_word(place, stop, _TO_DATE, 8):
        place += 8
        if place >= stop or load8(place) != QUOTE:
            return NONE
        place += 1
    elif has_word(place, stop, _TO_TIMES, 8) and has_word(place + 8, stop, _TAMP, 6):
        place += 14
    else:
        return NONE
    if stop - place < 19 or timestamp_micros(place, np.int64(19)) == NO_TIME:
        return NONE
    end = place + 19
    significant_end = end
    if end < stop and load8(end) == _POINT:
        end = _fraction_end(end, stop)
        significant_end = _significant(place + 19, end)
    _put(cell, place, significant_end - place)
    return _closing(end, stop)


@part
def _zoned(place, stop, column, cell, arena):
    """Read TO_TIMESTAMP_TZ('… +01:00') as events show it."""
    if not (
        has_word(place, stop, _TO_TIMES, 8)
        and has_word(place + 8, stop, _TAMP_TZ, 8)
        and place + 16 < stop
        and load8(place + 16) == QUOTE
    ):
        return NONE
    place += 17
    if stop - place < 19 or timestamp_micros(place, np.int64(19)) == NO_TIME:
        return NONE
    digits = load64(column + DIGITS)
    end = place + 19
    point = end
    if end < stop and load8(end) == _POINT:
        end = _fraction_end(end, stop)
    copy(place, np.int64(19), arena)
    store8(arena + 10, ord("T"))
    out = arena + 19
    fraction_end = _significant(point, end) if end > point else point
    count = fraction_end - point - 1 if fraction_end > point else np.int64(0)
    if digits and count > digits:
        count = digits
    if digits or count:
        store8(out, _POINT)
        copy(point + 1, count, out + 1)
        for i in range(count, digits):
            store8(out + 1 + i, _ZERO)
        out += 1 + max(count, digits)
    if end < stop and load8(end) == _SPACE:
        end += 1
    if has_word(end, stop, _UTC_2, 6):
        store8(out, ord("Z"))
        out += 1
        end += 6
    else:
        # Local times are shown in UTC.
        if load64(column + FORM) == _LOCAL_FORM or stop - end < 6:
            return NONE
        sign = load8(end)
        hours = (load8(end + 1) - _ZERO) * 10 + load8(end + 2) - _ZERO
        minutes = (load8(end + 4) - _ZERO) * 10 + load8(end + 5) - _ZERO
        for i in (1, 2, 4, 5):
            if not _is_digit(load8(end + i)):
                return NONE
        if (sign != _PLUS and sign != _MINUS) or load8(end + 3) != _COLON:
            return NONE
        # Minus zero is odd, too.
        if minutes > 59 or hours > 17 or hours + minutes == 0:
            return NONE
        copy(end, np.int64(6), out)
        out += 6
        end += 6
    _put(cell, arena, out - arena)
    return _closing(end, stop)


@part
def _hexadecimal(place, stop, cell, arena):
    """Read HEXTORAW('…') as bytes."""
    if not (has_word(place, stop, _HEXTORAW, 8) and has_word(place + 8, stop, _OPEN_QUOTE, 2)):
        return NONE
    place += 10
    store8(arena, _BACKSLASH)
    store8(arena + 1, _SMALL_X)
    out = arena + 2
    while place < stop:
        byte = load8(place)
        lower = byte | 32
        if 97 <= lower <= 102:
            store8(out, lower)
        elif _is_digit(byte):
            store8(out, byte)
        else:
            break
        out += 1
        place += 1
    if (out - arena) & 1 or not has_word(place, stop, _CLOSED, 2):
        return NONE
    _put(cell, arena, out - arena)
    return place + 2


@inlined_part
def _rare(place, stop, column, form, cell):
    """Read NULL, values that LogMiner does not support, and empty LOBs."""
    if has_word(place, stop, _NULL_WORD, 4):
        store64(cell, NULL)
        return place + 4
    if has_word(place, stop, _UNSUPPORTED, 8) and has_word(place + 8, stop, _UNSUPPORTED_2, 3):
        place += 11
        store64(cell, NO_CELL)
        return place + 5 if has_word(place, stop, _TYPE, 5) else place
    if (form in (_TEXT_FORM, _BYTES_FORM)) and load64(column + NOT_NULL) == 0:
        is_empty = has_word(place, stop, _EMPTY_CLOB, 8) or has_word(place, stop, _EMPTY_BLOB, 8)
        if is_empty and has_word(place + 8, stop, _OB, 4):
            store64(cell, NULL)
            return place + 12
    return NONE


@part
def read_value(place, stop, column, cell, arena):
    """Read the value of a column at a place into a split cell, whose text lies in the statement or
    at `arena`, where there is room for twice the statement and 64 bytes more. The cell is NO_CELL
    if the statement does not state the value. Returns the value's end, or NONE."""
    if place >= stop:
        return NONE
    form = load64(column + FORM)
    end = NONE
    if load8(place) == QUOTE:
        if form == _TEXT_FORM:
            if (
                load64(column + IS_APART)
                and has_word(place + 1, stop, _LM_EMPTY, 8)
                and has_word(place + 9, stop, _STRING, 8)
            ):
                return NONE
            return _quoted_text(place, stop, cell, arena)
        if form == _NUMBER_FORM:
            end = _number(place + 1, stop, cell, arena)
            if end < 0 or end >= stop or load8(end) != QUOTE:
                return NONE
            end += 1
            # Joined texts are not read here.
            if end < stop and load8(end) == QUOTE:
                return NONE
        return end
    if form == _TIMESTAMP_FORM:
        end = _timestamp(place, stop, cell)
    elif form == _NUMBER_FORM:
        end = _number(place, stop, cell, arena)
    elif form == _TEXT_FORM:
        if has_word(place, stop, _UNISTR, 8):
            end = _joined_text(place, stop, cell, arena)
    elif form == _BYTES_FORM:
        end = _hexadecimal(place, stop, cell, arena)
    elif form in (_ZONED_FORM, _LOCAL_FORM):
        end = _zoned(place, stop, column, cell, arena)
    if end >= 0:
        return end
    return _rare(place, stop, column, form, cell)
