"""Whether LogMiner can tell the names of captured tables and columns."""

from __future__ import annotations

from headrace.connectors.oracle.checks.state import Checked
from headrace.connectors.oracle.sql import quoted
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
        path = quoted(*table.path)
        remedy = f"ALTER TABLE {path} RENAME COLUMN {quoted(names[0])} TO …;"
        if names[0] == table.table:
            remedy = f"ALTER TABLE {path} RENAME TO …;"
        checked.warn(
            "long_name",
            f"{', '.join(names)} of {table.name} has more than {LONGEST_NAME} characters: LogMiner "
            "mines no change of the table",
            f"Give it a shorter name ({remedy.rstrip(';')}), or leave the table out.",
        )
    if checked.tables and len(checked.findings) == before:
        checked.ok("names", "LogMiner knows the names of every captured table")
