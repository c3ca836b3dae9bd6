"""Rows that are read again after a kill are newer than the log: no cut has them before the log has
reached them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.errors import HeadraceError
from headrace.offsets.offset import OffsetSummary, shown_until
from headrace.sinks.replicas.cuts import taking
from headrace.sinks.replicas.cuts.taking import NewerRows

WITH_CHUNK: Mapping[str, Any] = {
    "signals": {"inserts": [{"table": ["shop.a", "signal", None, None]}]}
}
WITH_NOTIFICATION: Mapping[str, Any] = {"signals": {"inserts": [{"notification": {}}]}}


def end(place: int) -> OffsetSummary:
    """A boundary at a place of the log."""
    return OffsetSummary(place, str(place), is_settled=True, is_inside=False, is_boundary=True)


class Runs:
    """Runs of a query over one checkpoint."""

    def __init__(self, folder: Path) -> None:
        self.checkpoint, self._state = folder / "checkpoint", folder / "state"
        for log in ("offsets", "commits"):
            (self.checkpoint / log).mkdir(parents=True)
        self._state.mkdir()

    def plan(self, batch: int, offset: Mapping[str, Any]) -> None:
        text = f"v1\n{{}}\n{json.dumps(offset)}\n"
        (self.checkpoint / "offsets" / str(batch)).write_text(text)

    def finish(self, batch: int) -> None:
        (self.checkpoint / "commits" / str(batch)).write_text("v1\n{}\n")

    def start(self) -> NewerRows:
        config: Any = None
        newer_rows = NewerRows(self._state, config)
        newer_rows.begin(self.checkpoint)
        return newer_rows


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    """A query whose database does not answer at first, and then has a log that ends at 70."""
    answers = [HeadraceError("x.unreachable", "It does not answer", "Start it.")]

    def place() -> int:
        if answers:
            raise answers.pop()
        return 70

    rows = SimpleNamespace(place=place, close=lambda: None)
    monkeypatch.setattr(taking, "current_rows", lambda _: rows)
    return Runs(tmp_path)


@pytest.mark.parametrize("offset", [WITH_CHUNK, {"snapshot": {}}], ids=["chunk", "snapshot"])
def test_a_micro_batch_whose_rows_are_read_again_has_no_cut_until_the_log_reaches_them(
    runs: Runs, offset: Mapping[str, Any]
) -> None:
    runs.plan(5, offset)
    killed = runs.start()
    assert not killed.are_reached(4, end(90))
    assert not killed.are_reached(5, end(90))  # the database does not answer
    runs.finish(5)
    again = runs.start()
    assert not again.are_reached(6, end(69))
    assert runs.start().are_reached(7, end(70))
    assert again.are_reached(8, end(1))


def test_rows_that_are_read_again_show_changes_up_to_the_end_of_the_log(runs: Runs) -> None:
    runs.plan(5, {"snapshot": {}})
    killed = runs.start()
    assert killed.reread(4) == 0
    assert killed.reread(5) == 0  # the database does not answer
    assert killed.reread(5) == 70
    assert runs.start().reread(5) == 70
    assert killed.reread(6) == 0
    assert runs.start().are_reached(6, end(70))


@pytest.mark.parametrize(("place", "expected"), [(0, 30), (20, 30), (70, 70)])
def test_rows_show_changes_up_to_the_place_where_they_were_read(place: int, expected: int) -> None:
    offset = {"v": 2, "epoch": 3, "consistent": 30}
    assert shown_until(offset, place) == f"0003{expected:032x}"
    assert shown_until({"v": 1, "epoch": 3, "consistent": 30}, place) == f"0003{expected:016x}"


def test_rows_of_a_snapshot_that_was_not_interrupted_are_as_old_as_their_sequences_say() -> None:
    assert shown_until({"v": 2, "epoch": 3}) == ""


def test_a_finished_micro_batch_and_one_without_rows_of_queries_have_cuts(runs: Runs) -> None:
    runs.plan(5, WITH_CHUNK)
    runs.finish(5)
    runs.plan(6, WITH_NOTIFICATION)
    assert runs.start().are_reached(6, end(1))
