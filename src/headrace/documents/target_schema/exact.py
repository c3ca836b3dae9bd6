"""Conversions that the compiled pass leaves to Python: rare pairs of a value and a type, one value
at a time."""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Callable
from decimal import Decimal

from headrace.connect.schema import DECIMAL, Schema, Type
from headrace.documents.bson import Kind
from headrace.documents.dialects import Dialect
from headrace.documents.extended_json import value_to_extended_json
from headrace.documents.target_schema.ddl import precision_and_scale
from headrace.documents.values import SCALARS, binary_bytes, decimal_text

_BITS = {Type.INT8: 7, Type.INT16: 15, Type.INT32: 31, Type.INT64: 63}
_NUMBERS = (Kind.INT32, Kind.INT64, Kind.DOUBLE)
_SINGLE = struct.Struct("<f")


def exact_scalar(kind: int, raw: bytes, schema: Schema) -> object:
    """Return the Connect value of a type and its bytes. Raises ValueError, ArithmeticError or
    LookupError if `schema` does not hold it exactly."""
    if schema.name == DECIMAL:
        return _decimal(kind, raw, *precision_and_scale(schema))
    return _OTHERS[schema.type](kind, raw, schema)


def _text(kind: int, raw: bytes, _schema: Schema) -> str:
    if kind == Kind.BINARY:
        return base64.b64encode(binary_bytes(raw)).decode()
    if kind in SCALARS and kind != Kind.TIMESTAMP:
        return str(SCALARS[kind](raw))
    return value_to_extended_json(bytes([kind]) + raw, Dialect.RELAXED)


def _number(kind: int, raw: bytes) -> int | float | Decimal:
    if kind == Kind.DECIMAL128:
        return Decimal(decimal_text(raw))
    if kind not in _NUMBERS:
        raise ValueError
    number = SCALARS[kind](raw)
    assert isinstance(number, int | float)
    return number


def _whole(kind: int, raw: bytes, schema: Schema) -> int:
    number = _number(kind, raw)
    bound = 1 << _BITS[schema.type]
    if not -bound <= number < bound or int(number) != number:
        raise ValueError
    return int(number)


def _real(kind: int, raw: bytes, schema: Schema) -> float:
    number = _number(kind, raw)
    real = float(number)
    if schema.type is Type.FLOAT32:
        real = _SINGLE.unpack(_SINGLE.pack(real))[0]
    if not math.isnan(real) and real != number:
        raise ValueError
    return real


def _decimal(kind: int, raw: bytes, precision: int, scale: int) -> Decimal:
    number = _number(kind, raw)
    # The digits of a double are the fewest that distinguish it from other doubles.
    exact = Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
    if not exact.is_finite():
        raise ValueError
    sign, digits, exponent = exact.as_tuple()
    assert isinstance(exponent, int)
    unscaled = int("".join(map(str, digits)))
    if not unscaled:
        return Decimal((0, (0,), -scale))
    shift = exponent + scale
    if shift > precision or shift < -len(digits):
        raise ValueError
    unscaled, rest = (unscaled * 10**shift, 0) if shift >= 0 else divmod(unscaled, 10**-shift)
    if rest or unscaled >= 10**precision:
        raise ValueError
    return Decimal((sign, tuple(map(int, str(unscaled))), -scale))


_OTHERS: dict[Type, Callable[[int, bytes, Schema], object]] = {
    Type.STRING: _text,
    Type.INT8: _whole,
    Type.INT16: _whole,
    Type.INT32: _whole,
    Type.INT64: _whole,
    Type.FLOAT32: _real,
    Type.FLOAT64: _real,
}
