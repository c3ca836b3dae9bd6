"""Column defaults for schemas, from the text of the default that the catalogue has.

Literals are read; CURRENT DATE, TIME and TIMESTAMP give the beginning of 1970 in a column that is
not null, as in Debezium. Every other expression gives no default.
"""

from __future__ import annotations

import re

from headrace.connectors.db2.types.declarations import (
    CHARACTER,
    DATES,
    DECIMALS,
    PADDED,
    TIMES,
    TIMESTAMPS,
)
from headrace.relational.types.declaration import TypeDeclaration

_QUOTED = re.compile(r"(?:[GN])?'((?:[^']|'')*)'", re.DOTALL)
_NUMBER = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?")
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NOW = re.compile(r"CURRENT[ _](?:DATE|TIME|TIMESTAMP)(?:\s*\(\s*\d+\s*\))?", re.IGNORECASE)
_CAST = re.compile(r"(?:DATE|TIME|TIMESTAMP)\s*\(\s*('[^']*')\s*\)", re.IGNORECASE)
_DATE_FORMS = (
    re.compile(r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"),
    re.compile(r"(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{4})"),
    re.compile(r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})"),
)
_TIME = re.compile(r"(\d{1,2})[.:](\d{2})(?:[.:](\d{2}))?(?: ?(AM|PM))?", re.IGNORECASE)
_TIMESTAMP = re.compile(r"(\d{4}-\d{1,2}-\d{1,2})[- T](\d{1,2}[.:]\d{2}[.:]\d{2})(?:\.(\d{1,12}))?")
_FLOATS = frozenset({"REAL", "DOUBLE", "FLOAT"})
_INTEGERS = frozenset({"SMALLINT", "INTEGER", "INT", "BIGINT"})
_EPOCH = {"DATE": "1970-01-01", "TIME": "00:00:00", "TIMESTAMP": "1970-01-01 00:00:00"}


def default_value(
    type_name: str, length: int, declaration: TypeDeclaration, expression: str, *, optional: bool
) -> object | None:
    """Return the Connect value of a default, or None if the schema shows none. Never raises: a
    default that cannot be read is left out."""
    expression = expression.strip()
    if _NOW.fullmatch(expression):
        epoch = None if optional else _EPOCH.get(type_name)
        return None if epoch is None else declaration.default(epoch)
    text = _text(type_name, length, expression)
    return None if text is None else declaration.default(text)


def _text(type_name: str, length: int, expression: str) -> str | None:
    """Return headrace's text of the value of a literal; None if the type has no such literal."""
    cast = _CAST.fullmatch(expression)
    quoted = _QUOTED.fullmatch(expression if cast is None else cast[1])
    literal = None if quoted is None else quoted[1].replace("''", "'")
    if type_name in CHARACTER:
        if literal is not None and type_name in PADDED:
            return literal.ljust(length)
        return literal
    if type_name in DATES:
        return None if literal is None else _date(literal)
    if type_name in TIMES:
        return None if literal is None else _time(literal)
    if type_name in TIMESTAMPS:
        return None if literal is None else _timestamp(literal)
    if type_name == "BOOLEAN":
        return {"TRUE": "t", "FALSE": "f", "1": "t", "0": "f"}.get(expression.upper())
    if type_name in _FLOATS:
        return repr(float(expression)) if _FLOAT.fullmatch(expression) else None
    if type_name in _INTEGERS or type_name in DECIMALS or type_name == "DECFLOAT":
        return _number(expression, whole=type_name in _INTEGERS)
    return None


def _number(text: str, *, whole: bool) -> str | None:
    match = _NUMBER.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        return None
    digits, fraction = match[2].lstrip("0") or "0", match[3] or ""
    if whole and fraction.strip("0"):
        return None
    sign = "-" if match[1] == "-" and (digits + fraction).strip("0") else ""
    return f"{sign}{digits}" if whole or not fraction else f"{sign}{digits}.{fraction}"


def _date(text: str) -> str | None:
    for form in _DATE_FORMS:
        match = form.fullmatch(text)
        if match is not None:
            return f"{match['year']}-{int(match['month']):02}-{int(match['day']):02}"
    stamp = _TIMESTAMP.fullmatch(text)
    return None if stamp is None else _date(stamp[1])


def _time(text: str) -> str | None:
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    hour = int(match[1])
    if match[4] is not None:
        hour = hour % 12 + (12 if match[4].upper() == "PM" else 0)
    return f"{hour:02}:{match[2]}:{match[3] or '00'}"


def _timestamp(text: str) -> str | None:
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        day = _date(text)
        return None if day is None else f"{day} 00:00:00"
    day, clock = _date(match[1]), _time(match[2])
    if day is None or clock is None:
        return None
    fraction = (match[3] or "")[:9].rstrip("0")
    return f"{day} {clock}.{fraction}" if fraction else f"{day} {clock}"
