"""Checks that LogMiner supports the names of captured tables and columns."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.connectors.oracle.checks.state import Checked
from headrace.errors import HeadraceError
from headrace.relational.table import Table

LONGEST_NAME = 30
"""The most characters of a table's or a column's name that LogMiner supports; longer names are not
mined."""


def long_names(tables: Iterable[Table]) -> list[HeadraceError]:
    """Return warnings of tables that LogMiner cannot mine because of their names or their
    columns'."""
    too_long = []
    for table in tables:
        identifiers = [table.table, *(column.name for column in table.columns)]
        names = [name for name in identifiers if len(name.encode()) > LONGEST_NAME]
        if names:
            too_long.append(
                HeadraceError(
                    "oracle.long_name",
                    f"The table {table.name} has names of more than {LONGEST_NAME} characters "
                    f"({', '.join(names)}): LogMiner mines no change of it",
                    "Give them shorter names, and adapt the programs that use the old ones, or "
                    "leave the table out.",
                )
            )
    return too_long


def check_long_names(checked: Checked) -> None:
    """Check that every captured table can be mined."""
    names = long_names(checked.tables)
    for error in names:
        checked.findings.add_error(error, "warning")
    if checked.tables and not names:
        checked.ok("names", "LogMiner knows the names of every captured table")
