"""Whether LogMiner can tell the names of captured tables and columns."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence

from headrace.connectors.oracle.checks.state import Checked
from headrace.connectors.oracle.sql import quoted
from headrace.relational.table import Table

LONGEST_NAME = 30
"""Characters that LogMiner knows of a table or a column; what has more is not mined."""


def long_names(table: Table) -> list[str]:
    """The names of a table and its columns that LogMiner cannot mine."""
    names = [table.table, *(column.name for column in table.columns)]
    return [name for name in names if len(name.encode()) > LONGEST_NAME]


def _renamed(table: Table, names: Sequence[str]) -> Iterator[str]:
    """Statements that cut names, of which the table's is the last one."""
    path, taken = quoted(*table.path), {column.name for column in table.columns}
    for name in names:
        if name != table.table:
            taken.add(short := _cut(name, taken))
            yield f"ALTER TABLE {path} RENAME COLUMN {quoted(name)} TO {quoted(short)};"
    if table.table in names:
        yield f"ALTER TABLE {path} RENAME TO {quoted(_cut(table.table, set()))};"


def _cut(name: str, taken: Collection[str]) -> str:
    for number in itertools.count():
        mark = f"_{number}" if number else ""
        short = name.encode()[: LONGEST_NAME - len(mark)].decode(errors="ignore") + mark
        if short not in taken:
            break
    return short


def check_long_names(checked: Checked) -> None:
    """Whether every captured table can be mined."""
    before = len(checked.findings)
    for table in checked.tables:
        names = long_names(table)
        if not names:
            continue
        checked.warn(
            "long_name",
            f"{', '.join(names)} of {table.name} has more than {LONGEST_NAME} characters: LogMiner "
            "mines no change of the table",
            f"Give shorter names, or leave the table out. {' '.join(_renamed(table, names))}",
        )
    if checked.tables and len(checked.findings) == before:
        checked.ok("names", "LogMiner knows the names of every captured table")
