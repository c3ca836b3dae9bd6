"""Filters of signals that select rows by their keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

_LONGEST = 8_000
"""Characters; see `headrace.signals.conditions`."""


def key_condition(
    quoted: Callable[[str], str], names: Sequence[str], keys: Sequence[tuple[object, ...]]
) -> str | None:
    """SQL that is true for the rows of these keys; `quoted` gives the name of a column in SQL.
    None: a value is neither a number nor a text, or the condition would be too long."""
    alternatives: list[str] = []
    for key in keys:
        literals = [_literal(value) for value in key]
        parts = [
            f"{quoted(name)} = {literal}"
            for name, literal in zip(names, literals, strict=True)
            if literal is not None
        ]
        if len(parts) < len(names):
            return None
        alternatives.append(" AND ".join(parts))
    condition = " OR ".join(f"({each})" for each in alternatives)
    return condition if len(condition) <= _LONGEST else None


def _literal(value: object) -> str | None:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return f"{value:f}" if isinstance(value, Decimal) else str(value)
    return None
