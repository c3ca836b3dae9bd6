"""Texts of instants, whole columns at a time: checked, taken apart and written as matrices of
characters. What has not the common form is left to slower ways.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

HEAD = 19
"""Characters of a date and a time: `2026-01-02T03:04:05`."""
_DIGITS = np.array([0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18])
_ZERO, _NINE = ord("0"), ord("9")
_SIGNS = {4: "-", 7: "-", 13: ":", 16: ":"}
_MOST_DIGITS = 9
_DAY = 86_400
LAST_INSTANT = 253_402_300_799_999
"""Milliseconds since 1970 of the last moment of the year 9999."""
_DAYS_OF_MONTH = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
_TEXT = pa.large_string()


@dataclass(frozen=True)
class TimeTexts:
    """Texts of one form, each a date, a time, perhaps a fraction, and a tail.

    `data` (uint8) has the characters of all, text i those from `ends[i]` to `ends[i + 1]`; `head`
    (uint8, texts × HEAD) the dates and times; the tail has `tail` characters.
    """

    data: np.ndarray
    ends: np.ndarray
    head: np.ndarray
    tail: int

    def fractions(self) -> pa.Array:
        """Point and digits of the second, empty where there are none, as large_string."""
        keep = np.ones(len(self.data), np.bool_)
        keep[(self.ends[:-1, None] + np.arange(HEAD)).ravel()] = False
        for place in range(1, self.tail + 1):
            keep[self.ends[1:] - place] = False
        offsets = self.ends - (HEAD + self.tail) * np.arange(len(self.ends))
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self.data[keep])]
        return pa.Array.from_buffers(_TEXT, len(self.head), buffers)

    def seconds(self) -> np.ndarray | None:
        """Seconds since 1970-01-01 of date and time (int64); None when one is none that there
        is."""
        digits = self.head[:, _DIGITS].astype(np.int64) - _ZERO
        year = digits[:, :4] @ np.array([1000, 100, 10, 1])
        month, day, hour, minute, second = (
            digits[:, place] * 10 + digits[:, place + 1] for place in (4, 6, 8, 10, 12)
        )
        if ((month < 1) | (month > 12)).any():
            return None
        is_leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
        last = _DAYS_OF_MONTH[month] + (is_leap & (month == 2))
        wrong = (day < 1) | (day > last) | (hour > 23) | (minute > 59) | (second > 59)
        if wrong.any():
            return None
        days = _days(year, month, day)
        return np.asarray(days * _DAY + hour * 3600 + minute * 60 + second)


def _days(year: np.ndarray, month: np.ndarray, day: np.ndarray) -> np.ndarray:
    """Days since 1970-01-01 in the Gregorian calendar."""
    shifted = year - (month <= 2)
    era = shifted // 400
    of_era = shifted - era * 400
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return np.asarray(
        era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468
    )


def heads(seconds: np.ndarray) -> pa.Array | None:
    """Dates and times of seconds since 1970-01-01 as large_string; None when a year has not four
    digits."""
    days, rest = np.divmod(seconds, _DAY)
    days = days + 719_468
    era = days // 146_097
    of_era = days - era * 146_097
    years = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * years + years // 4 - years // 100)
    shifted = (5 * of_year + 2) // 153
    day = of_year - (153 * shifted + 2) // 5 + 1
    month = np.where(shifted < 10, shifted + 3, shifted - 9)
    year = years + era * 400 + (month <= 2)
    if len(year) and (int(year.min()) < 0 or int(year.max()) > 9999):
        return None
    out = np.empty((len(seconds), HEAD), np.uint8)
    for place, sign in {**_SIGNS, 10: "T"}.items():
        out[:, place] = ord(sign)
    century, of_century = np.divmod(year, 100)
    hour, rest = np.divmod(rest, 3600)
    minute, second = np.divmod(rest, 60)
    parts = {0: century, 2: of_century, 5: month, 8: day, 11: hour, 14: minute, 17: second}
    for place, part in parts.items():
        out[:, place], out[:, place + 1] = _ZERO + part // 10, _ZERO + part % 10
    offsets = np.arange(len(seconds) + 1, dtype=np.int64) * HEAD
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(out)]
    return pa.Array.from_buffers(_TEXT, len(seconds), buffers)


def time_texts(array: pa.Array, between: str, tail: str) -> TimeTexts | None:
    """Texts (large_string or large_binary without nulls) of the form
    `2026-01-02{between}03:04:05.123{tail}`, whose fractions end with another digit than 0; None
    when one has another."""
    count = len(array)
    _, offsets, held = array.buffers()
    if count == 0 or held is None:
        return None
    ends = np.frombuffer(offsets, np.int64)[array.offset : array.offset + count + 1]
    data = np.frombuffer(held, np.uint8)[ends[0] : ends[-1]]
    ends = ends - ends[0]
    fraction = np.diff(ends) - HEAD - len(tail)
    if int(fraction.min()) < 0 or int(fraction.max()) > _MOST_DIGITS + 1 or (fraction == 1).any():
        return None
    head = data[ends[:-1, None] + np.arange(HEAD)]
    signs = {**_SIGNS, 10: between}
    sound = all((head[:, place] == ord(sign)).all() for place, sign in signs.items())
    sound = sound and _are_digits(head[:, _DIGITS])
    for place, character in enumerate(reversed(tail), 1):
        sound = sound and bool((data[ends[1:] - place] == ord(character)).all())
    for place in range(int(fraction.max()) if sound else 0):
        have = fraction > place
        characters = data[(ends[:-1] + HEAD + place)[have]]
        sound = sound and (
            _are_digits(characters) if place else bool((characters == ord(".")).all())
        )
    with_fraction = fraction > 0
    if not sound or (data[(ends[1:] - len(tail) - 1)[with_fraction]] == _ZERO).any():
        return None
    return TimeTexts(data, ends, head, len(tail))


def _are_digits(characters: np.ndarray) -> bool:
    return bool(((characters >= _ZERO) & (characters <= _NINE)).all())


def in_iso(array: pa.Array) -> pa.Array | None:
    """Texts `2026-01-02 03:04:05.123+00` (large_binary) as `2026-01-02T03:04:05.123Z`
    (large_string), null where they are; None when one has another form."""
    present = array.drop_null() if array.null_count else array
    texts = time_texts(present, " ", "+00")
    if texts is None:
        return None
    data = texts.data.copy()
    data[texts.ends[:-1] + 10] = ord("T")
    data[texts.ends[1:] - 3] = ord("Z")
    keep = np.ones(len(data), np.bool_)
    keep[texts.ends[1:] - 2] = keep[texts.ends[1:] - 1] = False
    offsets = texts.ends - 2 * np.arange(len(texts.ends))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data[keep])]
    return with_nulls_of(array, pa.Array.from_buffers(_TEXT, len(present), buffers))


def instants(milliseconds: pa.Array) -> pa.Array:
    """Milliseconds since 1970 (int64) as texts `2026-01-02T03:04:05.678Z` (large_string), null
    where they are, before 1970 and after LAST_INSTANT."""
    has_text = pc.and_(pc.greater_equal(milliseconds, 0), pc.less_equal(milliseconds, LAST_INSTANT))
    moments = pc.if_else(has_text, milliseconds, pa.scalar(None, pa.int64()))
    texts = pc.strftime(moments.cast(pa.timestamp("ms")), format="%Y-%m-%dT%H:%M:%SZ")
    return pc.cast(texts, _TEXT)


def with_nulls_of(array: pa.Array, made: pa.Array) -> pa.Array:
    """What was made of the values of an array that are not null, and nulls between them."""
    if not array.null_count:
        return made
    is_valid = np.asarray(array.is_valid())
    index = np.cumsum(is_valid) - 1
    return made.take(pa.array(index, mask=~is_valid))
