"""What a support bundle asks of a database, and what of the answers may be shown."""

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
    workload, in upper case."""

    name: str
    text: str
    why: str
    place: str = ""
    columns: Mapping[str, Shown] = field(default_factory=dict)
    others: Shown | None = None
    rows: int = 50
    own: frozenset[str] = frozenset()
