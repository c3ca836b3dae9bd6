"""The start of a range is found, and nothing is acknowledged that the checkpoint does not hold."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import HeadraceError
from headrace.spark.versions.feed import FeedPartition
from headrace.spark.versions.query_log import QueryLog
from headrace.spark.versions.starts import Starts
from tests.spark.versions.checkpoint import INITIAL, Checkpoint
from tests.spark.versions.log import Log

OTHER, MISSING = "spark.other_checkpoint", "spark.checkpoint_not_found"


class Driver:
    """Calls as Spark 4.1 does, and writes its log to `checkpoint`; the source reads it in
    `named`."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        log: Log,
        named: Path | None = None,
        *,
        is_bounded: bool | None = False,
    ) -> None:
        self.checkpoint, self.log = checkpoint, log
        self.starts = Starts(QueryLog(named or checkpoint.folder), INITIAL, is_bounded=is_bounded)
        self.number = -1
        self.end: Mapping[str, Any] | None = None

    def go_on(self, number: int, end: Mapping[str, Any]) -> None:
        """A start with entries: Spark names the last one."""
        self.number, self.end = number, end
        assert self.starts.partitions(self.log, end, end) == []

    def ask(self) -> Mapping[str, Any]:
        return self.starts.following(self.log)

    def plan(self, end: Mapping[str, Any]) -> Any:
        """Write the micro-batch to `end`, and ask for its partitions."""
        former, self.end, self.number = self.end, end, self.number + 1
        self.checkpoint.plan(self.number, end)
        if self.number > 0 and former is not None:
            self.starts.commit(self.log, former)
        return self.starts.partitions(self.log, former or INITIAL, end)

    def finish(self) -> None:
        self.checkpoint.finish(self.number)

    def batch(self) -> list[int]:
        """One micro-batch, from its end to its commit."""
        rows = list(self.plan(self.ask()))
        self.finish()
        return rows


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    return Checkpoint(tmp_path / "checkpoint")


def refused(code: str, action: Callable[[], object]) -> None:
    with pytest.raises(HeadraceError) as raised:
        action()
    assert raised.value.code == code, raised.value


def test_ranges_follow_one_another_and_are_acknowledged_when_they_are_finished(
    checkpoint: Checkpoint,
) -> None:
    driver = Driver(checkpoint, Log(9))
    assert [driver.batch() for _ in range(2)] == [[0, 1, 2], [3, 4, 5]]
    assert driver.log.acknowledged == 3  # the second comes with the next question
    end = driver.ask()
    assert driver.log.acknowledged == 6
    assert driver.plan(end) == [6, 7, 8]
    refused(OTHER, driver.ask)  # it is not finished
    assert driver.log.acknowledged == 6
    driver.finish()
    assert driver.ask() is driver.end
    assert driver.log.acknowledged == 9


def test_a_restart_continues_after_the_last_micro_batch(checkpoint: Checkpoint) -> None:
    driver = Driver(checkpoint, Log(6))
    driver.batch()
    assert driver.end is not None
    again = Driver(checkpoint, Log(6))
    again.go_on(0, driver.end)
    end = again.ask()
    assert again.log.acknowledged == 0  # a copy of the folder would say the same
    assert again.plan(end) == [3, 4, 5]
    assert again.log.acknowledged == 0
    again.finish()
    again.ask()
    assert again.log.acknowledged == 6


def test_a_micro_batch_that_was_not_finished_is_planned_again(checkpoint: Checkpoint) -> None:
    driver = Driver(checkpoint, Log(6))
    driver.batch()
    start, end = driver.end, driver.ask()
    assert start is not None
    driver.plan(end)
    again = Driver(checkpoint, Log(6))
    again.go_on(1, end)
    assert again.starts.partitions(again.log, start, end) == [3, 4, 5]
    refused(OTHER, again.ask)
    again.finish()
    assert again.ask() is end
    assert again.log.acknowledged == 0


def test_another_source_of_the_query_may_have_new_rows_alone(checkpoint: Checkpoint) -> None:
    driver = Driver(checkpoint, Log(3))
    end = driver.ask()
    checkpoint.plan(0, {"other": 1}, end)
    assert driver.starts.partitions(driver.log, INITIAL, end) == [0, 1, 2]
    checkpoint.finish(0)
    assert driver.ask() is end
    checkpoint.plan(1, {"other": 2}, end)
    checkpoint.finish(1)
    assert driver.ask() is end
    assert driver.log.acknowledged == 3


@pytest.mark.parametrize("emptied", ["offsets", "commits", "metadata", "everything"])
def test_a_folder_that_is_no_checkpoint_is_refused_before_anything_is_read(
    checkpoint: Checkpoint, emptied: str
) -> None:
    folder = checkpoint.folder if emptied == "everything" else checkpoint.folder / emptied
    shutil.rmtree(folder) if folder.is_dir() else folder.unlink()
    for is_bounded in (False, None):
        driver = Driver(checkpoint, Log(3), is_bounded=is_bounded)
        if is_bounded is None and emptied in ("offsets", "commits"):
            end = driver.ask()  # Spark makes them later
            refused(MISSING, functools.partial(driver.starts.partitions, driver.log, INITIAL, end))
        else:
            refused(MISSING, driver.ask)
        assert not driver.log.polls


def test_a_checkpoint_that_is_deleted_meanwhile_ends_the_query(checkpoint: Checkpoint) -> None:
    driver = Driver(checkpoint, Log(9))
    driver.batch()
    driver.batch()
    shutil.rmtree(checkpoint.folder)
    refused(MISSING, driver.ask)
    assert driver.log.acknowledged == 3


def test_a_checkpoint_that_another_query_has_taken_meanwhile_ends_the_query(
    checkpoint: Checkpoint,
) -> None:
    driver = Driver(checkpoint, Log(9))
    driver.batch()
    (checkpoint.folder / "metadata").write_text('{"id": "another"}')
    refused(OTHER, driver.ask)
    assert driver.log.acknowledged == 0


def test_the_checkpoint_of_another_query_is_refused(checkpoint: Checkpoint, tmp_path: Path) -> None:
    other = Checkpoint(tmp_path / "other", "another")
    driver = Driver(checkpoint, Log(3), other.folder)
    end = driver.ask()  # both are new
    refused(OTHER, lambda: driver.plan(end))
    Driver(other, Log(3)).batch()
    refused(OTHER, Driver(Checkpoint(tmp_path / "new"), Log(3), other.folder).ask)
    assert driver.log.acknowledged == 0


@pytest.mark.parametrize("names_copy", [True, False])
def test_a_copy_of_the_checkpoint_is_refused_before_anything_is_acknowledged(
    checkpoint: Checkpoint, tmp_path: Path, names_copy: bool
) -> None:
    driver = Driver(checkpoint, Log(9))
    driver.batch()
    assert driver.end is not None
    copy = Checkpoint(tmp_path / "unused")
    copy.folder = checkpoint.copy(tmp_path / "copy")
    used, named = (checkpoint, copy) if names_copy else (copy, checkpoint)
    again = Driver(used, Log(9), named.folder)
    again.go_on(0, driver.end)  # both have it
    end = again.ask()
    refused(OTHER, lambda: again.plan(end))
    assert again.log.acknowledged == 0


def test_a_copy_that_is_older_is_refused_at_once(checkpoint: Checkpoint, tmp_path: Path) -> None:
    driver = Driver(checkpoint, Log(9))
    driver.batch()
    copy = checkpoint.copy(tmp_path / "copy")
    driver.batch()
    assert driver.end is not None
    end = driver.end
    again = Driver(checkpoint, Log(9), copy)
    refused(OTHER, lambda: again.go_on(1, end))
    assert not again.log.polls


def test_a_bounded_source_says_when_it_has_given_all(checkpoint: Checkpoint) -> None:
    driver = Driver(checkpoint, Log(6), is_bounded=True)
    driver.batch()
    driver.log.length = 9
    assert driver.batch() == [3, 4, 5]
    assert driver.log.over == [False, False]
    assert driver.ask() is driver.end
    assert driver.log.over[-1] is True


class TestTriggerOfTheUser:
    """Spark's calls show whether the trigger is availableNow."""

    def test_a_query_that_begins_has_an_empty_micro_batch_first(
        self, checkpoint: Checkpoint
    ) -> None:
        driver = Driver(checkpoint, Log(6), is_bounded=None)
        assert driver.batch() == []
        assert [driver.batch(), driver.batch()] == [[0, 1, 2], [3, 4, 5]]

    def test_a_query_that_begins_with_available_now_has_all_in_one(
        self, checkpoint: Checkpoint
    ) -> None:
        driver = Driver(checkpoint, Log(8), is_bounded=None)
        end = driver.ask()
        assert driver.ask() == end  # Spark wants to show it
        (feed,) = driver.plan(end)
        assert isinstance(feed, FeedPartition)
        assert driver.ask() == end
        assert list(feed.parts()) == list(range(8))
        assert driver.ask() == end
        assert driver.log.acknowledged == 0
        driver.finish()
        assert driver.ask() == end
        assert driver.log.acknowledged == 8

    def test_a_query_that_continues_with_available_now_is_seen_before_its_start(
        self, checkpoint: Checkpoint
    ) -> None:
        driver = Driver(checkpoint, Log(6), is_bounded=None)
        driver.batch()
        driver.batch()
        former = driver.end
        assert former is not None
        again = Driver(checkpoint, Log(9), is_bounded=None)
        end = again.ask()
        again.go_on(1, former)
        assert again.ask() == end
        (feed,) = again.plan(end)
        assert feed is not None

    def test_a_folder_in_which_no_micro_batch_appears_is_refused(
        self, checkpoint: Checkpoint, tmp_path: Path
    ) -> None:
        """A sink may have had the micro-batch before, with another checkpoint: then Spark asks for
        no partitions."""
        other = Checkpoint(tmp_path / "other", "another")
        driver = Driver(checkpoint, Log(6), other.folder, is_bounded=None)
        checkpoint.plan(0, driver.ask())
        checkpoint.finish(0)
        driver.ask()
        refused(OTHER, driver.ask)

    def test_a_micro_batch_that_the_sink_has_had_is_left_out(self, checkpoint: Checkpoint) -> None:
        driver = Driver(checkpoint, Log(6), is_bounded=None)
        driver.end, driver.number = driver.ask(), 0
        checkpoint.plan(0, driver.end)
        checkpoint.finish(0)
        assert driver.batch() == [0, 1, 2]
        driver.end, driver.number = driver.ask(), 2
        checkpoint.plan(2, driver.end)
        checkpoint.finish(2)
        assert driver.ask() is driver.end

    def test_what_available_now_left_unfinished_has_what_was_written_down(
        self, checkpoint: Checkpoint
    ) -> None:
        driver = Driver(checkpoint, Log(9), is_bounded=None)
        end = driver.ask()
        driver.ask()
        driver.plan(end)
        again = Driver(checkpoint, Log(9), is_bounded=None)
        again.go_on(0, end)
        assert again.starts.partitions(again.log, INITIAL, end) == []  # no task got any of it
        again.finish()
        assert again.batch() == [0, 1, 2]
