"""Row states that the verdict on a workload's events accepts, and those that it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.chaos.workloads.database import Change, Place
from tests.chaos.workloads.folding import Folding, Reading

BEGIN, SETTLED = 10, 20
"""The place where the log begins, and the place where the first snapshot is over."""


@dataclass(frozen=True)
class Rules:
    """The rules of a table whose rows may be read ahead of the log."""

    tables: tuple[str, ...] = ("A",)
    reads_ahead: bool = True

    def place_of(self, source: Mapping[str, Any]) -> int:
        return int(source["at"])


# The row 1: created before the log begins, changed twice, and deleted.
COMMITTED = [
    (Place(5), [Change("A", "c", 1, 1)]),
    (Place(12), [Change("A", "u", 1, 2)]),
    (Place(15), [Change("A", "u", 1, 3)]),
    (Place(25), [Change("A", "u", 1, 4)]),
]


def event(op: str, mark: int, at: int, **more: str | None) -> dict[str, Any]:
    row = {"ID": 1, "V": mark, **more}
    image = {"before": row, "after": None} if op == "d" else {"before": None, "after": row}
    return {"op": op, "source": {"at": at}, **image}


def folded(*events: dict[str, Any], rules: Rules | None = None) -> Folding:
    folding = Folding(rules or Rules(), {}, Reading.of(COMMITTED, BEGIN), SETTLED)
    for event in events:
        folding.take("A", event)
    return folding


def test_changes_that_a_row_shows_already_may_come_again_after_it() -> None:
    folded(event("r", 3, BEGIN), event("u", 2, 12), event("u", 3, 15)).check("A", {1: {"V": 3}})


def test_changes_of_a_row_that_was_deleted_before_it_was_read_may_come() -> None:
    folded(event("u", 2, 12), event("d", 2, 13)).check("A", {})


def test_a_row_that_was_read_may_be_newer_than_the_truncation_of_its_table() -> None:
    truncated = {"op": "t", "source": {"at": 4}, "before": None, "after": None}
    folding = folded(event("r", 1, BEGIN), truncated, event("c", 1, 12))
    folding.check("A", {1: {"V": 1}})
    with pytest.raises(AssertionError, match="after the row was deleted"):
        folded(event("u", 2, 12), truncated, event("c", 2, 13))


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([event("r", 1, BEGIN), event("r", 1, BEGIN)], "read twice in the first snapshot"),
        ([event("r", 7, BEGIN)], "was read, and was never committed"),
        ([event("r", 2, BEGIN), event("u", 3, 15), event("r", 2, 16)], "is older than"),
        ([event("u", 3, 15), event("d", 3, 16), event("r", 3, 17)], "after the row was deleted"),
        ([event("u", 4, 25)], "of a row that is not there"),
        ([event("u", 3, 15), event("c", 3, 15)], "of a row that is there"),
        ([event("u", 3, 15), event("d", 3, 16), event("d", 3, 17)], "of a row that is not there"),
    ],
)
def test_what_undoes_or_repeats_something_does_not_pass(
    events: list[dict[str, Any]], words: str
) -> None:
    with pytest.raises(AssertionError, match=words):
        folded(*events)


def test_a_row_may_not_be_older_than_the_beginning_of_the_log() -> None:
    reading = Reading.of(COMMITTED, 13)
    with pytest.raises(AssertionError, match="which was 2 when the log began"):
        Folding(Rules(), {}, reading, SETTLED).take("A", event("r", 1, 13))


def test_where_the_first_snapshot_does_not_read_ahead_every_change_finds_its_row() -> None:
    with pytest.raises(AssertionError, match="of a row that is not there"):
        folded(event("u", 2, 12), rules=Rules(reads_ahead=False))


def test_rows_that_were_asked_for_and_did_not_change_must_have_been_read_since_then() -> None:
    read, changed = event("r", 3, BEGIN), event("u", 4, 25)
    reading = Reading.of(COMMITTED, BEGIN)
    folding = Folding(Rules(), {}, reading, SETTLED)
    folding.take("A", read)
    with pytest.raises(AssertionError, match="1 of 1 rows were not read when they were asked for"):
        reading.check_asked({"A": 16}, folding)
    folding.take("A", event("r", 3, 17))
    reading.check_asked({"A": 16}, folding)
    folding.take("A", changed)
    reading.check_asked({"A": 16}, folding)


def test_the_rows_that_events_make_have_all_values_of_the_database_added_columns_too() -> None:
    folding = folded(event("r", 3, BEGIN), event("u", 4, 25, MORE="text"))
    folding.check("A", {1: {"V": 4, "MORE": "text"}})
    folded(event("r", 3, BEGIN)).check("A", {1: {"V": 3, "MORE": None}})
    with pytest.raises(AssertionError, match=r"A.MORE of 1: 'text', not 'other'"):
        folding.check("A", {1: {"V": 4, "MORE": "other"}})
    with pytest.raises(AssertionError, match="1 rows are lost"):
        folding.check("A", {1: {"V": 4}, 2: {"V": 5}})
    with pytest.raises(AssertionError, match="1 rows are too many"):
        folding.check("A", {})
