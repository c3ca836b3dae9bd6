"""numeric and its modifiers, and money."""

from __future__ import annotations

from headrace.connectors.postgresql.types.options import PostgresTypeOptions
from headrace.relational.types import numeric as decimal_types
from headrace.relational.types.declaration import TypeDeclaration

_HEADER = 4  # PostgreSQL's VARHDRSZ, added to the modifiers of numeric and of the text types


def numeric_modifier(typmod: int) -> tuple[int, int] | None:
    """Precision and scale of a numeric's type modifier, or None when it has none.

    The scale is an 11-bit signed number since PostgreSQL 15 (`numeric(5,-2)`).
    """
    if typmod < _HEADER:
        return None
    bits = typmod - _HEADER
    return (bits >> 16) & 0xFFFF, ((bits & 0x7FF) ^ 0x400) - 0x400


def numeric(typmod: int, options: PostgresTypeOptions) -> TypeDeclaration:
    """`numeric`, with or without precision and scale."""
    modifier, mode = numeric_modifier(typmod), options.decimal_handling_mode
    if modifier is None:
        return decimal_types.decimal_of_any_scale(mode)
    return decimal_types.decimal(mode, *modifier)


def money(_typmod: int, options: PostgresTypeOptions) -> TypeDeclaration:
    """`money`, with the fraction digits of the server's locale, as decimal.handling.mode renders
    it."""
    return decimal_types.money(
        options.decimal_handling_mode,
        options.money_fraction_digits,
        "Set lc_monetary to C or en_US for the connector's role (ALTER ROLE … SET lc_monetary), or "
        "exclude the column.",
    )
