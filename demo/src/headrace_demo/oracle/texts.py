"""Values of columns in the stand-in's stored form, and as LogMiner writes them in SQL_REDO.

A value is stored as text: numbers without exponents, times with nine digits after the point (in
SQL_REDO: with their column's precision), bytes as upper-case hexadecimal digits.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from headrace_demo.oracle.definitions import Column

_NUMBERS = ("NUMBER", "FLOAT")
_FLOATS = ("BINARY_FLOAT", "BINARY_DOUBLE")
_NATIONAL = ("NCHAR", "NVARCHAR2")
_LOBS = {"CLOB": "EMPTY_CLOB()", "NCLOB": "EMPTY_CLOB()", "BLOB": "EMPTY_BLOB()"}
_FIXED = ("CHAR", "NCHAR")
_BYTES = ("RAW", "BLOB", "LONG RAW")
_TIME = re.compile(
    r"(?P<day>-?\d{4}-\d\d-\d\d)(?:[ T](?P<time>\d\d:\d\d:\d\d)(?:\.(?P<fraction>\d{0,9}))?)?"
    r"\s*(?P<zone>Z|[+-]\d\d:\d\d)?"
)
_DAYS = re.compile(r"([+-]?)(\d+) (\d+):(\d\d):(\d\d)(?:\.(\d{1,9}))?")
_MONTHS = re.compile(r"([+-]?)(\d+)-(\d+)")
_LEADING_ZERO = re.compile(r"(?<![\d.])0(?=\.)")
_PAST_ASCII = re.compile(r"[^ -~]|\\")
MAX_BYTES = 4000
"""The most bytes of SQL_REDO in one row."""


_LONE = re.compile("[\uf780-\uf7ff]")
_FIRST_LONE = 0xF700


def with_lone_bytes(raw: bytes) -> str:
    """The stored form of a text with bytes that are not part of a character: a private-use
    character represents each of them."""
    text = raw.decode(errors="surrogateescape")
    return "".join(
        chr(_FIRST_LONE + (ord(character) & 0xFF))
        if 0xDC80 <= ord(character) <= 0xDCFF
        else character
        for character in text
    )


def encoded(text: str) -> bytes:
    """The bytes of a stored text on a server."""
    if text.isascii() or not _LONE.search(text):
        return text.encode()
    lone = _LONE.sub(lambda match: chr(0xDC00 + (ord(match[0]) & 0xFF)), text)
    return lone.encode(errors="surrogateescape")


def kind(column: Column) -> str:
    """A column's type without its numbers: `TIMESTAMP WITH TIME ZONE`."""
    return re.sub(r"\(\d+\)", "", column.type)


def is_lob(column: Column) -> bool:
    """Whether its values are in separate redo rows."""
    return column.type in _LOBS or column.type in ("XMLTYPE", "JSON")


def stored(column: Column, value: Any) -> str | None:
    """The stored form of a value; None and the empty text are NULL. Raises ValueError."""
    if value is None or value == "":
        return None
    name = kind(column)
    if name in _NUMBERS:
        return plain(Decimal(str(value)))
    if name in _FLOATS:
        return repr(float(value))
    if name in _BYTES:
        return value.hex().upper() if isinstance(value, bytes) else str(value).upper()
    if name == "DATE" or name.startswith("TIMESTAMP"):
        return _time(name, value)
    if name.startswith("INTERVAL"):
        return _interval(name, str(value))
    if name in _FIXED:
        return str(value).ljust(column.length)
    return str(value)


def plain(number: Decimal) -> str:
    """A number without an exponent."""
    text = format(number, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def literal(column: Column, text: str | None) -> str:
    """A stored value as SQL_REDO shows it, with the formats of `sql.SESSION_FORMATS`."""
    if text is None:
        return "NULL"
    name = kind(column)
    if name in _NUMBERS:
        return f"'{_LEADING_ZERO.sub('', text)}'"
    if name in _FLOATS:
        return f"'{_float(float(text), 8 if name == 'BINARY_FLOAT' else 16)}'"
    if name in _BYTES:
        return f"HEXTORAW('{text.lower()}')"
    if name == "DATE":
        return f"TO_DATE('{text.removeprefix('-')}', 'YYYY-MM-DD HH24:MI:SS')"
    if name.startswith("TIMESTAMP"):
        day, time, *zone = text.removeprefix("-").split(" ")
        second, _, fraction = time.partition(".")
        stamp = " ".join((day, f"{second}.{fraction[: column.scale or 0]}", *zone))
        return f"TO_TIMESTAMP_TZ('{stamp}')" if zone else f"TO_TIMESTAMP('{stamp}')"
    if name.startswith("INTERVAL"):
        return f"TO_{'YM' if 'YEAR' in name else 'DS'}INTERVAL('{text}')"
    if name in _NATIONAL and _PAST_ASCII.search(text):
        return f"UNISTR({_quoted(_PAST_ASCII.sub(_escaped, text))})"
    return _quoted(text)


def empty_lob(column: Column) -> str:
    """The text for a large object in an INSERT."""
    return _LOBS.get(column.type, "NULL")


def pieces(
    statement: str, most_bytes: int = MAX_BYTES, *, cuts_characters: bool = False
) -> list[str | bytes]:
    """A statement cut into the parts that rows of V$LOGMNR_CONTENTS hold (CSF); bytes if it is cut
    inside a character, or has bytes that are not part of one."""
    rest = encoded(statement)
    parts: list[str | bytes] = []
    while len(rest) > most_bytes:
        end = most_bytes
        while rest[end] & 0xC0 == 0x80 and not cuts_characters:  # inside a character
            end -= 1
        parts.append(_part(rest[:end]))
        rest = rest[end:]
    return [*parts, _part(rest)]


def _part(raw: bytes) -> str | bytes:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def _time(name: str, value: Any) -> str:
    text = str(value)
    parts = _TIME.fullmatch(text.strip())
    if parts is None:
        raise ValueError(f"no {name}: {value}")
    time = f"{parts['day']} {parts['time'] or '00:00:00'}"
    if name == "DATE":
        return time
    time += f".{(parts['fraction'] or '').ljust(9, '0')}"
    if name == "TIMESTAMP":
        return time
    zone = parts["zone"] or "+00:00"
    return f"{time} {'+00:00' if zone == 'Z' else zone}"


def _interval(name: str, text: str) -> str:
    if "YEAR" in name:
        parts = _MONTHS.fullmatch(text)
        if parts is None:
            raise ValueError(f"no {name}: {text}")
        return f"{parts[1] or '+'}{int(parts[2]):02d}-{int(parts[3]):02d}"
    parts = _DAYS.fullmatch(text)
    if parts is None:
        raise ValueError(f"no {name}: {text}")
    sign, days, hours, minutes, seconds, fraction = parts.groups()
    return (
        f"{sign or '+'}{int(days):02d} {int(hours):02d}:{minutes}:{seconds}."
        f"{(fraction or '').ljust(6, '0')}"
    )


def _float(value: float, digits: int) -> str:
    if value != value:
        return "Nan"
    if value in (float("inf"), float("-inf")):
        return "Inf" if value > 0 else "-Inf"
    mantissa, _, exponent = f"{value:.{digits}E}".partition("E")
    return f"{mantissa}E{exponent[0]}{int(exponent[1:]):03d}"


def _escaped(match: re.Match[str]) -> str:
    return "".join(
        f"\\{int.from_bytes(unit, 'big'):04x}" for unit in _units(match[0].encode("utf-16-be"))
    )


def _units(encoded: bytes) -> list[bytes]:
    return [encoded[at : at + 2] for at in range(0, len(encoded), 2)]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
