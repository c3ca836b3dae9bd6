"""The queries of a support bundle, and the parts of the answers that may be shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Shown(StrEnum):
    """What a bundle shows of the values of a column."""

    VALUE = "value"
    """The value: only of a database's own words and numbers."""
    NAME = "name"
    """A number in place of the name."""
    TEXT = "text"
    """Other characters of the same kinds."""
    SQL = "sql"
    """The statement, its names and values masked."""
    COLUMN_TYPE = "column type"
    """The type of a column as it is declared, names of types masked."""
    OWN_SQL = "own sql"
    """A statement on a table of the workload: values are shown, and names that are the workload's
    own."""
    TYPE = "type"
    """The type that the driver made of it, and its size."""


@dataclass(frozen=True)
class Question:
    """One statement. `text` is what is sent, or what is sent with other names (`{table}`) for each
    captured table; `place` says in which container or schema; `why` is shown by `--dry-run`.
    `columns` says what is shown of which column, in upper case; of the others texts are masked and
    numbers and times shown, or all of them as `others` says. `own` are the names and words of a
    workload, in upper case. `goes_on` is the column that says, by a number other than 0, that the
    statements of a row go on in the next one: they are masked together."""

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
        """`own` where the column has statements of the workload, None for others."""
        return self.own if self.columns.get(column) is Shown.OWN_SQL else None
