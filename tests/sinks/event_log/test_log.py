"""An event log has each micro-batch exactly once. It refuses a state folder or a checkpoint of
another log or query."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.sinks.event_log import staged
from headrace.sinks.event_log.formats.byte_files import ByteFile
from headrace.sinks.event_log.formats.file_format import Piece
from headrace.sinks.event_log.log import EventLog
from headrace.sinks.event_log.options import EventLogOptions
from headrace.sinks.event_log.staged import StagedFiles
from tests.sinks.event_log.events import (
    HOUR_START_US,
    HOUR_US,
    add,
    event_batch,
    log_options,
    numbers,
    stage,
    visible,
)


@pytest.fixture
def options(tmp_path) -> EventLogOptions:
    return log_options(tmp_path / "log")


@pytest.fixture
def log(tmp_path, options) -> EventLog:
    log = EventLog(options.path, tmp_path / "state")
    log.open()
    return log


def code_of_refused_open(log: EventLog) -> str:
    """The code of the error with which the log refuses to open."""
    with pytest.raises(HeadraceError) as caught:
        log.open()
    return caught.value.code


def test_events_are_in_the_folders_of_their_hours(log, options) -> None:
    next_hour_us = HOUR_START_US + HOUR_US
    add(log, options, 1, range(4), [HOUR_START_US, next_hour_us, HOUR_START_US, next_hour_us])
    files = [
        (file.parent.relative_to(options.path), file.name[:8]) for file in visible(options.path)
    ]
    assert files == [
        (Path("topic=t/date=2026-07-25/hour=17"), "00000000"),
        (Path("topic=t/date=2026-07-25/hour=18"), "00000001"),
    ]
    assert numbers(options.path) == [0, 2, 1, 3]


def test_a_repeated_micro_batch_changes_nothing(log, options) -> None:
    for values in (range(5), range(5), range(7)):  # rows that are queried again may differ
        add(log, options, 1, values)
    add(log, options, 2, range(5, 9))
    assert numbers(options.path) == list(range(9))
    assert log.state().rows == 9
    assert log.state().length == sum(file.stat().st_size for file in visible(options.path))
    assert list(log.staged.iterdir()) == []


def test_a_micro_batch_without_events_adds_no_event(log, options) -> None:
    log.commit([], 1, "q")
    add(log, options, 2, range(3))
    log.commit([], 3, "q")
    assert numbers(options.path) == [0, 1, 2]


def test_files_of_failed_attempts_are_deleted(log, options) -> None:
    stage(log, options, "1-0-0", event_batch(range(3)))
    add(log, options, 1, range(3))
    assert list(log.staged.iterdir()) == []
    stage(log, options, "2-0-0", event_batch(range(3)))
    EventLog(log.path, log.folder).open()
    assert list(log.staged.iterdir()) == []
    assert numbers(options.path) == [0, 1, 2]


def test_an_old_process_cannot_commit_files_that_the_next_start_deleted(log, options) -> None:
    files = stage(log, options, "1-0-0", event_batch(range(3)))
    EventLog(log.path, log.folder).open()
    with pytest.raises(HeadraceError) as caught:
        log.commit(files, 1, "q")
    assert caught.value.code == "event_log.file_lost"
    assert caught.value.retriable
    add(log, options, 1, range(3))
    assert numbers(options.path) == [0, 1, 2]


@pytest.mark.parametrize(
    ("query", "batch"), [("q", 1), ("other", 5)], ids=["older micro-batch", "other query"]
)
def test_an_older_state_of_the_checkpoint_and_another_query_are_refused(
    log, options, query, batch
) -> None:
    add(log, options, 2, range(3))
    with pytest.raises(HeadraceError) as caught:
        log.commit(stage(log, options, "9-0-0", event_batch([9])), batch, query)
    assert caught.value.code == "event_log.other_checkpoint"
    assert numbers(options.path) == [0, 1, 2]


def test_a_log_and_a_state_folder_that_do_not_belong_together_are_refused(
    log, options, tmp_path
) -> None:
    without_state = EventLog(options.path, tmp_path / "other state")
    assert code_of_refused_open(without_state) == "event_log.exists"
    other = EventLog(tmp_path / "other log", tmp_path / "third state")
    other.open()
    assert code_of_refused_open(EventLog(other.path, log.folder)) == "event_log.other_log"
    add(log, options, 1, range(3))
    shutil.move(options.path, tmp_path / "away")
    assert code_of_refused_open(log) == "event_log.missing"
    options.path.write_text("")
    assert code_of_refused_open(log) == "event_log.no_folder"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "event_log.bad_state"),
        ('{"v": 1}', "event_log.bad_state"),
        ('{"v": 9}', "event_log.newer_state"),
    ],
)
def test_a_state_that_cannot_be_read_is_refused(log, text, code) -> None:
    (log.folder / "state.json").write_text(text)
    assert code_of_refused_open(log) == code


def test_a_start_that_was_killed_before_it_named_the_log_begins_again(log) -> None:
    (log.own_folder / "log").unlink()
    log.open()
    assert (log.own_folder / "log").read_text().strip() == json.loads(
        (log.folder / "state.json").read_text()
    )["log"]


def test_one_process_writes_a_log(log, options) -> None:
    with (
        log.owned(),
        pytest.raises(HeadraceError) as caught,
        EventLog(options.path, log.folder).owned(),
    ):
        pass
    assert caught.value.code == "event_log.in_use"


def test_files_that_headrace_did_not_write_stay(log, options) -> None:
    (options.path / "README").write_text("of somebody else")
    add(log, options, 1, range(2))
    log.open()
    assert (options.path / "README").read_text() == "of somebody else"


def test_a_task_that_meets_a_full_disk_leaves_no_file_and_can_be_repeated(
    log, options, monkeypatch
) -> None:
    options = log_options(options.path, file_max_bytes="2000")
    original, written = ByteFile.write, [0]

    def full(self: ByteFile, content: bytes) -> None:
        written[0] += len(content)
        if written[0] > 5000:
            original(self, content[: len(content) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "the file")
        original(self, content)

    with monkeypatch.context() as patched:
        patched.setattr(ByteFile, "write", full)
        with pytest.raises(HeadraceError) as caught:
            stage(log, options, "1-0-0", event_batch(range(500)))
    assert caught.value.code == "event_log.not_writable"
    assert caught.value.retriable
    assert "No space left on device" in str(caught.value)
    assert list(log.staged.iterdir()) == []
    add(log, options, 1, range(500))
    assert numbers(options.path) == list(range(500))


def after_each_piece(
    monkeypatch: pytest.MonkeyPatch, measure: Callable[[StagedFiles], int]
) -> list[int]:
    """Measure the files of a task after each piece that it appends; return the measurements, which
    follow."""
    append = StagedFiles._append
    measurements: list[int] = []

    def measured(self: StagedFiles, key: tuple[str, bytes], piece: Piece) -> None:
        append(self, key, piece)
        measurements.append(measure(self))

    monkeypatch.setattr(StagedFiles, "_append", measured)
    return measurements


def test_a_task_holds_few_files_open(log, options, monkeypatch) -> None:
    monkeypatch.setattr(staged, "_MAX_OPEN", 3)
    open_files = after_each_piece(monkeypatch, lambda files: len(files._open))
    topics = [f"t{number % 7}" for number in range(70)]
    log.commit(stage(log, options, "1-0-0", event_batch(range(70), topics=topics)), 1, "q")
    assert sorted(numbers(options.path)) == list(range(70))
    assert max(open_files) == 3


@pytest.mark.parametrize("file_format", ["parquet", "avro"])
def test_a_task_holds_little_in_memory(log, options, monkeypatch, file_format) -> None:
    monkeypatch.setattr(staged, "_MAX_HELD", 500)
    held_bytes = after_each_piece(
        monkeypatch, lambda files: sum(opened.file.held for opened in files._open.values())
    )
    options = log_options(options.path, format=file_format)
    topics = [f"t{number % 7}" for number in range(700)]
    log.commit(stage(log, options, "1-0-0", event_batch(range(700), topics=topics)), 1, "q")
    assert sorted(numbers(options.path)) == list(range(700))
    assert max(held_bytes) <= 500
