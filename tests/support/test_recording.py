"""Parts of answers and errors that a recording keeps."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal

import pytest

from headrace.errors import HeadraceError
from headrace.support.masking import Masks
from headrace.support.questions import Question, Shown
from headrace.support.recording import Answer, Recording

SHOWN = {"STATE": Shown.VALUE, "NAME": Shown.NAME, "TEXT": Shown.SQL, "SIZE": Shown.TYPE}
QUESTION = Question("states", "SELECT …", "why", columns=SHOWN)


def recording() -> Recording:
    return Recording(
        Masks(b"key"), lambda error: {"code": 1} if isinstance(error, OSError) else None
    )


def test_only_values_that_may_be_shown_are() -> None:
    new_recording = recording()
    row = ("A", "CANARY", "insert into CANARY values ('canary')", "canary", "canary", b"canary")
    columns = [("STATE",), ("NAME",), ("TEXT",), ("SIZE",), ("OTHER",), ("BYTES",)]
    new_recording.ask(QUESTION, lambda: Answer(columns, [row]))
    (record,) = new_recording.records
    assert "canary" not in str(record).lower()
    assert record["rows"][0][0] == ["str", "A"]
    assert record["rows"][0][3] == ["str", {"size": 6}]


def test_a_name_that_a_column_fills_with_blanks_has_the_same_number() -> None:
    new_recording = recording()
    new_recording.ask(QUESTION, lambda: Answer([("NAME",)], [("CANARY",), ("CANARY    ",)]))
    assert new_recording.records[0]["rows"] == [[["str", "NAME_0001"]]] * 2


def test_numbers_and_times_of_views_are_shown() -> None:
    new_recording = recording()
    row = (1, Decimal("2.50"), dt.datetime(2026, 1, 2), None)  # noqa: DTZ001 - a database's clock
    new_recording.ask(QUESTION, lambda: Answer([("A",), ("B",), ("C",), ("D",)], [row]))
    assert new_recording.records[0]["rows"] == [
        [["int", 1], ["Decimal", "2.50"], ["datetime", "2026-01-02 00:00:00"], ["NoneType", None]]
    ]


def test_an_error_of_the_database_is_recorded_by_its_codes() -> None:
    new_recording = recording()

    def refuse() -> Answer:
        raise OSError("canary")

    assert isinstance(new_recording.ask(QUESTION, refuse, {"name": "canary"}), OSError)
    assert new_recording.records[0]["error"] == {"code": 1}
    assert new_recording.records[0]["binds"] == {"name": "str"}
    assert "canary" not in str(new_recording.records)


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (UnicodeDecodeError("utf-8", b"canary", 0, 1, "canary"), {"class": "UnicodeDecodeError"}),
        (ValueError("year -4712 is out of range"), {"class": "ValueError"}),
        (
            HeadraceError("oracle.gone", "canary", "canary"),
            {"class": "HeadraceError", "code": "oracle.gone"},
        ),
    ],
)
def test_any_other_error_is_recorded_by_its_class(error: Exception, shown: dict[str, str]) -> None:
    new_recording = recording()

    def end() -> Answer:
        raise error

    assert new_recording.ask(QUESTION, end) is error
    assert new_recording.records[0]["error"] == shown
    assert "canary" not in str(new_recording.records)


def test_texts_that_are_numbers_by_their_columns_are_shown_and_others_are_not() -> None:
    new_recording = recording()
    row = ("20000.", "-.5", "40712", "canary 1", "40712", "40712")
    columns = [("ZONE",), ("PART",), ("TEXT_OF_DIGITS",), ("NO_NUMBER",), ("SIZE",), ("NAME",)]
    new_recording.ask(QUESTION, lambda: Answer(columns, [row], frozenset({0, 1, 3, 4, 5})))
    cells = [cell[1] for cell in new_recording.records[0]["rows"][0]]
    assert cells[:2] == ["20000.", "-.5"]
    assert cells[4:] == [{"size": 5}, "NAME_0001"]
    assert "40712" not in str(new_recording.records)
    assert "canary" not in str(new_recording.records)


@pytest.mark.parametrize("is_cut", [False, True])
def test_statements_that_continue_in_the_next_row_are_masked_together(is_cut: bool) -> None:
    """`is_cut`: within a character, so that parts are bytes."""
    new_recording = recording()
    question = replace(QUESTION, goes_on="CSF", rows=3)
    whole = 'insert into "T"("A") values (\'🚀NOT DATE CHAR(40712) 🚀\');'.encode()
    at = whole.index("🚀".encode()) + (2 if is_cut else 4)
    first, second = (half if is_cut else half.decode() for half in (whole[:at], whole[at:]))
    rows = [(first, 1), (second, 0), (second, 1), (second, 0)]
    new_recording.ask(question, lambda: Answer([("TEXT",), ("csf",)], rows))
    texts = [row[0][1] for row in new_recording.records[0]["rows"]]
    assert len(texts) == 3
    for word in ("NOT", "DATE", "CHAR", "40712", "🚀"):
        assert word not in str(texts)
    masked_text = "".join(texts[:2]).encode(errors="surrogateescape").decode()
    assert masked_text.startswith('insert into "NAME_0001"("NAME_0002") values (')
    assert masked_text.endswith("');")


def test_of_more_rows_than_a_question_wants_the_number_is_kept() -> None:
    new_recording = recording()
    new_recording.ask(QUESTION, lambda: Answer([("A",)], [(n,) for n in range(70)]))
    assert new_recording.records[0]["row_count"] == 70
    assert len(new_recording.records[0]["rows"]) == 50
