"""Comparison of a sink's tables with their source: the request, and the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

LONGEST_VALUE = 60
"""The most characters of a value that are shown; of longer values the beginning and the length."""


class DifferenceKind(StrEnum):
    """The kinds of rows that differ."""

    MISSING = "missing in the replica"
    SURPLUS = "not in the source"
    DIFFERENT = "different"
    REPEATED = "more than once in the replica"


def shown_value(value: object) -> str:
    """Return a value for people, at most about LONGEST_VALUE characters."""
    text = "null" if value is None else repr(value) if isinstance(value, str) else str(value)
    if len(text) <= LONGEST_VALUE:
        return text
    return f"{text[:LONGEST_VALUE]}… ({len(text):,} characters)"


@dataclass(frozen=True)
class RowDifference:
    """A row that differs: the columns of its key with their values, and for a DIFFERENT row the
    columns with other values, each with the source's and the replica's value. Values are texts of
    `shown_value`."""

    kind: DifferenceKind
    key: dict[str, str]
    columns: dict[str, tuple[str, str]] = field(default_factory=dict)

    def __str__(self) -> str:
        key = ", ".join(f"{name}={value}" for name, value in self.key.items())
        if not self.columns:
            return f"{key}: {self.kind}"
        changes = "; ".join(
            f"{name}: {source} in the source, {replica} in the replica"
            for name, (source, replica) in self.columns.items()
        )
        return f"{key}: {self.kind}: {changes}"

    def to_json(self) -> dict[str, Any]:
        """Return the members, for output and for the state of a comparison."""
        columns = {
            name: {"source": source, "replica": replica}
            for name, (source, replica) in self.columns.items()
        }
        return {"kind": str(self.kind), "key": self.key, "columns": columns}

    @staticmethod
    def from_json(data: dict[str, Any]) -> RowDifference:
        """Read the object of `to_json`. Raises KeyError and ValueError."""
        columns = {
            name: (values["source"], values["replica"]) for name, values in data["columns"].items()
        }
        return RowDifference(DifferenceKind(data["kind"]), dict(data["key"]), columns)


@dataclass(frozen=True)
class Repair:
    """A repair copies rows of the source again: those that the `condition` of a signal selects, of
    one table; None: all rows of the tables, which replace those of the replica."""

    tables: tuple[str, ...]
    condition: str | None = None


@dataclass(frozen=True)
class ComparedTable:
    """The result for one table. `rows` of the source were read in `chunks`; `differing` rows
    differ, of which `differences` has the first ones. `unsettled` rows changed each time they were
    read. `position` is the place of the log, in the notation of the database, which the replica had
    passed at the end (empty: no difference had to be confirmed). `why`: the reason why the table
    was not compared. `notes` are further sentences. `repairs` would copy the differing rows."""

    name: str
    sources: Sequence[str] = ()
    rows: int = 0
    chunks: int = 0
    differing: int = 0
    unsettled: int = 0
    position: str = ""
    why: str = ""
    differences: Sequence[RowDifference] = ()
    notes: Sequence[str] = ()
    repairs: Sequence[Repair] = ()

    @property
    def is_equal(self) -> bool:
        """Whether the table was compared and no row differs."""
        return not self.why and not self.differing

    def to_json(self, *, with_repairs: bool = False) -> dict[str, Any]:
        """Return the members, for output; `with_repairs` for the state of a comparison, too."""
        repairs = [[[*repair.tables], repair.condition] for repair in self.repairs]
        return ({"repairs": repairs} if with_repairs else {}) | {
            "table": self.name,
            "sources": list(self.sources),
            "rows": self.rows,
            "chunks": self.chunks,
            "differing": self.differing,
            "unsettled": self.unsettled,
            "position": self.position,
            "not_compared": self.why,
            "notes": list(self.notes),
            "differences": [difference.to_json() for difference in self.differences],
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> ComparedTable:
        """Read the object of `to_json` with repairs. Raises KeyError and ValueError."""
        return ComparedTable(
            data["table"],
            data["sources"],
            data["rows"],
            data["chunks"],
            data["differing"],
            data["unsettled"],
            data["position"],
            data["not_compared"],
            [RowDifference.from_json(difference) for difference in data["differences"]],
            data["notes"],
            [Repair(tuple(tables), condition) for tables, condition in data["repairs"]],
        )


@dataclass(frozen=True)
class ComparisonRequest:
    """The request of a comparison: the tables of the source (`is_chosen`, by their names there),
    the largest number of rows of the source per second (None: unlimited), how many differing rows
    of a table are shown, and how many seconds the query may take to pass a place of the log.
    `restart`: an interrupted comparison is discarded. `check` is called often, and raises an error
    that ends the comparison; `report` gets sentences about its progress."""

    is_chosen: Callable[[str], bool] = lambda _name: True
    rate: float | None = None
    most_shown: int = 100
    wait_seconds: float = 300.0
    restart: bool = False
    check: Callable[[], None] = lambda: None
    report: Callable[[str], None] = lambda _text: None
