"""numeric and its modifiers, and money."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal, localcontext
from functools import partial

from headrace.connect.encoding import Encoding
from headrace.connect.schema import Schema, Type
from headrace.connectors.postgresql.types import values
from headrace.connectors.postgresql.types.options import PostgresTypeOptions
from headrace.debezium import decimals
from headrace.relational.types import numeric as decimal_types
from headrace.relational.types.declaration import Declaration, text_of
from headrace.relational.types.texts import refuse

_HEADER = 4  # PostgreSQL's VARHDRSZ, added to the modifiers of numeric and of the text types


def numeric_modifier(typmod: int) -> tuple[int, int] | None:
    """Precision and scale of a numeric's type modifier, or None when it has none.

    The scale is an 11-bit signed number since PostgreSQL 15 (`numeric(5,-2)`).
    """
    if typmod < _HEADER:
        return None
    bits = typmod - _HEADER
    return (bits >> 16) & 0xFFFF, ((bits & 0x7FF) ^ 0x400) - 0x400


def numeric(typmod: int, options: PostgresTypeOptions) -> Declaration:
    """`numeric`, with or without precision and scale."""
    modifier, mode = numeric_modifier(typmod), options.decimal_handling_mode
    if modifier is None:
        return decimal_types.decimal_of_any_scale(mode)
    return decimal_types.decimal(mode, *modifier)


def money(_typmod: int, options: PostgresTypeOptions) -> Declaration:
    """`money`, whose fraction digits are the server's locale's; the mode says what is shown."""
    digits = options.money_fraction_digits
    zero = Decimal((0, (0,), -digits))
    mode = options.decimal_handling_mode
    if mode == "double":
        return Declaration(Schema(Type.FLOAT64), Encoding.PYTHON, money_double, 0.0)
    if mode == "string":
        return Declaration(
            Schema(Type.STRING),
            Encoding.PYTHON,
            money_string,
            decimals.plain_text(zero),
            unavailable=text_of,
        )
    return Declaration(
        decimals.decimal_schema(digits, None),
        Encoding.PYTHON,
        partial(money_decimal, digits=digits),
        zero,
    )


# Symbols before or behind the number, a sign or parentheses, groups of digits, a fraction.
_MONEY = re.compile(
    r"(?P<open>\()?(?P<minus>-)?[^\d.,()-]*(?P<second>-)?"
    r"(?P<whole>[0-9]{1,21}|[0-9]{1,3}(?:,[0-9]{2,3})+)(?:\.(?P<fraction>[0-9]{1,10}))?"
    r"[^\d.,()-]*\)?"
)


def _money(text: bytes) -> Decimal:
    amount = _MONEY.fullmatch(values.string(text))
    if amount is None:
        refuse(
            "money",
            "Set lc_monetary to C or en_US for the connector's role (ALTER ROLE … SET lc_monetary)"
            ", or exclude the column.",
        )
    number = Decimal(f"{amount['whole'].replace(',', '')}.{amount['fraction'] or ''}")
    return -number if amount["open"] or amount["minus"] or amount["second"] else number


def money_decimal(text: bytes, *, digits: int) -> Decimal:
    """An amount rounded half up to `digits` fraction digits."""
    with localcontext(prec=2000):
        return _money(text).quantize(Decimal((0, (1,), -digits)), ROUND_HALF_UP)


def money_double(text: bytes) -> float:
    """An amount as the nearest double."""
    return float(_money(text))


def money_string(text: bytes) -> str:
    """An amount as plain text, with the fraction digits that the server sent."""
    return decimals.plain_text(_money(text))
