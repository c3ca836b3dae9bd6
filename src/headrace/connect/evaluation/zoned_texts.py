"""Texts of times with an offset from UTC in ISO 8601: parsed and written a column at a time. Texts
of other forms are left to slower code."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headrace.connect.kernels.functions import entry, inlined_part, part
from headrace.connect.kernels.memory import PADDING, address_of, load8, load64, store8, store64

_ZERO, _POINT, _COLON, _DASH, _PLUS = (ord(character) for character in "0.:-+")
_DATE_ENDS, _UTC = ord("T"), ord("Z")
_DATE = 11
"""Length of a date and its separator from the time: `2026-01-02T`."""
_MAX_DIGITS = 9
_LONGEST = 40
"""Bytes reserved for a text; at least the length of `2026-01-02T03:04:05.123456789+02:00:01`."""
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_DAYS_OF_ERA, _EPOCH = 146_097, 719_468
"""Days of 400 years, and days from 0000-03-01 to 1970-01-01."""
_FIRST, _BEHIND = -62_135_596_800, 253_402_300_800
"""Seconds since 1970 of 0001-01-01 and of 10000-01-01."""
_TEXT = pa.large_string()


@inlined_part
def _two(place):
    """Return the number of two digits; -1 if a byte is not a digit."""
    high, low = load8(place) - _ZERO, load8(place + 1) - _ZERO
    if high < 0 or high > 9 or low < 0 or low > 9:
        return np.int64(-1)
    return 10 * high + low


@part
def _days(place):
    """Return the days since 1970-01-01 of `2026-01-02`; _BEHIND for an invalid date."""
    century, of_century = _two(place), _two(place + 2)
    month, day = _two(place + 5), _two(place + 8)
    sound = century >= 0 and of_century >= 0 and 1 <= month <= 12 and day >= 1
    sound = sound and load8(place + 4) == _DASH and load8(place + 7) == _DASH
    if not sound:
        return np.int64(_BEHIND)
    year = 100 * century + of_century
    last = np.int64(30) + ((month + (month >> 3)) & 1)
    if month == 2:
        is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        last = np.int64(29) if is_leap else np.int64(28)
    if day > last:
        return np.int64(_BEHIND)
    shifted = year + 400 - (1 if month <= 2 else 0)
    era = shifted // 400
    of_era = shifted - 400 * era
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    days = era * _DAYS_OF_ERA + of_era * 365 + of_era // 4 - of_era // 100 + of_year
    return days - _EPOCH - _DAYS_OF_ERA


@part
def _offset(place, end):
    """Return the seconds of `Z` or `+hh:mm[:ss]`; _DAY for any other text."""
    if end - place == 1 and load8(place) == _UTC:
        return np.int64(0)
    if end - place != 6 and end - place != 9:
        return np.int64(_DAY)
    sign, hours, minutes = load8(place), _two(place + 1), _two(place + 4)
    seconds = np.int64(0)
    sound = sign in (_PLUS, _DASH) and load8(place + 3) == _COLON
    if end - place == 9:
        seconds = _two(place + 7)
        sound = sound and load8(place + 6) == _COLON
    if not sound or not (0 <= hours <= 18 and 0 <= minutes <= 59 and 0 <= seconds <= 59):
        return np.int64(_DAY)
    offset = _HOUR * hours + _MINUTE * minutes + seconds
    return -offset if sign == _DASH else offset


@entry
def _read(offsets, count, data, has_date, seconds, shifts, fractions):
    """Parse `count` texts into their parts; return how many have the form."""
    for i in range(count):
        place = data + offsets[i]
        end = data + offsets[i + 1]
        moment = np.int64(0)
        if has_date:
            if end - place < _DATE or load8(place + _DATE - 1) != _DATE_ENDS:
                return i
            days = _days(place)
            if days == _BEHIND:
                return i
            moment = _DAY * days
            place += _DATE
        if end - place < 6 or load8(place + 2) != _COLON:
            return i
        hour, minute, second = _two(place), _two(place + 3), np.int64(0)
        place += 5
        if load8(place) == _COLON:
            if end - place < 4:
                return i
            second = _two(place + 1)
            place += 3
        if not (0 <= hour <= 23 and 0 <= minute <= 59 and 0 <= second <= 59):
            return i
        begin = place
        last = place
        if load8(place) == _POINT:
            place += 1
            while place < end and _ZERO <= load8(place) <= _ZERO + 9:
                if load8(place) != _ZERO:
                    last = place + 1
                place += 1
            digits = place - begin - 1
            if digits < 1 or digits > _MAX_DIGITS or place == end:
                return i
        shift = _offset(place, end)
        if shift == _DAY:
            return i
        seconds[i] = moment + _HOUR * hour + _MINUTE * minute + second
        shifts[i] = shift
        store64(fractions + 16 * i, begin)
        store64(fractions + 16 * i + 8, last - begin)
    return count


@inlined_part
def _put_two(number, out):
    store8(out, _ZERO + number // 10)
    store8(out + 1, _ZERO + number % 10)
    return out + 2


@part
def _put_date(days, out):
    """Write `2026-01-02T` for days since 1970-01-01; return its end."""
    shifted_days = days + _EPOCH
    era = shifted_days // _DAYS_OF_ERA
    of_era = shifted_days - era * _DAYS_OF_ERA
    years = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * years + years // 4 - years // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    year = years + 400 * era + (1 if month <= 2 else 0)
    out = _put_two(year % 100, _put_two(year // 100, out))
    store8(out, _DASH)
    out = _put_two(month, out + 1)
    store8(out, _DASH)
    out = _put_two(of_year - (153 * shifted + 2) // 5 + 1, out + 1)
    store8(out, _DATE_ENDS)
    return out + 1


@part
def _put_offset(offset, out):
    """Write `Z` or `+hh:mm[:ss]`; return its end."""
    if offset == 0:
        store8(out, _UTC)
        return out + 1
    store8(out, _DASH if offset < 0 else _PLUS)
    size = abs(offset)
    out = _put_two(size // _HOUR, out + 1)
    store8(out, _COLON)
    out = _put_two(size // _MINUTE % 60, out + 1)
    if size % 60:
        store8(out, _COLON)
        out = _put_two(size % 60, out + 1)
    return out


@entry
def _write(count, days, of_days, shifts, fractions, has_date, ends, out):
    """Write `count` texts, one after the other at `out`; store the end of each in `ends`."""
    begin = out
    for i in range(count):
        if has_date:
            out = _put_date(days[i], out)
        second = of_days[i]
        out = _put_two(second // _HOUR, out)
        store8(out, _COLON)
        out = _put_two(second // _MINUTE % 60, out + 1)
        store8(out, _COLON)
        out = _put_two(second % 60, out + 1)
        source = load64(fractions + 16 * i)
        size = load64(fractions + 16 * i + 8)
        for place in range(size):
            store8(out + place, load8(source + place))
        out = _put_offset(shifts[i], out + size)
        ends[i] = out - begin
    return out - begin


@dataclass(frozen=True, eq=False)
class ZonedTexts:
    """Times as their parts, int64 each: the `seconds` since 1970-01-01 (without dates: since
    midnight) of the local time, and the `offsets` from UTC in seconds."""

    seconds: np.ndarray
    offsets: np.ndarray
    _fractions: np.ndarray
    """Addresses and lengths of the points and digits of fractions, without trailing zeros."""
    _texts: pa.Array
    """The texts, which own the memory of `_fractions`."""
    _has_date: bool

    @classmethod
    def read(cls, texts: pa.LargeStringArray, *, has_date: bool) -> ZonedTexts | None:
        """Parse texts without nulls, `2026-01-02T03:04:05.123+02:00` or without the date; seconds
        and fractions of up to nine digits are optional, and `Z` is UTC. None if a text has another
        form, a year without four digits, or an invalid date or time."""
        count = len(texts)
        _, offsets, buffer = texts.buffers()
        if count == 0 or buffer is None:
            return None
        places = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + count + 1]
        seconds, shifts = np.empty(count, np.int64), np.empty(count, np.int64)
        fractions = np.empty((count, 2), np.int64)
        read = _read(
            address_of(places), count, buffer.address, int(has_date), address_of(seconds),
            address_of(shifts), address_of(fractions),
        )  # fmt: skip
        return cls(seconds, shifts, fractions, texts, has_date) if read == count else None

    def written(self, seconds: np.ndarray, offsets: np.ndarray) -> pa.LargeStringArray | None:
        """Return the texts of other seconds and offsets (int64), with the same fractions; None if a
        year has not four digits."""
        count = len(seconds)
        if self._has_date and not (int(seconds.min()) >= _FIRST and int(seconds.max()) < _BEHIND):
            return None
        days, of_days = np.divmod(np.asarray(seconds, np.int64), _DAY)
        shifts = np.ascontiguousarray(offsets, np.int64)
        ends = np.zeros(count + 1, np.int64)
        out = np.empty(count * _LONGEST + PADDING, np.uint8)
        size = _write(
            count, address_of(days), address_of(of_days), address_of(shifts),
            address_of(self._fractions), int(self._has_date), address_of(ends) + 8, address_of(out),
        )  # fmt: skip
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(out[:size])]
        return pa.Array.from_buffers(_TEXT, count, buffers)
