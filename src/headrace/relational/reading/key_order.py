"""Where a row stands in the order of a key, as a condition that any SQL understands: nulls, which
not every database sorts alike, come last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from headrace.signals.progress import Key


class KeyColumn(NamedTuple):
    """A column of the key: how SQL names it (quoted), and whether it may be null."""

    sql: str
    nullable: bool


def is_beyond(columns: Sequence[KeyColumn], bound: Key, literal: Callable[[str], str]) -> str:
    """The condition of the rows behind `bound` in ORDER BY `columns`; its NOT is the condition of
    the others, for it is never null itself. `literal` writes a value in SQL."""
    cases: list[str] = []
    same: list[str] = []
    for column, value in zip(columns, bound, strict=True):
        if value is None:
            further = "1 = 0"
            equal = f"{column.sql} IS NULL"
        else:
            further = f"{column.sql} > {literal(value)}"
            equal = f"{column.sql} = {literal(value)}"
            if column.nullable:
                further = f"({column.sql} IS NULL OR {further})"
                equal = f"({column.sql} IS NOT NULL AND {equal})"
        cases.append(f"({' AND '.join([*same, further])})")
        same.append(equal)
    return f"({' OR '.join(cases)})"
