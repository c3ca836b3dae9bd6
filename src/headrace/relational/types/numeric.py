"""Decimal numbers: Connect's Decimal, doubles or text, as `decimal.handling.mode` says."""

from __future__ import annotations

from decimal import Decimal
from functools import partial

from headrace.connect.encoding import Encoding
from headrace.connect.schema import Schema, Type
from headrace.debezium import decimals
from headrace.relational.types import texts
from headrace.relational.types.declaration import Declaration, text_of


def decimal(mode: str, precision: int, scale: int) -> Declaration:
    """A number of `precision` digits, `scale` of them behind the point (negative: that many zeros
    before it)."""
    if mode == "double":
        return _DOUBLE
    if mode == "string":
        return _text(max(scale, 0))
    return Declaration(
        decimals.decimal_schema(scale, precision),
        # The kernel counts fraction digits, of which a negative scale has none.
        Encoding.DECIMAL if scale >= 0 else Encoding.PYTHON,
        partial(texts.decimal, scale=scale),
        Decimal((0, (0,), -scale)),
        parameter=scale,
    )


def decimal_of_any_scale(mode: str) -> Declaration:
    """A number of whatever digits each value has."""
    if mode == "double":
        return _DOUBLE
    if mode == "string":
        return _text(None)
    return Declaration(
        decimals.VARIABLE_SCALE_DECIMAL,
        Encoding.VARIABLE_DECIMAL,
        texts.variable_decimal,
        decimals.variable_scale(Decimal(0)),
    )


_DOUBLE = Declaration(Schema(Type.FLOAT64), Encoding.NUMERIC_DOUBLE, texts.numeric_double, 0.0)


def _text(scale: int | None) -> Declaration:
    return Declaration(
        Schema(Type.STRING),
        Encoding.DECIMAL_STRING,
        partial(texts.numeric_string, scale=scale),
        texts.numeric_string(b"0", scale=scale),
        parameter=-1 if scale is None else scale,
        unavailable=text_of,
    )
