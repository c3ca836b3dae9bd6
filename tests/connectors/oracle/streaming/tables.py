"""The captured tables of tests, as rows of redo see them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FoundTable:
    """See headrace.connectors.oracle.streaming.row_effects.RowTable."""

    relation: int = 3
    model: int = 0
    has_apart: bool = False
    path: tuple[str, str] = ("S", "T1")

    @staticmethod
    def named(schema: str, table: str) -> FoundTable | None:
        """One of those that `redo.statements` reads."""
        tables = ("T1", "T2")
        if schema != "S" or table not in tables:
            return None
        return FoundTable(model=tables.index(table), path=(schema, table))
