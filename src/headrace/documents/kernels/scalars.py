"""Numbers, dates and identifiers of BSON in Java's text form.

The functions read and write memory by the rules of `headrace.connect.kernels.memory`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.java_floats import put_double
from headrace.connect.kernels.memory import load8, load32, load64, store8, store16, store64
from headrace.connect.kernels.text import DIGIT_ZEROS, as_word, divide, put_int

MAX_ISO_MILLIS = 253402300799999
"""The last millisecond of the year 9999; later dates and those before 1970 are written as
numbers."""

_MILLIS_PER_DAY = 86_400_000
_DASH, _PLUS, _POINT, _ZERO, _LARGE_E = ord("-"), ord("+"), ord("."), ord("0"), ord("E")
_COLON, _T, _ZULU = ord(":"), ord("T"), ord("Z")
_NAN, _INFINITY = as_word(b"NaN"), as_word(b"Infinity")

_TWO_DIGITS = np.frombuffer(b"".join(b"%02d" % i for i in range(100)), np.uint16)


@part
def is_special(bits):
    """Whether a double is NaN or infinite."""
    return (bits >> 52) & 0x7FF == 0x7FF


MAX_SORTED_OPTIONS = 64
"""The most options of a regular expression that are sorted; more options keep their order."""


@part
def put_sorted_options(place, length, out):
    """Write the options of a regular expression in the order of their characters, as in the Java
    driver; options that are not ASCII keep their order. The caller checks that there are at most
    `MAX_SORTED_OPTIONS` bytes."""
    for i in range(length):
        byte = load8(place + i)
        if byte >= 0x80:
            for j in range(length):
                store8(out + j, load8(place + j))
            return
        at = out + i
        while at > out and load8(at - 1) > byte:
            store8(at, load8(at - 1))
            at -= 1
        store8(at, byte)


@part
def put_library_double(bits, out):
    """Write a double as BSON's Java library does: Java's text, with a plus before a positive
    exponent; return its end."""
    end = put_double(bits, out)
    # The exponent has up to three digits. A text with an exponent begins with a digit, a point and
    # a digit, so the E is never among its first three characters.
    for place in range(end - 2, max(end - 5, out), -1):
        if load8(place) == _LARGE_E:
            if load8(place + 1) != _DASH:
                for moved in range(end, place + 1, -1):
                    store8(moved, load8(moved - 1))
                store8(place + 1, _PLUS)
                end += 1
            break
    return end


@part
def _two_digits(value):
    return np.int64(_TWO_DIGITS[value])


@part
def put_iso_date(millis, out):
    """Write milliseconds since 1970-01-01, not negative and up to `MAX_ISO_MILLIS`, as
    `YYYY-MM-DDTHH:MM:SSZ`, with a point and as many digits as needed if there is a fraction;
    return its end."""
    days = divide(millis, _MILLIS_PER_DAY)
    millis -= days * _MILLIS_PER_DAY
    # Years begin in March, in eras of 400 years (Howard Hinnant's `civil_from_days`).
    days += 719468
    era = divide(days, 146097)
    day_of_era = days - era * 146097
    year_of_era = divide(
        day_of_era
        - divide(day_of_era, 1460)
        + divide(day_of_era, 36524)
        - divide(day_of_era, 146096),
        365,
    )
    day = day_of_era - (365 * year_of_era + (year_of_era >> 2) - divide(year_of_era, 100))
    march_month = divide(5 * day + 2, 153)
    day -= divide(153 * march_month + 2, 5) - 1
    month = march_month + 3 if march_month < 10 else march_month - 9
    year = year_of_era + era * 400 + (1 if month <= 2 else 0)
    century = divide(year, 100)
    store16(out, _two_digits(century))
    store16(out + 2, _two_digits(year - 100 * century))
    store8(out + 4, _DASH)
    store16(out + 5, _two_digits(month))
    store8(out + 7, _DASH)
    store16(out + 8, _two_digits(day))
    store8(out + 10, _T)
    seconds = divide(millis, 1000)
    millis -= 1000 * seconds
    minutes = divide(seconds, 60)
    hours = divide(minutes, 60)
    store16(out + 11, _two_digits(hours))
    store8(out + 13, _COLON)
    store16(out + 14, _two_digits(minutes - 60 * hours))
    store8(out + 16, _COLON)
    store16(out + 17, _two_digits(seconds - 60 * minutes))
    out += 19
    if millis:
        store8(out, _POINT)
        hundreds = divide(millis, 100)
        store8(out + 1, _ZERO + hundreds)
        store16(out + 2, _two_digits(millis - 100 * hundreds))
        out += 4
        while load8(out - 1) == _ZERO:
            out -= 1
    store8(out, _ZULU)
    return out + 1


@part
def _four_bytes_hexadecimal(word):
    """Return the eight lowercase hexadecimal digits of four bytes as a word. Both words are
    little-endian."""
    word = (word | word << 16) & 0x0000FFFF0000FFFF
    word = (word | word << 8) & 0x00FF00FF00FF00FF
    digits = ((word >> 4) & 0x000F000F000F000F) | (word & 0x000F000F000F000F) << 8
    letters = ((digits + 0x0606060606060606) >> 4) & 0x0101010101010101
    return digits + DIGIT_ZEROS + letters * 39


@part
def put_object_id(address, out):
    """Write 24 hexadecimal digits; return their end."""
    store64(out, _four_bytes_hexadecimal(load32(address)))
    store64(out + 8, _four_bytes_hexadecimal(load32(address + 4)))
    store64(out + 16, _four_bytes_hexadecimal(load32(address + 8)))
    return out + 24


@part
def _put_nine(value, out):
    """Write nine digits with leading zeros."""
    for place in range(out + 8, out - 1, -1):
        tens = divide(value, 10)
        store8(place, _ZERO + value - 10 * tens)
        value = tens


@part
def _put_coefficient(high, low, out):
    """Write the digits of an integer of 113 bits; return their end. Writes up to 36 bytes."""
    a, b = (high >> 32) & 0xFFFFFFFF, high & 0xFFFFFFFF
    c, d = (low >> 32) & 0xFFFFFFFF, low & 0xFFFFFFFF
    if a == 0 and b == 0 and low >= 0:
        return put_int(low, out)
    place = out + 36
    while place > out:
        # Long division by 10**9; the remainder is the next group of digits.
        quotient = divide(a, 1_000_000_000)
        rest = (a - quotient * 1_000_000_000) << 32 | b
        a = quotient
        quotient = divide(rest, 1_000_000_000)
        rest = (rest - quotient * 1_000_000_000) << 32 | c
        b = quotient
        quotient = divide(rest, 1_000_000_000)
        rest = (rest - quotient * 1_000_000_000) << 32 | d
        c = quotient
        quotient = divide(rest, 1_000_000_000)
        d = quotient
        place -= 9
        _put_nine(rest - quotient * 1_000_000_000, place)
    zeros = np.int64(0)
    while load8(out + zeros) == _ZERO and zeros < 35:
        zeros += 1
    for i in range(36 - zeros):
        store8(out + i, load8(out + zeros + i))
    return out + 36 - zeros


EXPONENT_BIAS = 6176
"""The bias of a Decimal128's exponent."""


@part
def _put_scaled(digit_count, exponent, out):
    """Turn the `digit_count` digits at `out` into the text of their number times 10**`exponent`, in
    the form of the Decimal128 specification; return its end."""
    scientific = exponent + digit_count - 1
    if exponent > 0 or scientific < -6:
        end = out + digit_count
        if digit_count > 1:
            for place in range(end, out + 1, -1):
                store8(place, load8(place - 1))
            store8(out + 1, _POINT)
            end += 1
        store8(end, _LARGE_E)
        end += 1
        if scientific > 0:
            store8(end, _PLUS)
            end += 1
        return put_int(scientific, end)
    if exponent == 0:
        return out + digit_count
    if scientific >= 0:
        end = out + digit_count
        for place in range(end, end + exponent, -1):
            store8(place, load8(place - 1))
        store8(end + exponent, _POINT)
        return end + 1
    # A zero, the point, and zeros before the digits.
    before = 1 - scientific
    for place in range(out + digit_count - 1, out - 1, -1):
        store8(place + before, load8(place))
    for place in range(out, out + before):
        store8(place, _ZERO)
    store8(out + 1, _POINT)
    return out + before + digit_count


@entry
def put_decimal128(address, out):
    """Write the text of a Decimal128 (IEEE 754, binary integer encoding) like the Java driver,
    which keeps coefficients of more than 34 digits; return its end. Writes up to 64 bytes."""
    low, high = load64(address), load64(address + 8)
    if (high >> 58) & 31 == 31:
        store64(out, _NAN)
        return out + 3
    if high < 0:
        store8(out, _DASH)
        out += 1
    if (high >> 58) & 31 == 30:
        store64(out, _INFINITY)
        return out + 8
    if (high >> 61) & 3 == 3:
        # Coefficients in this form exceed the largest allowed one, and count as zero.
        exponent = ((high >> 47) & 0x3FFF) - EXPONENT_BIAS
        store8(out, _ZERO)
        return _put_scaled(1, exponent, out)
    exponent = ((high >> 49) & 0x3FFF) - EXPONENT_BIAS
    high &= (1 << 49) - 1
    end = _put_coefficient(high, low, out)
    return _put_scaled(end - out, exponent, out)
