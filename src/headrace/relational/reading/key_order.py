"""Conditions on the place of a row in the order of a key, in SQL that any database supports: nulls,
which databases sort differently, come last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class KeyColumn(NamedTuple):
    """A column of the key: its quoted name in SQL, and whether it may be null."""

    sql: str
    nullable: bool


def is_beyond(columns: Sequence[KeyColumn], bound: Sequence[str | None]) -> str:
    """The condition of the rows after `bound` (in SQL; None: null) in ORDER BY `columns`; its NOT
    is the condition of all other rows, because it is never null itself."""
    cases: list[str] = []
    same: list[str] = []
    for column, value in zip(columns, bound, strict=True):
        if value is None:
            further = "1 = 0"
            equal = f"{column.sql} IS NULL"
        else:
            further = f"{column.sql} > {value}"
            equal = f"{column.sql} = {value}"
            if column.nullable:
                further = f"({column.sql} IS NULL OR {further})"
                equal = f"({column.sql} IS NOT NULL AND {equal})"
        cases.append(f"({' AND '.join([*same, further])})")
        same.append(equal)
    return f"({' OR '.join(cases)})"


def by_columns(columns: Sequence[str], operator: str, values: Sequence[str]) -> str:
    """A comparison of rows (`<`, `<=`, `>`, `>=`) in SQL that only compares single values, none of
    which is null. The first column is also compared separately, so that an index can be used."""
    strict = operator[0]
    cases: list[str] = []
    for place, (column, value) in enumerate(zip(columns, values, strict=True)):
        is_last = place == len(columns) - 1
        same = [f"{columns[i]} = {values[i]}" for i in range(place)]
        cases.append(" AND ".join([*same, f"{column} {operator if is_last else strict} {value}"]))
    if len(cases) == 1:
        return cases[0]
    joined = " OR ".join(f"({case})" for case in cases)
    return f"({columns[0]} {strict}= {values[0]} AND ({joined}))"
