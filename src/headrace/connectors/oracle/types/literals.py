"""Converts Oracle's literals, as LogMiner writes them in SQL, to headrace's texts (see
`headrace.connect.encoding`).

Every function takes the text between the quotes of a literal or of a function's argument, and
returns None for a text that is not such a literal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

import numpy as np

from headrace.connectors.oracle.types.zoned_timestamps import shown
from headrace.debezium import temporal

_DAY_AND_TIME = r"\s*(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{0,9}))?"
_TIMESTAMP = re.compile(_DAY_AND_TIME + r"\s*", re.ASCII)
_ZONED = re.compile(_DAY_AND_TIME + r" ?([+-]\d\d:\d\d)?\s*", re.ASCII)
_SHORT = re.compile(
    r"\s*(\d\d)-([A-Z]{3})-(\d\d) (\d\d)\.(\d\d)\.(\d\d)(?:\.(\d{0,9}))? ([AP])M\s*",
    re.ASCII | re.IGNORECASE,
)
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_YEARS = re.compile(r"\s*([+-]?)(\d{1,9})-(\d{1,2})\s*", re.ASCII)
_DAYS = re.compile(
    r"\s*([+-]?)(\d{1,9}) (\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{0,9}))?\s*", re.ASCII
)
_NUMBER = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?", re.ASCII)
_SPECIAL = {
    "nan": "NaN", "binary_float_nan": "NaN", "binary_double_nan": "NaN",
    "inf": "Infinity", "infinity": "Infinity",
    "binary_float_infinity": "Infinity", "binary_double_infinity": "Infinity",
}  # fmt: skip
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPE = re.compile(r"\\(?:(\\)|([0-9A-Fa-f]{4}))")
_HEX = re.compile(r"(?:[0-9A-Fa-f]{2})*")
_NO_DAY = "0000-00-00"
"""LogMiner's text of a damaged date, which Java's calendar reads as a date in the year before 0."""
_BEFORE_YEAR_0 = "0002-11-30"
_LARGEST_OFFSET = "18:00"


def _is_day(text: str) -> bool:
    year, month, day = map(int, text.split("-"))
    return temporal.is_civil_date(year, month, day)


def _is_clock(text: str) -> bool:
    hour, minute, second = map(int, text.split(":"))
    return hour < 24 and minute < 60 and second < 60


def timestamp(text: str) -> str | None:
    """Return a timestamp, `2018-03-27 12:34:56.007890000` or `27-MAR-18 12.34.56.007 AM`, in the
    first form without zeros at the end of the fraction."""
    match = _TIMESTAMP.fullmatch(text)
    if match is not None:
        day, clock, fraction = match.groups("")
    else:
        match = _SHORT.fullmatch(text)
        if match is None or match[2].upper() not in _MONTHS or not 1 <= int(match[4]) <= 12:
            return None
        hour = int(match[4]) % 12 + (0 if match[8] in "aA" else 12)
        day = f"20{match[3]}-{_MONTHS.index(match[2].upper()) + 1:02}-{match[1]}"
        clock, fraction = f"{hour:02}:{match[5]}:{match[6]}", match[7] or ""
    era = ""
    if day == _NO_DAY:
        day, era = _BEFORE_YEAR_0, " BC"
    if not _is_day(day) or not _is_clock(clock):
        return None
    if day.startswith("0000"):
        day, era = "0001" + day[4:], " BC"
    fraction = fraction.rstrip("0")
    return f"{day} {clock}{'.' if fraction else ''}{fraction}{era}"


def zoned_timestamp(text: str, digits: int) -> str | None:
    """Return the timestamp `2018-03-27 01:34:56.007891 -11:00` as events show it, at so many
    fraction digits."""
    match = _ZONED.fullmatch(text)
    if match is None or not _is_day(match[1]) or not _is_clock(match[2]):
        return None
    offset = match[4] or ""
    if offset and (offset[1:] > _LARGEST_OFFSET or int(offset[4:]) > 59 or match[1] < "0001"):
        return None
    clock, fraction = f"{match[1]}T{match[2]}", match[3] or ""
    return shown(clock.encode(), fraction.encode(), offset.encode(), digits)


def years_to_months(text: str) -> str | None:
    """Return an INTERVAL YEAR TO MONTH: `-03-06` is `-3 years -6 mons`."""
    match = _YEARS.fullmatch(text)
    if match is None or int(match[3]) > 11:
        return None
    sign = "-" if match[1] == "-" else ""
    parts = ((int(match[2]), "years"), (int(match[3]), "mons"))
    return " ".join(f"{sign}{count} {name}" for count, name in parts if count) or "00:00:00"


def days_to_seconds(text: str) -> str | None:
    """Return an INTERVAL DAY TO SECOND: `-001 02:03:04.56` is `-1 days -02:03:04.56`."""
    match = _DAYS.fullmatch(text)
    if match is None:
        return None
    sign = "-" if match[1] == "-" else ""
    days, hours, minutes, seconds = (int(match[i]) for i in range(2, 6))
    if hours > 23 or minutes > 59 or seconds > 59:
        return None
    fraction = (match[6] or "").rstrip("0")[:6]
    clock = f"{hours:02}:{minutes:02}:{seconds:02}{'.' if fraction else ''}{fraction}"
    named = f"{sign}{days} days" if days else ""
    if not clock.strip("0:."):
        return named or clock
    return f"{named} {sign}{clock}".strip()


def number(text: str) -> str | None:
    """Return a NUMBER: `.5` is `0.5`, `1.5E+3` is `1500`."""
    match = _NUMBER.fullmatch(text.strip())
    if match is None or not (match[2] or match[3]):
        return None
    if match[4] is not None:
        return number(f"{Decimal(text.strip()):f}")
    sign, whole, fraction = match[1], match[2].lstrip("0") or "0", match[3] or ""
    if sign != "-" or not (whole + fraction).strip("0"):
        sign = ""
    return f"{sign}{whole}{'.' if fraction else ''}{fraction}"


def binary_float(text: str, *, double: bool) -> str | None:
    """Return a BINARY_DOUBLE or a BINARY_FLOAT: the fewest digits that identify the number, or
    `NaN`, `Infinity` or `-Infinity`."""
    text = text.strip()
    sign = "-" if text[:1] == "-" else ""
    special = _SPECIAL.get(text.lstrip("+-").lower())
    if special is not None:
        return special if special == "NaN" else sign + special
    digits = text[:-1] if text[-1:] in tuple("dDfF") else text
    match = _NUMBER.fullmatch(digits)
    if match is None or not (match[2] or match[3]):
        return None
    if double:
        return _plain(repr(float(digits)))
    with np.errstate(over="ignore"):
        return _plain(str(np.float32(digits)))


def _plain(text: str) -> str:
    return "Infinity" if text == "inf" else "-Infinity" if text == "-inf" else text


def unistr(text: str) -> str:
    r"""The argument of UNISTR: `\0041` is a UTF-16 unit, `\\` a backslash. Halves of a pair stay
    apart (surrogates) where the text ends or begins between them."""
    units = _ESCAPE.sub(lambda match: match[1] or chr(int(match[2], 16)), text)
    return _paired(units, "surrogatepass")


def joined(pieces: Iterable[str]) -> str:
    """Join texts; unpaired surrogates that remain become replacement characters."""
    text = "".join(pieces)
    return _paired(text, "replace") if _SURROGATE.search(text) else text


def _paired(text: str, lone: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", lone)


def hexadecimal(text: str) -> bytes | None:
    """Return the bytes of the argument of HEXTORAW."""
    return bytes.fromhex(text) if _HEX.fullmatch(text) else None
