"""Exact decimals: Connect's Decimal, Debezium's VariableScaleDecimal and its special values.

A Connect value of these is a `decimal.Decimal` (Decimal) or `{"scale": int, "value": bytes}`
(VariableScaleDecimal).
"""

from __future__ import annotations

import base64
from decimal import Decimal

from headrace.connect.java_numbers import unscaled_bytes
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
    """Connect's Decimal with a fixed scale; the precision is a parameter that Debezium adds."""
    parameters = [("scale", str(scale))]
    if precision is not None:
        parameters.append(("connect.decimal.precision", str(precision)))
    return Schema(Type.BYTES, name=DECIMAL, version=1, parameters=tuple(parameters))


def special_text(value: Decimal) -> str:
    """Return Debezium's text for NaN or an infinity in string mode."""
    return _SPECIAL_TEXTS[str(value)]


def variable_scale(value: Decimal) -> dict[str, object]:
    """The struct of a VariableScaleDecimal: trailing zeros stripped, scale never negative."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    significant = len(digits)
    while significant > 1 and digits[significant - 1] == 0 and exponent < 0:
        significant -= 1
        exponent += 1
    digits = digits[:significant]
    if digits == (0,):
        exponent = 0
    if exponent > 0:
        digits, exponent = digits + (0,) * exponent, 0
    return {"scale": -exponent, "value": unscaled_bytes(Decimal((sign, digits, 0)))}


def plain_text(value: Decimal) -> str:
    """The number without an exponent (Java's toPlainString), or the name of a special value."""
    if not value.is_finite():
        return special_text(value)
    return format(value if value else value.copy_abs(), "f")


def base64_text(value: Decimal) -> str:
    """Base64 of the unscaled value, as JsonConverter prints a Decimal."""
    return base64.b64encode(unscaled_bytes(value)).decode()
