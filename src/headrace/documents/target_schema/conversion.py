"""BSON values as values of a declared schema: exact, or a conflict."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from headrace.connect.schema import DECIMAL, Schema, Type
from headrace.documents.bson import Kind
from headrace.documents.dialects import Dialect
from headrace.documents.extended_json import value_to_extended_json
from headrace.documents.target_schema.ddl import DATE, JSON, TIMESTAMP, precision_and_scale
from headrace.documents.values import SCALARS, decimal_text, elements_of
from headrace.errors import HeadraceError

_MILLIS_PER_DAY = 86_400_000
_WHOLE = (Kind.INT32, Kind.INT64)
_TEXTS = (Kind.STRING, Kind.CODE, Kind.SYMBOL, Kind.OBJECT_ID, Kind.DECIMAL128)
_NOTHING = (Kind.NULL, Kind.UNDEFINED)
_BITS = {Type.INT32: 31, Type.INT64: 63}


class ConflictPolicy(StrEnum):
    """What becomes of a value that the declared type has no exact form for."""

    FAIL = "fail"
    """The record fails: the query ends, or the record is left out or a dead letter, as
    `errors.tolerance` says."""
    NULL = "null"
    """The value is null."""


@dataclass(frozen=True)
class Conversion:
    """Brings BSON values to schemas under a policy."""

    policy: ConflictPolicy = ConflictPolicy.FAIL

    def value(self, kind: int, raw: bytes, schema: Schema, path: str) -> object:
        """The Connect value of a type and its bytes. `path` names the field.

        Raises HeadraceError `documents.value_not_of_schema` for a conflict, unless that is null.
        """
        if kind in _NOTHING:
            return None
        if schema.type is Type.ARRAY and kind == Kind.ARRAY:
            assert schema.values is not None
            return [self.value(k, v, schema.values, path) for k, _, v in elements_of(raw)]
        if schema.type is Type.MAP and kind == Kind.DOCUMENT:
            assert schema.values is not None
            made = ((name, k, v) for k, name, v in elements_of(raw))
            return {name: self.value(k, v, schema.values, f"{path}.{name}") for name, k, v in made}
        if schema.type is Type.STRUCT and kind == Kind.DOCUMENT:
            return self.struct(raw, schema, path)
        try:
            return _scalar(kind, raw, schema)
        except (ValueError, ArithmeticError, LookupError):
            if self.policy is ConflictPolicy.NULL:
                return None
            raise conflict(kind, schema, path) from None

    def struct(self, document: bytes, schema: Schema, path: str = "") -> dict[str, object]:
        """The fields of a struct from those of a document; those it lacks are null."""
        members = {name: (kind, value) for kind, name, value in elements_of(document)}
        made: dict[str, object] = {}
        for each in schema.fields:
            kind, value = members.get(each.name, (int(Kind.NULL), b""))
            inner = f"{path}.{each.name}" if path else each.name
            made[each.name] = self.value(kind, value, each.schema, inner)
        return made


def conflict(kind: int, schema: Schema, path: str) -> HeadraceError:
    """The error of a value of this type at a field of the schema."""
    shown = _shown(schema)
    return HeadraceError(
        "documents.value_not_of_schema",
        f"the field {path} holds a value of type {Kind(kind).name.lower()} that {shown} cannot "
        "hold exactly",
        "Declare the field as STRING or VARIANT, which hold any value, or convert with the policy "
        "`null`.",
    )


def _shown(schema: Schema) -> str:
    if schema.name == DECIMAL:
        return "DECIMAL({},{})".format(*precision_and_scale(schema))
    named = {TIMESTAMP: "TIMESTAMP", DATE: "DATE"}
    return named.get(schema.name or "", schema.type.value)


def _scalar(kind: int, raw: bytes, schema: Schema) -> object:
    """Raises ValueError, ArithmeticError or LookupError for a conflict."""
    if schema.type is Type.STRING:
        return _text(kind, raw, is_json=schema.name == JSON)
    if schema.name == DECIMAL:
        return _decimal(kind, raw, *precision_and_scale(schema))
    if schema.name in (TIMESTAMP, DATE):
        if kind not in (Kind.DATE, Kind.TIMESTAMP):
            raise ValueError
        millis = SCALARS[kind](raw)
        assert isinstance(millis, int)
        if schema.name == TIMESTAMP:
            return millis
        days, rest = divmod(millis, _MILLIS_PER_DAY)
        if rest:
            raise ValueError
        return days
    return _OTHERS[schema.type](kind, raw, schema)


def _text(kind: int, raw: bytes, *, is_json: bool) -> str:
    if not is_json:
        if kind in _TEXTS:
            return str(SCALARS[kind](raw))
        if kind in (Kind.DATE, Kind.BINARY):
            written = json.loads(value_to_extended_json(bytes([kind]) + raw, Dialect.RELAXED))
            held = written["$date"] if kind == Kind.DATE else written["$binary"]["base64"]
            return held if isinstance(held, str) else str(held["$numberLong"])
    return value_to_extended_json(bytes([kind]) + raw, Dialect.RELAXED)


def _number(kind: int, raw: bytes) -> int | float | Decimal:
    if kind == Kind.DECIMAL128:
        return Decimal(decimal_text(raw))
    if kind not in (*_WHOLE, Kind.DOUBLE):
        raise ValueError
    number = SCALARS[kind](raw)
    assert isinstance(number, int | float)
    return number


def _whole(kind: int, raw: bytes, schema: Schema) -> int:
    number = _number(kind, raw)
    made = int(number)
    bound = 1 << _BITS[schema.type]
    if made != number or not -bound <= made < bound:
        raise ValueError
    return made


def _double(kind: int, raw: bytes, _schema: Schema) -> float:
    number = _number(kind, raw)
    made = float(number)
    if not math.isnan(made) and made != number:
        raise ValueError
    return made


def _decimal(kind: int, raw: bytes, precision: int, scale: int) -> Decimal:
    number = _number(kind, raw)
    exact = Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
    if not exact.is_finite():
        raise ValueError
    sign, digits, exponent = exact.as_tuple()
    assert isinstance(exponent, int)
    if any(digits[len(digits) + scale + exponent :] if exponent < -scale else ()) and any(digits):
        raise ValueError
    unscaled = int("".join(map(str, digits)))
    shift = exponent + scale
    if shift > precision and unscaled:
        raise ValueError
    if shift >= 0:
        unscaled = unscaled * 10**shift if unscaled else 0
    else:
        unscaled, rest = divmod(unscaled, 10 ** min(-shift, 7000))
        if rest:
            raise ValueError
    if unscaled >= 10**precision:
        raise ValueError
    return Decimal((sign, tuple(map(int, str(unscaled))), -scale))


def _boolean(kind: int, raw: bytes, _schema: Schema) -> bool:
    if kind != Kind.BOOLEAN:
        raise ValueError
    return raw != b"\0"


def _bytes(kind: int, raw: bytes, _schema: Schema) -> object:
    if kind != Kind.BINARY:
        raise ValueError
    return SCALARS[kind](raw)


def _container(_kind: int, _raw: bytes, _schema: Schema) -> object:
    raise ValueError


_OTHERS: dict[Type, Callable[[int, bytes, Schema], object]] = {
    Type.INT32: _whole,
    Type.INT64: _whole,
    Type.FLOAT64: _double,
    Type.BOOLEAN: _boolean,
    Type.BYTES: _bytes,
    Type.ARRAY: _container,
    Type.MAP: _container,
    Type.STRUCT: _container,
}
