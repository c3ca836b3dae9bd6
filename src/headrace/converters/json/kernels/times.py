"""Compiled encoders for dates and times, from their canonical texts (ISO, at UTC).

Part of `headrace.converters.json.kernels.cells`, whose rules on memory apply. BC dates, years of
five digits and infinity have another form; the result for them is `NO_TIME`.
"""

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.functions import part
from headrace.connect.kernels.memory import (
    copy16,
    load8,
    load16,
    load32,
    load64,
    store8,
    store32,
    store64,
)
from headrace.connect.kernels.text import (
    DIGIT_ZEROS,
    HIGH_BITS,
    divide,
    is_text_of_digits,
    number_of_eight,
    wrapping_add,
)

# No instant of the years 1 to 9999 and no time of day comes near this number.
NO_TIME = -(2**63)

_POINT, _QUOTE, _SMALL_T, _ZULU = ord("."), ord('"'), ord("T"), ord("Z")


def _pattern(text: bytes) -> tuple[int, int]:
    """Return the word to xor a text with, and the word to add so that high bits mark characters
    that do not match.

    A 0 in `text` matches any digit; other characters match exactly.
    """
    mask = int.from_bytes(text, "little", signed=True)
    above = bytes(0x76 if byte == 0x30 else 0x7F for byte in text)
    return mask, int.from_bytes(above, "little", signed=True)


_YEAR_MONTH, _YEAR_MONTH_FITS = _pattern(b"0000-00-")
_DAY_HOUR, _DAY_HOUR_FITS = _pattern(b"00 00:00")
_CLOCK, _CLOCK_FITS = _pattern(b"00:00:00")
_UTC = int.from_bytes(b"+00", "little")

# Days before a month in a year that starts in March, and the days a month always has.
_DAYS_BEFORE = np.array([0, 306, 337, 0, 31, 61, 92, 122, 153, 184, 214, 245, 275], np.int64)
_DAYS_IN = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], np.int64)


@part
def _two(digits, shift):  # type: ignore[no-untyped-def]
    return ((digits >> shift) & 15) * 10 + ((digits >> (shift + 8)) & 15)


@part
def _days(date, day):  # type: ignore[no-untyped-def]
    """Days since 1970-01-01; `date` holds the digits of `YYYY-MM-`."""
    year = _two(date, 0) * 100 + _two(date, 16)
    month = _two(date, 40)
    if month < 1 or month > 12 or day < 1 or year < 1:
        return np.int64(NO_TIME)
    if day > _DAYS_IN[month]:
        leap = year & 3 == 0 and (year % 100 != 0 or year % 400 == 0)
        if month != 2 or day > 29 or not leap:
            return np.int64(NO_TIME)
    if month <= 2:
        year -= 1
    century = divide(year, 100)
    leaps = (year >> 2) - century + (century >> 2)
    return year * 365 + leaps + _DAYS_BEFORE[month] + day - 719469


@part
def date_days(address, length):  # type: ignore[no-untyped-def]
    """Days since 1970-01-01 of `YYYY-MM-DD`."""
    if length != 10:
        return np.int64(NO_TIME)
    date = load64(address) ^ _YEAR_MONTH
    day = load16(address + 8) ^ 0x3030
    wrong = (wrapping_add(date, _YEAR_MONTH_FITS) | date) & HIGH_BITS
    if wrong | (((day + 0x7676) | day) & 0x8080):
        return np.int64(NO_TIME)
    return _days(date, _two(day, 0))


@part
def fraction_micros(address, length):  # type: ignore[no-untyped-def]
    """Microseconds of `.f` to `.ffffff`; 0 for an empty text, -1 if it has another form."""
    if length == 0:
        return np.int64(0)
    if length < 2 or length > 7 or load8(address) != _POINT:
        return np.int64(-1)
    # Missing digits read as zeros; two zeros are put in front, which makes eight digits.
    digits = ((load64(address + 1) ^ DIGIT_ZEROS) & ((1 << (8 * length - 8)) - 1)) << 16
    if not is_text_of_digits(digits):
        return np.int64(-1)
    return number_of_eight(digits)


@part
def time_micros(address, length):  # type: ignore[no-untyped-def]
    """Microseconds since midnight of `HH:MM:SS[.ffffff]`, up to 24:00:00."""
    if length < 8:
        return np.int64(NO_TIME)
    clock = load64(address) ^ _CLOCK
    if (wrapping_add(clock, _CLOCK_FITS) | clock) & HIGH_BITS:
        return np.int64(NO_TIME)
    micros = fraction_micros(address + 8, length - 8)
    minute, second = _two(clock, 24), _two(clock, 48)
    if micros < 0 or minute > 59 or second > 59:
        return np.int64(NO_TIME)
    micros += ((_two(clock, 0) * 60 + minute) * 60 + second) * 1000000
    if micros > 86400000000:
        return np.int64(NO_TIME)
    return micros


@part
def timestamp_micros(address, length):  # type: ignore[no-untyped-def]
    """Microseconds since 1970-01-01 of `YYYY-MM-DD HH:MM:SS[.ffffff]`."""
    if length < 19:
        return np.int64(NO_TIME)
    date = load64(address) ^ _YEAR_MONTH
    clock = load64(address + 8) ^ _DAY_HOUR
    seconds = (load32(address + 16) & 0xFFFFFF) ^ 0x30303A
    wrong = (wrapping_add(date, _YEAR_MONTH_FITS) | date) & HIGH_BITS
    wrong |= (wrapping_add(clock, _DAY_HOUR_FITS) | clock) & HIGH_BITS
    wrong |= ((seconds + 0x76767F) | seconds) & 0x808080
    if wrong:
        return np.int64(NO_TIME)
    days = _days(date, _two(clock, 0))
    hour, minute, second = _two(clock, 24), _two(clock, 48), _two(seconds, 8)
    micros = fraction_micros(address + 19, length - 19)
    if days == NO_TIME or micros < 0 or hour > 23 or minute > 59 or second > 59:
        return np.int64(NO_TIME)
    return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000000 + micros


@part
def put_timestamptz(address, length, digits, out):  # type: ignore[no-untyped-def]
    """Write ISO 8601 in quotes, ending in Z, of `YYYY-MM-DD HH:MM:SS[.ffffff]+00`.

    `digits` is the number of digits of the fraction, 0: as many as the value needs.
    """
    length -= 3
    if length < 19 or (load32(address + length) & 0xFFFFFF) != _UTC:
        return np.int64(-1)
    return put_timestamp(address, length, digits, out)


@part
def put_timestamp(address, length, digits, out):  # type: ignore[no-untyped-def]
    """Write ISO 8601 in quotes, ending in Z, of `YYYY-MM-DD HH:MM:SS[.ffffff]` in UTC; `digits` as
    in `put_timestamptz`."""
    if length < 19 or length > 26 or digits < 0 or digits > 6:
        return np.int64(-1)
    if timestamp_micros(address, length) == NO_TIME:
        return np.int64(-1)
    present = max(length - 20, 0)
    if digits == 0:
        digits = present
        while digits > 0 and load8(address + 19 + digits) == 48:
            digits -= 1
    # Digits beyond the column's precision would have to be cut off.
    for place in range(digits, present):
        if load8(address + 20 + place) != 48:
            return np.int64(-1)
    store8(out, _QUOTE)
    copy16(out + 1, address)
    store32(out + 17, load32(address + 16))
    store8(out + 11, _SMALL_T)
    out += 20
    if digits > 0:
        store8(out, _POINT)
        fraction = (load64(address + 20) ^ DIGIT_ZEROS) & ((1 << (8 * present)) - 1)
        store64(out + 1, fraction ^ DIGIT_ZEROS)
        out += 1 + digits
    store8(out, _ZULU)
    store8(out + 1, _QUOTE)
    return out + 2


@part
def put_date(address, length, out):  # type: ignore[no-untyped-def]
    """`YYYY-MM-DD` in quotes, with a Z."""
    if length != 10 or date_days(address, length) == NO_TIME:
        return np.int64(-1)
    store8(out, _QUOTE)
    copy16(out + 1, address)
    store8(out + 11, _ZULU)
    store8(out + 12, _QUOTE)
    return out + 13


@part
def put_time(address, length, out):  # type: ignore[no-untyped-def]
    """Write `HH:MM:SS[.ffffff]` in quotes, with a Z and without trailing zeros."""
    micros = time_micros(address, length)
    if micros == NO_TIME or micros == 86400000000:
        return np.int64(-1)
    if length > 8:
        while load8(address + length - 1) == 48:
            length -= 1
        if length == 9:
            length = 8
    store8(out, _QUOTE)
    copy16(out + 1, address)
    store8(out + 1 + length, _ZULU)
    store8(out + 2 + length, _QUOTE)
    return out + 3 + length
