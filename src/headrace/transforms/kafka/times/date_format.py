"""Patterns of java.text.SimpleDateFormat: formats and parses instants, in UTC and in English.

Dates are those of the Gregorian calendar, also before 1582. Weeks begin on Sunday, and the first
week of a year is that of January 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_TEXT = pa.large_string()
_DAY = 86_400_000
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September",
           "October", "November", "December")  # fmt: skip
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_LETTERS = frozenset("GyYMLwWDdFEuaHkKhmsSzZX")
_NUMERIC = frozenset("yYMLwWDdFuHkKhmsS")
_UNREAD = frozenset("YwWF")

Piece = tuple[str, int] | str
"""A letter and its number of repetitions, or a literal text."""


class DateFormat:
    """A pattern of SimpleDateFormat.

    Raises ValueError for letters that SimpleDateFormat does not know.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._pieces = _pieces(pattern)
        self._expression = self._reading()

    def format(self, millis: np.ndarray) -> pa.Array:
        """Return the texts (large_string) of instants, int64 milliseconds since 1970-01-01 UTC."""
        calendar = _Calendar(millis)
        texts = [
            pa.scalar(piece, _TEXT) if isinstance(piece, str) else calendar.text(*piece)
            for piece in self._pieces
        ]
        if not any(isinstance(text, pa.Array | pa.ChunkedArray) for text in texts):
            whole = "".join(text.as_py() for text in texts)
            return pa.array([whole] * len(millis), _TEXT)
        return pc.binary_join_element_wise(*texts, pa.scalar("", _TEXT))

    def parse(self, text: str) -> int | None:
        """Return the instant of a text in milliseconds since 1970-01-01 UTC; None if it does not
        match.

        Text after the pattern's end is ignored; numbers out of range carry over, as in a lenient
        SimpleDateFormat. Patterns with letters for weeks are not parsed.
        """
        match = self._expression.match(text) if self._expression is not None else None
        if match is None:
            return None
        values: dict[str, str] = {}
        has_century = False
        for number, (letter, count) in enumerate(p for p in self._pieces if not isinstance(p, str)):
            values[letter] = match[f"p{number}"]
            if letter == "y":  # only exactly two digits lack their century
                has_century = count > 2 or len(values[letter].strip()) != 2
        return _instant(values, has_century)

    def _reading(self) -> re.Pattern[str] | None:
        """Return the regular expression of texts; None if the pattern has letters that are not
        parsed."""
        parts = []
        number = 0
        for place, piece in enumerate(self._pieces):
            if isinstance(piece, str):
                parts.append(re.escape(piece))
                continue
            letter, count = piece
            if letter in _UNREAD:
                return None
            following = self._pieces[place + 1 : place + 2]
            is_fixed = bool(following) and not isinstance(following[0], str)
            is_fixed = is_fixed and following[0][0] in _NUMERIC
            parts.append(f"(?P<p{number}>{_expression(letter, count, is_fixed)})")
            number += 1
        return re.compile("".join(parts), re.IGNORECASE)


def _pieces(pattern: str) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    # A quoted text, two quotes for one, or a run of any other characters.
    place = 0
    while place < len(pattern):
        if pattern.startswith("''", place):
            pieces.append("'")
            place += 2
        elif pattern[place] == "'":
            match = re.compile("'((?:[^']|'')*)'").match(pattern, place)
            if match is None:
                raise ValueError("a quote has no other one")
            pieces.append(match[1].replace("''", "'"))
            place = match.end()
        else:
            end = pattern.find("'", place)
            end = len(pattern) if end < 0 else end
            pieces += _unquoted(pattern[place:end])
            place = end
    return tuple(pieces)


def _unquoted(text: str) -> list[Piece]:
    pieces: list[Piece] = []
    for character, run in groupby(text):
        count = len(list(run))
        if not (character.isascii() and character.isalpha()):
            pieces.append(character * count)
        elif character not in _LETTERS or (character == "X" and count > 3):
            raise ValueError(f"{character!r} is not a letter of a date")
        else:
            pieces.append((character, count))
    return pieces


def _expression(letter: str, count: int, is_fixed: bool) -> str:
    """Return the regular expression of the texts of a letter."""
    if letter in "ML" and count > 2:
        return "|".join([*_MONTHS, *(month[:3] for month in _MONTHS)])
    if letter in _NUMERIC:
        return f"[0-9]{{{count}}}" if is_fixed else r"\s*[0-9]+"
    return {
        "G": "AD|BC",
        "E": "|".join([*_WEEKDAYS, *(day[:3] for day in _WEEKDAYS)]),
        "a": "AM|PM",
        "X": "Z|[+-][0-9]{2}" + ("" if count == 1 else "[0-9]{2}" if count == 2 else ":[0-9]{2}"),
    }.get(letter, "[+-][0-9]{4}|UTC|GMT|Z")


def _instant(values: dict[str, str], has_century: bool) -> int:
    def number(letter: str, otherwise: int) -> int:
        return int(values[letter]) if letter in values else otherwise

    year = number("y", 1970)
    if "y" in values and not has_century:
        year = _century(year)
    if values.get("G", "AD").upper() == "BC":
        year = 1 - year
    month = values.get("M", values.get("L", "1"))
    shorts = [name[:3].lower() for name in _MONTHS]
    named = month[:3].lower()
    index = shorts.index(named) if named in shorts else int(month) - 1
    first = np.datetime64(year * 12 + index - 1970 * 12, "M").astype("M8[D]").astype(np.int64)
    days = int(first) + number("d", 1) - 1
    if "D" in values:
        january = np.datetime64(year - 1970, "Y").astype("M8[D]").astype(np.int64)
        days = int(january) + number("D", 1) - 1
    hour = number("H", number("k", 0) % 24)
    if "h" in values or "K" in values:
        hour = number("h", number("K", 0)) % 12 + 12 * (values.get("a", "AM").upper() == "PM")
    seconds = (hour * 60 + number("m", 0)) * 60 + number("s", 0) - _offset(values)
    return days * _DAY + seconds * 1000 + number("S", 0)


def _century(year: int) -> int:
    """Return the year of two digits that is at most 80 years ago and less than 20 ahead."""
    this = int(np.datetime64("now").astype("M8[Y]").astype(np.int64)) + 1970
    first = this - 80
    return first + (year - first) % 100


def _offset(values: dict[str, str]) -> int:
    """Seconds east of UTC."""
    zone = values.get("X", values.get("Z", values.get("z", "Z")))
    match = re.fullmatch("([+-])([0-9]{2}):?([0-9]{2})?", zone)
    if match is None:
        return 0
    seconds = int(match[2]) * 3600 + int(match[3] or 0) * 60
    return -seconds if match[1] == "-" else seconds


class _Calendar:
    """The calendar fields of instants."""

    def __init__(self, millis: np.ndarray) -> None:
        days = millis // _DAY
        dates = days.astype("M8[D]")
        months, years = dates.astype("M8[M]"), dates.astype("M8[Y]")
        self._rest = millis - days * _DAY
        self._year = years.astype(np.int64) + 1970
        self._month = months.astype(np.int64) % 12
        self._day = (dates - months.astype("M8[D]")).astype(np.int64)
        self._day_of_year = (dates - years.astype("M8[D]")).astype(np.int64)
        self._weekday = (days + 4) % 7  # Sunday is 0
        next_year = (years + 1).astype("M8[D]").astype(np.int64)
        self._is_of_next = days - self._weekday + 7 > next_year

    def text(self, letter: str, count: int) -> pa.Array:
        """Return the texts of a letter, one per instant."""
        if letter in "yY":
            year = self._year + (self._is_of_next if letter == "Y" else 0)
            era = np.where(year > 0, year, 1 - year)
            return _padded(era % 100, 2) if count == 2 else _padded(era, count)
        if letter in "ML" and count > 2:
            return _named(_MONTHS, self._month, None if count > 3 else 3)
        if letter == "E":
            return _named(_WEEKDAYS, self._weekday, None if count > 3 else 3)
        if letter == "G":
            return _named(("AD", "BC"), (self._year <= 0).astype(np.int64), None)
        if letter == "a":
            return _named(("AM", "PM"), self._rest // (_DAY // 2), None)
        if letter in "zZX":
            shown_zone = {"Z": "+0000", "X": "Z"}.get(letter)
            shown_zone = shown_zone or ("Coordinated Universal Time" if count > 3 else "UTC")
            return _named((shown_zone,), np.zeros(len(self._rest), np.int64), None)
        return _padded(self._numbers()[letter](), count)

    def _numbers(self) -> dict[str, Callable[[], np.ndarray]]:
        hour = self._rest // 3_600_000

        def week(day: np.ndarray) -> np.ndarray:
            """Return the week that a day is in, counted from the first of a year or month."""
            first = (self._weekday - day) % 7
            return np.asarray((day + first) // 7 + 1)

        return {
            "M": lambda: self._month + 1,
            "L": lambda: self._month + 1,
            "d": lambda: self._day + 1,
            "D": lambda: self._day_of_year + 1,
            "w": lambda: np.where(self._is_of_next, 1, week(self._day_of_year)),
            "W": lambda: week(self._day),
            "F": lambda: self._day // 7 + 1,
            "u": lambda: (self._weekday + 6) % 7 + 1,
            "H": lambda: hour,
            "k": lambda: np.where(hour == 0, 24, hour),
            "K": lambda: hour % 12,
            "h": lambda: np.where(hour % 12 == 0, 12, hour % 12),
            "m": lambda: self._rest // 60_000 % 60,
            "s": lambda: self._rest // 1000 % 60,
            "S": lambda: self._rest % 1000,
        }


def _padded(numbers: np.ndarray, width: int) -> pa.Array:
    text = pa.array(np.ascontiguousarray(numbers, np.int64)).cast(_TEXT)
    return pc.utf8_lpad(text, width=width, padding="0") if width > 1 else text


def _named(names: Sequence[str], index: np.ndarray, length: int | None) -> pa.Array:
    texts = pa.array([name[:length] for name in names], _TEXT)
    return texts.take(pa.array(np.ascontiguousarray(index, np.int64)))
