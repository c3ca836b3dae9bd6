"""Exact decimals: Connect's Decimal, Debezium's VariableScaleDecimal and its special values.

A Connect value of these is a `decimal.Decimal` (Decimal) or `{"scale": int, "value": bytes}`
(VariableScaleDecimal).
"""

from __future__ import annotations

import base64
from decimal import Decimal

from headrace.connect.schema import DECIMAL, Field, Schema, Type

VARIABLE_SCALE_DECIMAL_NAME = "io.debezium.data.VariableScaleDecimal"

VARIABLE_SCALE_DECIMAL = Schema(
    Type.STRUCT,
    name=VARIABLE_SCALE_DECIMAL_NAME,
    version=1,
    doc="Variable scaled decimal",
    fields=(Field("scale", Schema(Type.INT32)), Field("value", Schema(Type.BYTES))),
)

_SPECIAL_TEXTS = {"NaN": "NAN", "Infinity": "POSITIVE_INFINITY", "-Infinity": "NEGATIVE_INFINITY"}


def decimal_schema(scale: int, precision: int | None) -> Schema:
    """Connect's Decimal at a fixed scale; the precision is Debezium's extra parameter."""
    parameters = [("scale", str(scale))]
    if precision is not None:
        parameters.append(("connect.decimal.precision", str(precision)))
    return Schema(Type.BYTES, name=DECIMAL, version=1, parameters=tuple(parameters))


def special_text(value: Decimal) -> str:
    """What string mode prints for NaN and the infinities."""
    return _SPECIAL_TEXTS[str(value)]


def unscaled(value: Decimal) -> int:
    """The integer value · 10^scale of a finite decimal.

    Goes through `Decimal`, because Python refuses to parse integers of more than 4,300 digits
    and numbers of a database reach 147,455.
    """
    sign, digits, _exponent = value.as_tuple()
    return int(Decimal((sign, digits, 0)))


def big_endian(number: int) -> bytes:
    """Two's complement in the fewest bytes, as Java's BigInteger.toByteArray gives it."""
    size = (number if number >= 0 else ~number).bit_length() // 8 + 1
    return number.to_bytes(size, "big", signed=True)


def scale_of(value: Decimal) -> int:
    """The number of fraction digits of a finite decimal; negative for trailing zeros left out."""
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return -exponent


def at_scale(value: Decimal, scale: int) -> Decimal | None:
    """The same finite number with exactly `scale` fraction digits, or None if digits would go."""
    missing = scale - scale_of(value)
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    if missing < 0:
        if any(digits[missing:]) or (-missing > len(digits) and any(digits)):
            return None
        digits = digits[:missing] or (0,)
    elif missing > 0:
        digits = digits + (0,) * missing
    return Decimal((sign, digits, -scale))


def variable_scale(value: Decimal) -> dict[str, object]:
    """The struct of a VariableScaleDecimal: trailing zeros stripped, scale never negative."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    kept = len(digits)
    while kept > 1 and digits[kept - 1] == 0 and exponent < 0:
        kept -= 1
        exponent += 1
    digits = digits[:kept]
    if digits == (0,):
        exponent = 0
    if exponent > 0:
        digits, exponent = digits + (0,) * exponent, 0
    number = int(Decimal((sign, digits, 0)))
    return {"scale": -exponent, "value": big_endian(number)}


def plain_text(value: Decimal) -> str:
    """The number without an exponent (Java's toPlainString); special values by their names."""
    if not value.is_finite():
        return special_text(value)
    return format(value if value else value.copy_abs(), "f")


def base64_text(value: Decimal) -> str:
    """Base64 of the unscaled value, as JsonConverter prints a Decimal."""
    return base64.b64encode(big_endian(unscaled(value))).decode()


def decimal_scale(schema: Schema) -> int:
    """The `scale` parameter of a Decimal schema."""
    return int(dict(schema.parameters)["scale"])
