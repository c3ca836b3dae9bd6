"""Whether LogMiner can tell the names of captured tables and columns."""

from __future__ import annotations

from headrace.connectors.oracle.checks.state import Checked
from headrace.relational.table import Table

LONGEST_NAME = 30
"""Characters that LogMiner knows of a table or a column; what has more is not mined."""


def long_names(table: Table) -> list[str]:
    """The names of a table and its columns that LogMiner cannot mine."""
    names = [table.table, *(column.name for column in table.columns)]
    return [name for name in names if len(name.encode()) > LONGEST_NAME]


def check_long_names(checked: Checked) -> None:
    """Whether every captured table can be mined."""
    before = len(checked.findings)
    for table in checked.tables:
        names = long_names(table)
        if not names:
            continue
        checked.warn(
            "long_name",
            f"The table {table.name} has names of more than {LONGEST_NAME} characters "
            f"({', '.join(names)}): LogMiner mines no change of it",
            "Give shorter names, which what uses the old ones has to know, or leave the table out.",
        )
    if checked.tables and len(checked.findings) == before:
        checked.ok("names", "LogMiner knows the names of every captured table")
