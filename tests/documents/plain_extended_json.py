"""Extended JSON in plain Python, as MongoDB's Java driver writes it: the kernel's reference."""

from __future__ import annotations

import base64
import datetime as dt
import math
import uuid
from collections.abc import Callable, Mapping

import bson
from bson.code import Code
from bson.dbref import DBRef
from bson.regex import Regex

from headrace.connect.java_numbers import java_double
from headrace.documents.dialects import Dialect
from headrace.documents.kernels.characters import RAW_BITS
from tests.documents.plain_bson import EPOCH, Pointer, Symbol, Undefined, millis, options

_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def is_raw(unit: int) -> bool:
    """Whether a UTF-16 unit is written as it is; the table is tested against Java itself."""
    return bool(int(RAW_BITS[unit >> 6]) >> (unit & 63) & 1)


def quoted(text: str) -> str:
    """A JSON string."""
    raw = text.encode("utf-16-le")
    escaped = []
    for i in range(0, len(raw), 2):
        unit = raw[i] | raw[i + 1] << 8
        character = chr(unit)
        short = _SHORT.get(character)
        escaped.append(short or (character if is_raw(unit) else f"\\u{unit:04x}"))
    return '"' + "".join(escaped) + '"'


class PlainWriter:
    """Writes values of Python in one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self.is_old = dialect in (Dialect.STRICT, Dialect.MANUAL)
        self.is_canonical = dialect is Dialect.CANONICAL
        self.shows_longs = dialect in (Dialect.STRICT, Dialect.CANONICAL)
        self.colon = " : " if dialect is Dialect.MANUAL else ": "
        self.comma = ", " if dialect in (Dialect.MANUAL, Dialect.RELAXED_SPACED) else ","

    def members(self, members: Mapping[str, str]) -> str:
        """An object of texts that are JSON already."""
        pairs = [quoted(name) + self.colon + text for name, text in members.items()]
        return "{" + self.comma.join(pairs) + "}"

    def value(self, value: object) -> str:
        """Any value."""
        match value:
            case None:
                return "null"
            case bool():
                return "true" if value else "false"
            case float():
                return self._double(value)
            case bson.Int64():
                text = str(int(value))
                long = self.members({"$numberLong": quoted(text)})
                return long if self.shows_longs else text
            case int():
                text = str(value)
                return self.members({"$numberInt": quoted(text)}) if self.is_canonical else text
            case Code():
                members = {"$code": quoted(str(value))}
                if value.scope is not None:
                    members["$scope"] = self.value(value.scope)
                return self.members(members)
            case str():
                return quoted(value)
            case Mapping():
                return self.members({name: self.value(item) for name, item in value.items()})
            case DBRef():
                return self.value(value.as_doc())
            case list():
                return "[" + self.comma.join([self.value(item) for item in value]) + "]"
            case dt.datetime() | bson.DatetimeMS():
                return self._date(millis(value))
            case uuid.UUID():
                return self._binary(value.bytes, 4)
            case bytes():
                return self._binary(value, getattr(value, "subtype", 0))
            case Regex():
                return self._regex(value)
            case Pointer():
                members = {"$ref": quoted(value.namespace), "$id": self.value(value.id)}
                pointer = self.members(members)
                return self.members({"$dbPointer": pointer}) if self.is_canonical else pointer
            case bson.Timestamp():
                members = {"t": str(value.time), "i": str(value.inc)}
                return self.members({"$timestamp": self.members(members)})
        return self._named(value)

    def _named(self, value: object) -> str:
        named: dict[type, tuple[str, Callable[..., str]]] = {
            bson.ObjectId: ("$oid", lambda: quoted(str(value))),
            bson.Decimal128: ("$numberDecimal", lambda: quoted(_decimal(value.bid))),  # type: ignore[attr-defined]
            bson.MinKey: ("$minKey", lambda: "1"),
            bson.MaxKey: ("$maxKey", lambda: "1"),
            Undefined: ("$undefined", lambda: "true"),
            Symbol: ("$symbol", lambda: quoted(value.name)),  # type: ignore[attr-defined]
        }
        name, text = named[type(value)]
        return self.members({name: text()})

    def _double(self, value: float) -> str:
        text = java_double(value)
        if not math.isfinite(value):
            return text if self.is_old else self.members({"$numberDouble": quoted(text)})
        text = text.replace("E", "E+").replace("E+-", "E-")
        return self.members({"$numberDouble": quoted(text)}) if self.is_canonical else text

    def _date(self, value: int) -> str:
        if self.is_old:
            return self.members({"$date": str(value)})
        last = 253402300799999
        if self.is_canonical or not 0 <= value <= last:
            return self.members({"$date": self.members({"$numberLong": quoted(str(value))})})
        date = EPOCH + dt.timedelta(milliseconds=value)
        fraction = f".{value % 1000:03}".rstrip("0").rstrip(".")
        text = f"{date.year:04}" + date.strftime("-%m-%dT%H:%M:%S") + fraction + "Z"
        return self.members({"$date": quoted(text)})

    def _binary(self, value: bytes, subtype: int) -> str:
        text, kind = quoted(base64.b64encode(value).decode()), quoted(f"{subtype:02X}")
        if self.is_old:
            return self.members({"$binary": text, "$type": kind})
        return self.members({"$binary": self.members({"base64": text, "subType": kind})})

    def _regex(self, value: Regex) -> str:
        pattern, flags = quoted(value.pattern), quoted(options(value))
        if self.is_old:
            return self.members({"$regex": pattern, "$options": flags})
        pattern_members = self.members({"pattern": pattern, "options": flags})
        return self.members({"$regularExpression": pattern_members})


def _decimal(bid: bytes) -> str:
    """A Decimal128; as Java, it shows coefficients of more than 34 digits as they are."""
    bits = int.from_bytes(bid, "little")
    sign = "-" if bits >> 127 else ""
    if bits >> 122 & 31 >= 30:
        return "NaN" if bits >> 122 & 1 else sign + "Infinity"
    is_large = bits >> 125 & 3 == 3
    digits = "0" if is_large else str(bits & ((1 << 113) - 1))
    exponent = (bits >> (111 if is_large else 113) & 0x3FFF) - 6176
    scientific = exponent + len(digits) - 1
    if exponent > 0 or scientific < -6:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{fraction}E{scientific:+d}"
    if exponent == 0:
        return sign + digits
    digits = digits.rjust(1 - exponent, "0")
    return f"{sign}{digits[:exponent]}.{digits[exponent:]}"


def extended_json(value: object, dialect: Dialect) -> str:
    """The Extended JSON of a value."""
    return PlainWriter(dialect).value(value)
