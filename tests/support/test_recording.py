"""What a recording keeps of answers and errors."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from headrace.support.masking import Masks
from headrace.support.questions import Question, Shown
from headrace.support.recording import Answer, Recording

SHOWN = {"STATE": Shown.VALUE, "NAME": Shown.NAME, "TEXT": Shown.SQL, "SIZE": Shown.TYPE}
QUESTION = Question("states", "SELECT …", "why", columns=SHOWN)


def recording() -> Recording:
    return Recording(Masks(), lambda error: {"code": 1} if isinstance(error, OSError) else None)


def test_only_values_that_may_be_shown_are() -> None:
    made = recording()
    row = ("A", "CANARY", "insert into CANARY values ('canary')", "canary", "canary", b"canary")
    columns = [("STATE",), ("NAME",), ("TEXT",), ("SIZE",), ("OTHER",), ("BYTES",)]
    made.ask(QUESTION, lambda: Answer(columns, [row]))
    (record,) = made.records
    assert "canary" not in str(record).lower()
    assert record["rows"][0][0] == ["str", "A"]
    assert record["rows"][0][3] == ["str", {"size": 6}]


def test_numbers_and_times_of_views_are_shown() -> None:
    made = recording()
    row = (1, Decimal("2.50"), dt.datetime(2026, 1, 2), None)  # noqa: DTZ001 - a database's clock
    made.ask(QUESTION, lambda: Answer([("A",), ("B",), ("C",), ("D",)], [row]))
    assert made.records[0]["rows"] == [
        [["int", 1], ["Decimal", "2.50"], ["datetime", "2026-01-02 00:00:00"], ["NoneType", None]]
    ]


def test_an_error_of_the_database_is_recorded_by_its_codes_and_another_one_raised() -> None:
    made = recording()

    def refuse() -> Answer:
        raise OSError("canary")

    assert made.ask(QUESTION, refuse, {"name": "canary"}) is None
    assert made.records[0]["error"] == {"code": 1}
    assert made.records[0]["binds"] == {"name": "str"}
    assert "canary" not in str(made.records)
    with pytest.raises(ZeroDivisionError):
        made.ask(QUESTION, lambda: Answer([("A",)], [(1 / 0,)]))


def test_of_more_rows_than_a_question_wants_the_number_is_kept() -> None:
    made = recording()
    made.ask(QUESTION, lambda: Answer([("A",)], [(n,) for n in range(70)]))
    assert made.records[0]["row_count"] == 70
    assert len(made.records[0]["rows"]) == 50
