"""The queries of a support bundle, and the parts of the answers that may be shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Shown(StrEnum):
    """The way in which a bundle shows the values of a column."""

    VALUE = "value"
    """The value: only for a database's own words and numbers."""
    NAME = "name"
    """A number instead of the name."""
    TEXT = "text"
    """A text with other characters of the same kinds."""
    SQL = "sql"
    """The statement, with masked names and values."""
    COLUMN_TYPE = "column type"
    """The declared type of a column, with masked names of types."""
    OWN_SQL = "own sql"
    """A statement on a table of the workload: values, and the workload's own names, are shown."""
    TYPE = "type"
    """The Python type of the driver's value, and its size."""


@dataclass(frozen=True)
class Question:
    """A statement. `text` is sent unchanged, or with the name of each captured table (`{table}`);
    `place` is its container or schema; `why` is shown by `--dry-run`. `columns` says how columns
    are shown, by upper-case name; for other columns, texts are masked and numbers and times shown,
    unless `others` is given. `own` are the names and words of a workload, in upper case. `goes_on`
    is the column with a number other than 0 in rows whose statement continues in the next row:
    these parts are masked together."""

    name: str
    text: str
    why: str
    place: str = ""
    columns: Mapping[str, Shown] = field(default_factory=dict)
    others: Shown | None = None
    rows: int = 50
    own: frozenset[str] = frozenset()
    goes_on: str = ""

    def own_of(self, column: str) -> frozenset[str] | None:
        """`own` if the column has statements of the workload, otherwise None."""
        return self.own if self.columns.get(column) is Shown.OWN_SQL else None
