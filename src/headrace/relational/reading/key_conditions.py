"""Filters of signals that select rows by key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

_LONGEST = 8_000
"""Most characters of a filter; see `headrace.signals.conditions`."""


def key_condition(
    quoted: Callable[[str], str], names: Sequence[str], keys: Sequence[tuple[object, ...]]
) -> str | None:
    """SQL that is true for the rows with these keys; `quoted` returns the quoted name of a column.
    None if a value is neither a number nor a text without characters that some SQL escapes, or if
    the condition would be too long."""
    rows: list[list[str]] = []
    for key in keys:
        literals = [literal for value in key if (literal := _literal(value)) is not None]
        if len(literals) < len(names):
            return None
        rows.append(literals)
    if len(names) == 1:
        condition = f"{quoted(names[0])} IN ({', '.join(literal for (literal,) in rows)})"
    else:
        columns = [quoted(name) for name in names]
        parts = (
            " AND ".join(f"{c} = {text}" for c, text in zip(columns, literals, strict=True))
            for literals in rows
        )
        condition = " OR ".join(f"({part})" for part in parts)
    return condition if len(condition) <= _LONGEST else None


def _literal(value: object) -> str | None:
    if isinstance(value, str) and value.isprintable() and "\\" not in value:
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return f"{value:f}" if isinstance(value, Decimal) else str(value)
    return None
