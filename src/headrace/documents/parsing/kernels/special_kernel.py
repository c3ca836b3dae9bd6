"""Compiled parser of objects of Extended JSON that represent a type, such as `{"$oid": …}`.

Each must have exactly the members that its writers give it, in their order. Functions return the
type, the place after the value and the end of the output; the place is 0 if plain Python has to
read or reject the text, as for code with a scope, pointers, `$uuid` and the oldest binary data. The
rules on memory are those of `headrace.connect.kernels.memory`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.functions import part
from headrace.connect.kernels.memory import load8, load64, store8, store32, store64
from headrace.connect.kernels.text import DIGIT_ZEROS, HIGH_BITS, double_bits, parse_digits
from headrace.documents.bson import (
    BINARY,
    CODE,
    DATE,
    DECIMAL128,
    DOUBLE,
    INT32,
    INT64,
    MAX_KEY,
    MIN_KEY,
    OBJECT_ID,
    OLD_BINARY,
    REGEX,
    SYMBOL,
    TIMESTAMP,
    UNDEFINED,
)
from headrace.documents.parsing.kernels.decimal_kernel import put_decimal
from headrace.documents.parsing.kernels.number_kernel import parse_integer, parse_number
from headrace.documents.parsing.kernels.string_kernel import (
    COLON,
    COMMA,
    HEXADECIMAL_VALUES,
    QUOTE,
    after_byte,
    after_token,
    begins_with,
    put_name,
    put_string,
    skip_blanks,
    token,
)

_OPEN, _CLOSE, _EQUALS, _DASH, _POINT, _T, _ZULU = map(ord, "{}=-.TZ")
_NAN_BITS, _INFINITY_BITS, _NEGATIVE = 0x7FF8 << 48, 0x7FF0 << 48, -(1 << 63)
NAN, INFINITY, NEGATIVE_INFINITY = map(token, ("NaN", "Infinity", "-Infinity"))
_TRUE = token("true")

_LONG = token('"$numberLong"')
_TYPE, _BASE64, _SUBTYPE = map(token, ('"$type"', '"base64"', '"subType"'))
_OPTIONS, _PATTERN, _NEW_OPTIONS = map(token, ('"$options"', '"pattern"', '"options"'))
_TIME, _INCREMENT = map(token, ('"t"', '"i"'))
_MAX_OPTIONS = 16
_MILLIS_PER_DAY = 86_400_000

_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_BASE64_VALUES = np.array([_ALPHABET.find(bytes([byte])) for byte in range(256)], np.int16)
_DAYS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], np.int64)

# Codes of names; 0: no code. The codes of types are their numbers in BSON, which differ from these.
_NUMBER_INT_CODE, _OLD_REGEX_CODE, _PLAIN_CODE = 0x101, 0x102, 0x103


_NAMES = {
    "$oid": OBJECT_ID,
    "$date": DATE,
    "$numberLong": INT64,
    "$numberInt": _NUMBER_INT_CODE,
    "$numberDouble": DOUBLE,
    "$numberDecimal": DECIMAL128,
    "$binary": BINARY,
    "$timestamp": TIMESTAMP,
    "$regularExpression": REGEX,
    "$regex": _OLD_REGEX_CODE,
    "$code": CODE,
    "$symbol": SYMBOL,
    "$undefined": UNDEFINED,
    "$minKey": MIN_KEY,
    "$maxKey": MAX_KEY,
    "$dbPointer": _PLAIN_CODE,
    "$uuid": _PLAIN_CODE,
}
"""Codes of names, the most frequent ones first."""
_CODES = np.array([(*token(f'{name}"'), code) for name, code in _NAMES.items()], np.int64)

_CODE_COUNT = len(_CODES)


@part
def _code(place, end):
    """Return the code of the name at `place`, and the place after its closing quote."""
    for i in range(_CODE_COUNT):
        if (
            load64(place) & _CODES[i, 3] == _CODES[i, 0]
            and place + _CODES[i, 6] <= end
            and load64(place + 8) & _CODES[i, 4] == _CODES[i, 1]
            and load64(place + 16) & _CODES[i, 5] == _CODES[i, 2]
        ):
            return _CODES[i, 7], place + _CODES[i, 6]
    return np.int64(0), place


@part
def _put_four_bytes(place, out):
    """Write four bytes from eight hexadecimal digits; returns whether they are digits."""
    word = load64(place)
    digit = word ^ DIGIT_ZEROS
    letter = (word | 0x2020202020202020) ^ 0x6060606060606060
    # A set high bit marks a byte that does not match; bytes from 128 on set both; only they carry.
    no_digit = (digit + 0x7676767676767676) | digit
    no_letter = (letter + 0x7979797979797979) | letter | ~(letter + 0x7F7F7F7F7F7F7F7F)
    if no_digit & no_letter & HIGH_BITS:
        return False
    word = (word & 0x0F0F0F0F0F0F0F0F) + 9 * ((word >> 6) & 0x0101010101010101)
    word = (word << 4 | word >> 8) & 0x00FF00FF00FF00FF
    word = (word | word >> 8) & 0x0000FFFF0000FFFF
    store32(out, word | word >> 16)
    return True


@part
def _put_object_id(place, end, out):
    place = after_byte(place, end, QUOTE)
    if place == 0 or place + 24 >= end or load8(place + 24) != QUOTE:
        return np.int64(0), out
    for i in range(3):
        if not _put_four_bytes(place + 8 * i, out + 4 * i):
            return np.int64(0), out
    return place + 25, out + 12


@part
def _quoted_integer(place, end):
    """Read an integer in quotes; returns it, and the place after the closing quote."""
    place = after_byte(place, end, QUOTE)
    if place == 0:
        return np.int64(0), place
    value, place = parse_integer(place, end)
    if place == 0 or place >= end or load8(place) != QUOTE:
        return value, np.int64(0)
    return value, place + 1


@part
def _put_double(place, end, out):
    place = after_byte(place, end, QUOTE)
    if place == 0:
        return place, out
    bits = np.int64(0)
    if begins_with(place, end, NAN):
        bits = np.int64(_NAN_BITS)
        place += NAN[6]
    elif begins_with(place, end, INFINITY):
        bits = np.int64(_INFINITY_BITS)
        place += INFINITY[6]
    elif begins_with(place, end, NEGATIVE_INFINITY):
        bits = np.int64(_INFINITY_BITS | _NEGATIVE)
        place += NEGATIVE_INFINITY[6]
    else:
        is_negative = place < end and load8(place) == _DASH
        is_double, bits, place = parse_number(place, end)
        if place and not is_double:
            bits = double_bits(np.float64(bits))
            if is_negative:
                bits |= _NEGATIVE
    if place == 0 or place >= end or load8(place) != QUOTE:
        return np.int64(0), out
    store64(out, bits)
    return place + 1, out + 8


@part
def _days(year, month, day):
    """Days since 1970-01-01 of a date of the years from 1 on; eras begin in March (Howard Hinnant's
    `days_from_civil`)."""
    if month <= 2:
        year -= 1
        month += 12
    era = year // 400
    year_of_era = year - 400 * era
    day_of_year = (153 * (month - 3) + 2) // 5 + day - 1
    return (
        era * 146097
        + year_of_era * 365
        + year_of_era // 4
        - year_of_era // 100
        + day_of_year
        - 719468
    )


@part
def _iso_millis(place, end):
    """Read `YYYY-MM-DDTHH:MM:SS`, an optional fraction, and `Z` in quotes; returns milliseconds
    since 1970 and the place after the closing quote."""
    nothing = np.int64(0)
    if place + 21 > end:
        return nothing, nothing
    marks = load8(place + 4) << 24 | load8(place + 7) << 16 | load8(place + 13) << 8
    if (
        marks | load8(place + 16) != (_DASH << 24 | _DASH << 16 | COLON << 8 | COLON)
        or load8(place + 10) != _T
    ):
        return nothing, nothing
    year, month, day = (
        parse_digits(place, 4), parse_digits(place + 5, 2), parse_digits(place + 8, 2),
    )  # fmt: skip
    hour, minute, second = (
        parse_digits(place + 11, 2), parse_digits(place + 14, 2), parse_digits(place + 17, 2),
    )  # fmt: skip
    if year < 1 or month < 1 or month > 12 or day < 1 or hour < 0 or minute < 0 or second < 0:
        return nothing, nothing
    is_leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if day > _DAYS[month - 1] + is_leap or hour > 23 or minute > 59 or second > 59:
        return nothing, nothing
    millis = _days(year, month, day) * _MILLIS_PER_DAY
    millis += 1000 * (3600 * hour + 60 * minute + second)
    place += 19
    if load8(place) == _POINT:
        place += 1
        start, scale = place, np.int64(100)
        while place < end and parse_digits(place, 1) >= 0:
            millis += scale * parse_digits(place, 1)
            scale //= 10
            place += 1
        if place == start:
            return nothing, nothing
    if place + 2 > end or load8(place) != _ZULU or load8(place + 1) != QUOTE:
        return nothing, nothing
    return millis, place + 2


@part
def _put_date(place, end, out):
    place = skip_blanks(place, end)
    byte = load8(place) if place < end else np.int64(0)
    millis = np.int64(0)
    if byte == QUOTE:
        millis, place = _iso_millis(place + 1, end)
    elif byte == _OPEN:
        place = after_token(place + 1, end, _LONG)
        place = after_byte(place, end, COLON)
        if place:
            millis, place = _quoted_integer(place, end)
        place = after_byte(place, end, _CLOSE)
    else:
        millis, place = parse_integer(place, end)
    store64(out, millis)
    return place, out + 8


@part
def _put_base64(place, end, out):
    """Decode bytes in base64; returns the place after the closing quote, and their end."""
    while place + 4 < end:
        bits = np.int64(0)
        for i in range(4):
            value = np.int64(_BASE64_VALUES[load8(place + i)])
            if value < 0:
                return _put_last_base64(place, end, out)
            bits = bits << 6 | value
        store8(out, bits >> 16)
        store8(out + 1, bits >> 8)
        store8(out + 2, bits)
        place += 4
        out += 3
    return _put_last_base64(place, end, out)


@part
def _put_last_base64(place, end, out):
    """Decode the last characters of base64, after the last four that are all in the alphabet."""
    if place < end and load8(place) == QUOTE:
        return place + 1, out
    if place + 4 >= end or load8(place + 4) != QUOTE or load8(place + 3) != _EQUALS:
        return np.int64(0), out
    first = np.int64(_BASE64_VALUES[load8(place)])
    second = np.int64(_BASE64_VALUES[load8(place + 1)])
    third = np.int64(_BASE64_VALUES[load8(place + 2)])
    if first < 0 or second < 0 or (third < 0 and load8(place + 2) != _EQUALS):
        return np.int64(0), out
    store8(out, first << 2 | second >> 4)
    if third < 0:
        return place + 5, out + 1
    store8(out + 1, second << 4 | third >> 2)
    return place + 5, out + 2


@part
def _subtype(place, end):
    """Read a byte of one or two hexadecimal digits in quotes; returns it, and the place after
    them."""
    place = after_byte(place, end, QUOTE)
    value, start = np.int64(0), place
    while place and place < end and load8(place) != QUOTE:
        digit = np.int64(HEXADECIMAL_VALUES[load8(place)])
        if digit < 0 or place - start == 2:
            return value, np.int64(0)
        value = value << 4 | digit
        place += 1
    if place == start or place >= end:
        return value, np.int64(0)
    return value, place + 1


@part
def _put_binary(place, end, out):
    place = skip_blanks(place, end)
    is_new = place < end and load8(place) == _OPEN
    if is_new:
        place = after_byte(after_token(place + 1, end, _BASE64), end, COLON)
    place = after_byte(place, end, QUOTE)
    if place == 0:
        return place, out
    place, stop = _put_base64(place, end, out + 5)
    place = after_token(after_byte(place, end, COMMA), end, _SUBTYPE if is_new else _TYPE)
    subtype, place = _subtype(after_byte(place, end, COLON), end)
    if is_new:
        place = after_byte(place, end, _CLOSE)
    if subtype == OLD_BINARY:
        return np.int64(0), out
    store32(out, stop - out - 5)
    store8(out + 4, subtype)
    return place, stop


@part
def _put_timestamp(place, end, out):
    place = after_token(after_byte(place, end, _OPEN), end, _TIME)
    place = after_byte(place, end, COLON)
    if place == 0:
        return place, out
    time, place = parse_integer(skip_blanks(place, end), end)
    place = after_byte(after_token(after_byte(place, end, COMMA), end, _INCREMENT), end, COLON)
    if place == 0:
        return place, out
    increment, place = parse_integer(skip_blanks(place, end), end)
    place = after_byte(place, end, _CLOSE)
    if (time | increment) >> 32 != 0:
        return np.int64(0), out
    store64(out, time << 32 | increment)
    return place, out + 8


@part
def _sort_options(start, stop):
    """Sort the letters between two places; returns whether they are ASCII, and few enough."""
    if stop - start > _MAX_OPTIONS:
        return False
    for i in range(start, stop):
        byte = load8(i)
        if byte >= 0x80:
            return False
        place = i
        while place > start and load8(place - 1) > byte:
            store8(place, load8(place - 1))
            place -= 1
        store8(place, byte)
    return True


@part
def _put_regex(place, end, is_new, out):
    if is_new:
        place = after_byte(after_token(after_byte(place, end, _OPEN), end, _PATTERN), end, COLON)
    place = after_byte(place, end, QUOTE)
    if place == 0:
        return place, out
    place, out = put_name(place, end, out)
    place = after_token(after_byte(place, end, COMMA), end, _NEW_OPTIONS if is_new else _OPTIONS)
    place = after_byte(after_byte(place, end, COLON), end, QUOTE)
    if place == 0:
        return place, out
    place, stop = put_name(place, end, out)
    if place == 0 or not _sort_options(out, stop - 1):
        return np.int64(0), out
    return (after_byte(place, end, _CLOSE) if is_new else place), stop


@part
def _put_text(place, end, out):
    place = after_byte(place, end, QUOTE)
    if place == 0:
        return place, out
    place, stop = put_string(place, end, out + 4)
    store8(stop, 0)
    store32(out, stop - out - 3)
    return place, stop + 1


@part
def _put_whole(code, place, end, out):
    """Write an int32 or int64 from an integer in quotes."""
    value, place = _quoted_integer(place, end)
    store64(out, value)
    if code == INT64:
        return np.int64(INT64), place, out + 8
    if value < -0x80000000 or value > 0x7FFFFFFF:
        return np.int64(INT32), np.int64(0), out
    return np.int64(INT32), place, out + 4


@part
def _put_marker(code, place, end, out):
    """Read a value that consists only of its type."""
    if code == UNDEFINED:
        return code, after_token(place, end, _TRUE), out
    return code, after_byte(place, end, ord("1")), out


@part
def _put_value(code, place, end, out):
    """Write the value of an object with this code; see the module."""
    if code == OBJECT_ID:
        place, out = _put_object_id(place, end, out)
    elif code == DATE:
        place, out = _put_date(place, end, out)
    elif code in (INT64, _NUMBER_INT_CODE):
        return _put_whole(code, place, end, out)
    elif code == DOUBLE:
        place, out = _put_double(place, end, out)
    elif code == DECIMAL128:
        place = after_byte(place, end, QUOTE)
        if place:
            place = put_decimal(place, end, out)
        out += 16
    elif code == BINARY:
        place, out = _put_binary(place, end, out)
    elif code == TIMESTAMP:
        place, out = _put_timestamp(place, end, out)
    elif code in (REGEX, _OLD_REGEX_CODE):
        place, out = _put_regex(place, end, code == REGEX, out)
        code = np.int64(REGEX)
    elif code in (CODE, SYMBOL):
        place, out = _put_text(place, end, out)
    elif code in (UNDEFINED, MIN_KEY, MAX_KEY):
        return _put_marker(code, place, end, out)
    else:
        place = np.int64(0)
    return code, place, out


@part
def put_special(place, end, out):
    """Write the value of an object whose first name, without its quote, is at `place`; returns its
    type (0: the name does not represent a type), the place after the object and the end of the
    output. Up to 32 bytes more than the object has are written."""
    code, place = _code(place, end)
    if code == 0:
        return code, place, out
    place = after_byte(place, end, COLON)
    if place:
        code, place, out = _put_value(code, place, end, out)
    return code, after_byte(place, end, _CLOSE), out
