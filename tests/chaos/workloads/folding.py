"""The tables that events make, row by row: what each event may find there, and what has to be there
at the end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.chaos.workloads.database import MARK, Change, Place, Row, change_of

_PLACEHOLDER = "__debezium_unavailable_value"
UNAVAILABLE = (_PLACEHOLDER, _PLACEHOLDER.encode().hex())
"""Placeholders of large values that a change does not carry."""
RowName = tuple[str, int]
"""A table and a key, which only one row ever has."""


class Rules(Protocol):
    """Properties of a database's events: see RandomDatabase."""

    @property
    def tables(self) -> tuple[str, ...]: ...
    @property
    def reads_ahead(self) -> bool: ...
    def place_of(self, source: Mapping[str, Any], /) -> int: ...


@dataclass
class Reading:
    """The rows that may be read: `marks` are the changes that made each row what it was when they
    were committed, with the numbers of their places, in order; `begin` is where the log begins."""

    marks: Mapping[RowName, Mapping[int, int]]
    begin: int
    read_at: dict[RowName, int] = field(default_factory=dict)
    """The place of each row's last read."""

    @staticmethod
    def of(committed: list[tuple[Place, list[Change]]], begin: int) -> Reading:
        """The rows that may be read of these changes."""
        marks: defaultdict[RowName, dict[int, int]] = defaultdict(dict)
        for place, changes in committed:
            for change in changes:
                if change.op in ("c", "u"):
                    marks[change.table, change.key][change.mark] = place.number
        return Reading(marks, begin)

    def take(self, read: Change, place: int) -> None:
        """A row was read: it is one that was committed, and no older than the log's beginning."""
        row = read.table, read.key
        committed = self.marks.get(row, {})
        assert read.mark in committed, f"{read} was read, and was never committed"
        first = max((mark for mark, at in committed.items() if at <= self.begin), default=0)
        assert read.mark >= first, f"{read} was read, which was {first} when the log began"
        self.read_at[row] = place

    def check_asked(self, requested: Mapping[str, int], folding: Folding) -> None:
        """Rows that are as they were when they were asked for have been read since then."""
        for table, place in requested.items():
            old = [
                key
                for key, row in folding.tables[table].items()
                if self.marks[table, key][int(row[MARK])] < place
            ]
            unread = [key for key in old if self.read_at.get((table, key), -1) < place]
            assert not unread, (
                f"{table}: {len(unread)} of {len(old)} rows were not read when they were asked for "
                f"at {place}, {sorted(unread)[:5]}"
            )


class Folding:
    """Takes events in their order. `before` are rows that nobody reads; `settled` is the place up
    to which everything was committed when the first snapshot was over."""

    def __init__(
        self,
        rules: Rules,
        before: Mapping[str, Mapping[int, Row]],
        reading: Reading,
        settled: int,
    ) -> None:
        self._rules, self._reading, self._settled = rules, reading, settled
        self.tables = {table: dict(before.get(table, {})) for table in rules.tables}
        self._as_read: set[RowName] = set()
        """Rows that were read, and not changed since."""
        self._gone: set[RowName] = set()

    def take(self, table: str, value: Mapping[str, Any]) -> None:
        """An event. Raises AssertionError where it does not follow those before."""
        change, rows = change_of(table, value), self.tables[table]
        if change.op == "t":
            # A row may have been read that was inserted after the table was emptied.
            self._gone |= {(table, key) for key in rows} - self._as_read
            rows.clear()
        elif change.op == "d":
            self._require(change, value, is_there=True)
            rows.pop(change.key, None)
            self._gone.add((table, change.key))
        else:
            self._put(change, value)

    def _put(self, change: Change, value: Mapping[str, Any]) -> None:
        row, rows = (change.table, change.key), self.tables[change.table]
        assert row not in self._gone, f"{change} comes after the row was deleted"
        if change.op == "r":
            self._read(change, value)
            self._as_read.add(row)
        else:
            self._require(change, value, is_there=change.op == "u")
            self._as_read.discard(row)
        folded_row = rows.get(change.key, {})
        rows[change.key] = {
            name: folded_row.get(name) if cell in UNAVAILABLE else cell
            for name, cell in value["after"].items()
        }

    def _read(self, change: Change, value: Mapping[str, Any]) -> None:
        place = self._rules.place_of(value["source"])
        self._reading.take(change, place)
        folded_row = self.tables[change.table].get(change.key)
        if folded_row is not None:
            assert place > self._reading.begin, f"{change} is read twice in the first snapshot"
            assert change.mark >= int(folded_row[MARK]), f"{change} is older than {folded_row}"

    def _require(self, change: Change, value: Mapping[str, Any], *, is_there: bool) -> None:
        """The row is there or not, or it was read when it had this change already."""
        row = change.table, change.key
        folded_row = self.tables[change.table].get(change.key)
        if (folded_row is not None) == is_there:
            return
        if folded_row is not None:
            is_newer = row in self._as_read and int(folded_row[MARK]) >= change.mark
        else:
            place = self._rules.place_of(value["source"])
            is_newer = self._rules.reads_ahead and place <= self._settled
            is_newer = is_newer and row not in self._gone
        assert is_newer, f"{change} of a row that is{'' if folded_row else ' not'} there"

    def check(self, table: str, expected: Mapping[int, Row]) -> None:
        """The rows of a table are those. Raises AssertionError."""
        folded_rows = self.tables[table]
        lost, more = expected.keys() - folded_rows.keys(), folded_rows.keys() - expected.keys()
        assert not lost, f"{table}: {len(lost)} rows are lost, {sorted(lost)[:5]}"
        assert not more, f"{table}: {len(more)} rows are too many, {sorted(more)[:5]}"
        for key, row in expected.items():
            for name, value in row.items():
                folded_value = folded_rows[key].get(name)
                assert folded_value == value, (
                    f"{table}.{name} of {key}: {folded_value!r}, not {value!r}"
                )
