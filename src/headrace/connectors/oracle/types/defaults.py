"""Column defaults for schemas, from ALL_TAB_COLS.DATA_DEFAULT.

Literals, TO_DATE and TO_TIMESTAMP of constants are read. SYSDATE and other expressions give the
beginning of 1970 in a column of dates that is not null, as in Debezium, and else no default.
"""

from __future__ import annotations

import re
from typing import Protocol

from headrace.connectors.oracle.types import literals
from headrace.connectors.oracle.types.declarations import (
    BINARY_FLOATS,
    DAY_TO_SECOND,
    LOCAL,
    NUMBERS,
    PADDED,
    TIMESTAMPS,
    YEAR_TO_MONTH,
    ZONED,
)
from headrace.relational.types.declaration import TypeDeclaration

_FUNCTION = re.compile(
    r"(TO_DATE|TO_TIMESTAMP|TO_TIMESTAMP_TZ|TO_YMINTERVAL|TO_DSINTERVAL)\('([^']*)'(?:,[^()]*)?\)",
    re.IGNORECASE,
)
_EMPTY = {"EMPTY_CLOB()": "", "EMPTY_BLOB()": "\\x"}
_LARGE_TEXTS = frozenset({"CLOB", "NCLOB"})
_TEXTS = _LARGE_TEXTS | PADDED | {"VARCHAR2", "VARCHAR", "NVARCHAR2"}


class _Typed(Protocol):
    @property
    def kind(self) -> str: ...

    @property
    def length(self) -> int: ...

    @property
    def digits(self) -> int | None: ...


def default_value(
    declared: _Typed, declaration: TypeDeclaration, expression: str, *, optional: bool
) -> object | None:
    """Return the Connect value of a default, or None if the schema shows none. Never raises: a
    default that cannot be read is left out."""
    expression = expression.strip()
    if expression.upper() == "NULL":
        return None
    text = _text(declared, expression)
    if text is None:
        is_time = declared.kind in TIMESTAMPS | {ZONED, LOCAL}
        is_constant = _FUNCTION.fullmatch(expression) is not None
        return None if optional or is_constant or not is_time else declaration.zero
    return declaration.default(text)


def _unquoted(text: str) -> str | None:
    """Return the text between quotes; quotes inside stay doubled, as in Debezium."""
    if text.startswith("('") and text.endswith("')"):
        return text[2:-2]
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == "'" else None


def _text(declared: _Typed, expression: str) -> str | None:
    """Return headrace's text of the value of a literal; None if the type has no such literal."""
    kind, literal = declared.kind, _unquoted(expression)
    if kind in _LARGE_TEXTS or kind == "BLOB":
        empty = _EMPTY.get(expression.upper())
        if empty is not None:
            return empty
    if kind in _TEXTS:
        if literal is not None and kind in PADDED:
            return literal.ljust(declared.length)
        return literal
    call = _FUNCTION.fullmatch(expression)
    argument = literal if call is None else call[2]
    if kind in TIMESTAMPS:
        return None if argument is None else literals.timestamp(argument)
    if kind in (ZONED, LOCAL):
        return (
            None if argument is None else literals.zoned_timestamp(argument, declared.digits or 0)
        )
    if kind == YEAR_TO_MONTH:
        return None if argument is None else literals.years_to_months(argument)
    if kind == DAY_TO_SECOND:
        return None if argument is None else literals.days_to_seconds(argument)
    if expression.startswith("(") and expression.endswith(")"):
        expression = expression[1:-1]
    plain = literal or expression
    if kind in NUMBERS:
        return literals.number(plain)
    if kind in BINARY_FLOATS:
        return literals.binary_float(plain, double=kind == "BINARY_DOUBLE")
    if kind == "BOOLEAN":
        return {"TRUE": "t", "FALSE": "f", "1": "t", "0": "f"}.get(expression.upper())
    return None
