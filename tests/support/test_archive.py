"""An archive is there with what was recorded, whatever ends a bundle."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import HeadraceError
from headrace.support.archive import read, write
from headrace.support.masking import Masks
from headrace.support.plan import Open, SupportPlan, Workload
from headrace.support.questions import Question
from headrace.support.recording import Answer, Recording

QUESTION = Question("states", "SELECT …", "why")
ERRORS = [
    HeadraceError("oracle.connection_lost", "lost", "remedy"),
    UnicodeDecodeError("utf-8", b"x", 0, 1, "cut"),
    KeyboardInterrupt(),
    SystemExit(),
]


def plan(
    *, asks: bool = True, ends: BaseException | None = None, works: BaseException | None = None
) -> SupportPlan:
    """A plan that asks something and ends so; its workload ends by `works`."""

    def ask(recording: Recording, _seconds: float) -> Generator[tuple[str, bytes]]:
        if asks:
            recording.ask(QUESTION, lambda: Answer([("A",)], [(1,)]))
        yield "piece.txt", b"piece"
        if ends is not None:
            raise ends

    def work(recording: Recording, _seconds: float) -> Generator[tuple[str, bytes]]:
        recording.note("worked")
        yield from ()
        if works is not None:
            raise works

    def lacking(records: Sequence[Mapping[str, Any]]) -> object:
        return records[0]["lacking"]

    open_questions = (
        Open("lacking", "?", lacking),
        Open("count", "?", len),
    )
    workload = Workload("place", (), work)
    return SupportPlan(lambda: "driver", (), open_questions, ask, lambda _error: None, workload)


def recorded() -> Recording:
    return Recording(Masks(), lambda _error: None)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_what_ends_a_bundle_does_not_take_away_what_was_recorded(
    error: BaseException, tmp_path: Path
) -> None:
    path = tmp_path / "bundle.zip"
    assert write(path, plan(ends=error), recorded(), 0, with_workload=True) is error
    _, records = read(path)
    assert [record["name"] for record in records] == ["states"], "and the workload does not begin"
    with zipfile.ZipFile(path) as archive:
        assert archive.read("piece.txt") == b"piece"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_what_ends_a_workload_does_not_either(error: BaseException, tmp_path: Path) -> None:
    path = tmp_path / "bundle.zip"
    assert write(path, plan(works=error), recorded(), 0, with_workload=True) is error
    _, records = read(path)
    assert [record["name"] for record in records] == ["states", "worked"]


def test_there_is_no_archive_where_nothing_was_recorded(tmp_path: Path) -> None:
    error = HeadraceError("oracle.connection_lost", "lost", "remedy")
    with pytest.raises(HeadraceError) as raised:
        write(tmp_path / "bundle.zip", plan(asks=False, ends=error), recorded(), 0)
    assert raised.value is error
    assert list(tmp_path.iterdir()) == []


def test_a_question_that_cannot_be_answered_leaves_the_others(tmp_path: Path) -> None:
    path = tmp_path / "bundle.zip"
    assert write(path, plan(), recorded(), 0) is None
    with zipfile.ZipFile(path) as archive:
        answers = json.loads(archive.read("questions.json"))
    assert answers["lacking"] == {"question": "?", "answer": None, "error": "KeyError"}
    assert answers["count"]["answer"] == 1


def test_half_a_character_is_written(tmp_path: Path) -> None:
    path, recording = tmp_path / "bundle.zip", recorded()
    recording.note("half", text="\udcc3")
    write(path, plan(), recording, 0)
    _, records = read(path)
    assert records[0]["facts"]["text"] == "\udcc3"


def test_a_folder_that_is_not_there_is_an_error_of_the_archive(tmp_path: Path) -> None:
    with pytest.raises(HeadraceError) as raised:
        write(tmp_path / "none" / "bundle.zip", plan(), recorded(), 0)
    assert raised.value.code == "support.not_written"
