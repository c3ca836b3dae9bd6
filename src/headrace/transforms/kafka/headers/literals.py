"""Parses the texts of configurations to values, with the types that Kafka Connect infers."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from headrace.connect.schema import DECIMAL, SCHEMALESS, Schema, Type

_PACKAGE = "org.apache.kafka.connect.data."
_NUMBER = re.compile(r"[+-]?[0-9]+\.?[0-9]*([eE][+-]?[0-9]+)?|[+-]\.[0-9]+([eE][+-]?[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")
_BITS = ((Type.INT8, 8), (Type.INT16, 16), (Type.INT32, 32), (Type.INT64, 64))
_WIDTHS = [Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64]
_TEXT = Schema(Type.STRING)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_WORDS = {
    "true": (Schema(Type.BOOLEAN), True),
    "false": (Schema(Type.BOOLEAN), False),
    "null": (SCHEMALESS, None),
}


class HeaderLiteral(NamedTuple):
    """A value and its schema."""

    schema: Schema
    value: object


def parse_literal(text: str) -> HeaderLiteral:
    """Return the value of a text.

    Integers get the smallest type that holds them, fractions and numbers with an exponent are
    single precision, or double precision if that is too small; numbers too large for these are
    decimals. `true`, `false`, `null`, and dates, times and timestamps in ISO 8601 become such
    values, `[…]` and `{…}` lists and maps of one type. Everything else is the text itself.
    """
    trimmed = text.strip()
    if trimmed in _WORDS:
        return HeaderLiteral(*_WORDS[trimmed])
    if trimmed.startswith(("[", "{")):
        try:
            parser = _Parser(trimmed)
            literal = parser.value()
            parser.end()
        except ValueError:
            return HeaderLiteral(_TEXT, text)
        return literal
    return _time(trimmed) or _number(trimmed) or HeaderLiteral(_TEXT, text)


def _number(text: str) -> HeaderLiteral | None:
    if _NUMBER.fullmatch(text) is None:
        return None
    number = Decimal(text)
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    if number.adjusted() < 19 and number == number.to_integral_value():
        integer = int(number)
        for kind, bits in _BITS:
            if -(1 << bits - 1) <= integer < 1 << bits - 1:
                return HeaderLiteral(Schema(kind), integer)
    if exponent != 0:
        with np.errstate(over="ignore"):
            single = float(np.float32(float(number)))
        if np.isfinite(single):
            return HeaderLiteral(Schema(Type.FLOAT32), single)
        if np.isfinite(float(number)):
            return HeaderLiteral(Schema(Type.FLOAT64), float(number))
    schema = Schema(Type.BYTES, name=DECIMAL, version=1)
    return HeaderLiteral(schema.with_parameters({"scale": str(-exponent)}), number)


def _time(text: str) -> HeaderLiteral | None:
    try:
        if _DATE.fullmatch(text):
            days = dt.date.fromisoformat(text).toordinal() - _EPOCH.toordinal()
            return HeaderLiteral(Schema(Type.INT32, name=f"{_PACKAGE}Date", version=1), days)
        date, _, time = text.rpartition("T")
        if _TIME.fullmatch(time) is None or (date and _DATE.fullmatch(date) is None):
            return None
        at = dt.datetime.fromisoformat(f"{date or '1970-01-01'}T{time}")
    except ValueError:
        return None
    millis = (at - _EPOCH) // dt.timedelta(milliseconds=1)
    if date:
        return HeaderLiteral(Schema(Type.INT64, name=f"{_PACKAGE}Timestamp", version=1), millis)
    return HeaderLiteral(Schema(Type.INT32, name=f"{_PACKAGE}Time", version=1), millis)


class _Parser:
    """Parser of lists and maps. Raises ValueError for other texts, and for elements of several
    types."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0

    def end(self) -> None:
        if self._text[self._place :].strip():
            raise ValueError

    def value(self) -> HeaderLiteral:
        if self._takes("["):
            return self._list()
        if self._takes("{"):
            return self._map()
        if self._takes('"'):
            return HeaderLiteral(_TEXT, self._quoted())
        token = self._token()
        if token in _WORDS:
            return HeaderLiteral(*_WORDS[token])
        literal = _time(token) or _number(token)
        if literal is None:
            raise ValueError
        return literal

    def _takes(self, character: str) -> bool:
        while self._text[self._place : self._place + 1].isspace():
            self._place += 1
        if not self._text.startswith(character, self._place):
            return False
        self._place += len(character)
        return True

    def _token(self) -> str:
        match = re.compile(r"[^\[\]{},\"]*").match(self._text, self._place)
        assert match is not None
        token = match[0]
        time = re.match(r"\s*[0-9T-]*[0-9]{2}:[0-9]{2}:[0-9.]+Z", token)
        token = time[0] if time else token.partition(":")[0]
        self._place += len(token)
        return token.strip()

    def _quoted(self) -> str:
        characters: list[str] = []
        while self._place < len(self._text):
            character = self._text[self._place]
            self._place += 1
            if character == '"':
                return "".join(characters)
            if character == "\\":
                character = self._text[self._place : self._place + 1]
                self._place += 1
            characters.append(character)
        raise ValueError

    def _list(self) -> HeaderLiteral:
        items: list[HeaderLiteral] = []
        while not self._takes("]"):
            if items and not self._takes(","):
                raise ValueError
            items.append(self.value())
        schema, values = _common(items)
        return HeaderLiteral(Schema(Type.ARRAY, values=schema), values)

    def _map(self) -> HeaderLiteral:
        keys: list[HeaderLiteral] = []
        items: list[HeaderLiteral] = []
        while not self._takes("}"):
            if items and not self._takes(","):
                raise ValueError
            keys.append(self.value())
            if not self._takes(":"):
                raise ValueError
            items.append(self.value())
        (key_schema, names), (schema, values) = _common(keys), _common(items)
        entries = dict(zip(names, values, strict=True))
        return HeaderLiteral(Schema(Type.MAP, keys=key_schema, values=schema), entries)


def _common(literals: Sequence[HeaderLiteral]) -> tuple[Schema, list[object]]:
    """Return the common schema of some values, and the values in it."""
    schemas = {literal.schema for literal in literals if literal.value is not None}
    values = [literal.value for literal in literals]
    if schemas and None in values:
        raise ValueError  # a value of a type is never null
    if len(schemas) == 1:
        return next(iter(schemas)), values
    kinds = {schema.type for schema in schemas if schema.name is None}
    if not schemas or len(kinds) != len(schemas) or not kinds <= set(_WIDTHS):
        raise ValueError
    widest = max(kinds, key=_WIDTHS.index)
    if widest in (Type.FLOAT32, Type.FLOAT64):
        values = [float(str(value)) for value in values]
    return Schema(widest), values
