"""A backlog has the ranges of its journal, whenever it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.errors import HeadraceError
from headrace.spark.versions.backlog import BatchJournal, place_of
from headrace.spark.versions.feed import FeedPartition
from tests.spark.versions.checkpoint import INITIAL, Checkpoint
from tests.spark.versions.log import Log

NAME = {"backlog": "a-b"}


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    new_checkpoint = Checkpoint(tmp_path / "checkpoint")
    new_checkpoint.plan(0, {**INITIAL, **NAME})
    return new_checkpoint.folder


def begun(checkpoint: Path, log: Log) -> BatchJournal:
    backlog = BatchJournal(checkpoint, "a-b")
    backlog.partitions(log, INITIAL, extends=True)
    return backlog


def fed(checkpoint: Path, log: Log) -> FeedPartition:
    (served,) = BatchJournal(checkpoint, "a-b").partitions(log, INITIAL, extends=True)
    assert isinstance(served, FeedPartition)
    return served


def journal(checkpoint: Path) -> Path:
    return checkpoint / "headrace" / "backlog-a-b.jsonl"


def test_all_ranges_up_to_the_logs_end_come_one_after_the_other(checkpoint: Path) -> None:
    log = Log(8)
    backlog = begun(checkpoint, log)
    parts = backlog.parts(log, extends=True)  # type: ignore[arg-type]
    assert next(parts) == [0, 1, 2]
    assert place_of(checkpoint, NAME)["n"] == 3  # before anybody reads it
    log.length = 20
    assert list(parts) == [[3, 4, 5], [6, 7]]
    assert backlog.is_ended
    assert place_of(checkpoint, NAME)["n"] == 8
    assert log.acknowledged == 0


def test_a_backlog_that_is_read_again_has_the_same_ranges(checkpoint: Path) -> None:
    log = Log(8)
    first = begun(checkpoint, log).parts(log, extends=True)  # type: ignore[arg-type]
    assert [next(first), next(first)] == [[0, 1, 2], [3, 4, 5]]
    again = BatchJournal(checkpoint, "a-b")
    assert list(again.parts(log, extends=False)) == [[0, 1, 2], [3, 4, 5]]  # type: ignore[arg-type]
    assert list(again.parts(log, extends=True)) == [[0, 1, 2], [3, 4, 5], [6, 7]]  # type: ignore[arg-type]


def test_a_line_that_a_kill_cut_short_is_left_out_and_overwritten(checkpoint: Path) -> None:
    log = Log(9)
    parts = begun(checkpoint, log).parts(log, extends=True)  # type: ignore[arg-type]
    next(parts)
    with journal(checkpoint).open("a") as torn:
        torn.write('{"v": 2, "serv')
    assert place_of(checkpoint, NAME)["n"] == 3
    assert list(BatchJournal(checkpoint, "a-b").parts(log, extends=True)) == [  # type: ignore[arg-type]
        [0, 1, 2], [3, 4, 5], [6, 7, 8],
    ]  # fmt: skip


def test_a_journal_that_is_gone_is_an_error(checkpoint: Path) -> None:
    begun(checkpoint, Log(3))
    journal(checkpoint).unlink()
    with pytest.raises(HeadraceError, match=r"spark\.backlog_lost"):
        place_of(checkpoint, NAME)


def test_journals_that_no_entry_names_are_deleted(checkpoint: Path) -> None:
    old = checkpoint / "headrace" / "backlog-old-1.jsonl"
    old.parent.mkdir()
    old.write_text("{}\n")
    begun(checkpoint, Log(3))
    assert not old.exists()
    assert journal(checkpoint).exists()


def test_a_task_gets_range_after_range_and_another_one_all_of_them_again(
    checkpoint: Path,
) -> None:
    log: Any = Log(8)
    served = fed(checkpoint, log)
    parts = served.parts()
    assert [next(parts) for _ in range(4)] == [0, 1, 2, 3]
    assert place_of(checkpoint, NAME)["n"] == 6  # no further than what was asked for
    parts.close()  # type: ignore[attr-defined]
    assert list(served.parts()) == list(range(8))


def test_who_does_not_know_the_key_gets_nothing(checkpoint: Path) -> None:
    log: Any = Log(8)
    served = fed(checkpoint, log)
    stranger = FeedPartition(served.address, b"guessed")
    with pytest.raises(HeadraceError, match=r"spark\.process_lost"):
        list(stranger.parts())
    assert list(served.parts()) == list(range(8))


def test_what_goes_wrong_with_the_log_is_raised_in_the_task(checkpoint: Path) -> None:
    class Broken(Log):
        def poll(self, start: Any) -> Any:
            raise HeadraceError("offset.broken", "It is broken", "Start with another one.")

    log: Any = Broken(3)
    with pytest.raises(HeadraceError, match=r"offset\.broken"):
        list(fed(checkpoint, log).parts())
