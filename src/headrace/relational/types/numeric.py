"""Decimal numbers and amounts of money: Connect's Decimal, doubles or text, depending on
`decimal.handling.mode`."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal, localcontext
from functools import partial

from headrace.connect.encoding import Encoding
from headrace.connect.schema import Schema, Type
from headrace.debezium import decimals
from headrace.relational.types import texts
from headrace.relational.types.declaration import TypeDeclaration, text_of


def decimal(mode: str, precision: int, scale: int) -> TypeDeclaration:
    """A number of `precision` digits, `scale` of them after the point (negative: that many zeros
    before it)."""
    if mode == "double":
        return _DOUBLE
    if mode == "string":
        return _text(max(scale, 0))
    return TypeDeclaration(
        decimals.decimal_schema(scale, precision),
        # The kernel counts fraction digits; a negative scale has none.
        Encoding.DECIMAL if scale >= 0 else Encoding.PYTHON,
        partial(texts.decimal, scale=scale),
        Decimal((0, (0,), -scale)),
        parameter=scale,
    )


def decimal_of_any_scale(mode: str) -> TypeDeclaration:
    """A decimal number whose scale differs from value to value."""
    if mode == "double":
        return _DOUBLE
    if mode == "string":
        return _text(None)
    return TypeDeclaration(
        decimals.VARIABLE_SCALE_DECIMAL,
        Encoding.VARIABLE_DECIMAL,
        texts.variable_decimal,
        decimals.variable_scale(Decimal(0)),
    )


_DOUBLE = TypeDeclaration(Schema(Type.FLOAT64), Encoding.NUMERIC_DOUBLE, texts.numeric_double, 0.0)


def _text(scale: int | None) -> TypeDeclaration:
    return TypeDeclaration(
        Schema(Type.STRING),
        Encoding.DECIMAL_STRING,
        partial(texts.numeric_string, scale=scale),
        texts.numeric_string(b"0", scale=scale),
        parameter=-1 if scale is None else scale,
        unavailable=text_of,
    )


def money(mode: str, digits: int, remedy: str) -> TypeDeclaration:
    """Formatted amounts of money, with `digits` digits after the point; `remedy` is the remedy for
    texts that are not such amounts."""
    zero = Decimal((0, (0,), -digits))
    if mode == "double":
        decode = partial(money_double, remedy=remedy)
        return TypeDeclaration(Schema(Type.FLOAT64), Encoding.PYTHON, decode, 0.0)
    if mode == "string":
        return TypeDeclaration(
            Schema(Type.STRING),
            Encoding.PYTHON,
            partial(money_string, remedy=remedy),
            decimals.plain_text(zero),
            unavailable=text_of,
        )
    return TypeDeclaration(
        decimals.decimal_schema(digits, None),
        Encoding.PYTHON,
        partial(money_decimal, digits=digits, remedy=remedy),
        zero,
    )


# Symbols before or after the number, a sign or parentheses, groups of digits, a fraction.
_MONEY = re.compile(
    r"(?P<open>\()?(?P<minus>-)?[^\d.,()-]*(?P<second>-)?"
    r"(?P<whole>[0-9]{1,21}|[0-9]{1,3}(?:,[0-9]{2,3})+)(?:\.(?P<fraction>[0-9]{1,10}))?"
    r"[^\d.,()-]*\)?"
)


def _money(text: bytes, remedy: str | None) -> Decimal:
    amount = _MONEY.fullmatch(texts.string(text))
    if amount is None:
        texts.refuse("money", remedy)
    number = Decimal(f"{amount['whole'].replace(',', '')}.{amount['fraction'] or ''}")
    return -number if amount["open"] or amount["minus"] or amount["second"] else number


def money_decimal(text: bytes, *, digits: int, remedy: str | None = None) -> Decimal:
    """An amount rounded half up to `digits` fraction digits."""
    with localcontext(prec=2000):
        return _money(text, remedy).quantize(Decimal((0, (1,), -digits)), ROUND_HALF_UP)


def money_double(text: bytes, *, remedy: str | None = None) -> float:
    """An amount as the nearest double."""
    return float(_money(text, remedy))


def money_string(text: bytes, *, remedy: str | None = None) -> str:
    """An amount as plain text, with its original fraction digits."""
    return decimals.plain_text(_money(text, remedy))
