"""Small files of finished folders are merged; readers see each event once at any moment."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest

from headrace.errors import HeadraceError
from headrace.sinks.event_log import merging as module
from headrace.sinks.event_log.exchange import NoExchange
from headrace.sinks.event_log.log import EventLog
from headrace.sinks.event_log.merging import Merging
from headrace.sinks.event_log.options import EventLogOptions
from tests.sinks.event_log.events import (
    HOUR_START_US,
    add,
    form_of,
    log_options,
    numbers,
    records,
    visible,
)

FOLDER = "topic=t/date=2026-07-25/hour=17"


def opened(tmp_path: Path, **more: str) -> tuple[EventLog, EventLogOptions, Merging]:
    options = log_options(tmp_path / "log", compact_after_ms="1000", **more)
    log = EventLog(options.path, tmp_path / "state")
    log.open()
    return log, options, Merging(log, options, form_of(options))


def later(log: EventLog, ms: int = 1000) -> int:
    """A time at which no file was added for `ms`."""
    return max(log.state().unfinished.values()) + ms


@pytest.mark.parametrize("form", ["json", "parquet", "avro"])
@pytest.mark.parametrize("compression", ["none", "other"])
def test_files_of_a_finished_folder_are_merged_in_their_order(tmp_path, form, compression) -> None:
    name = {"json": "gzip", "parquet": "snappy", "avro": "deflate"}[form]
    name = compression if compression == "none" else name
    log, options, merging = opened(tmp_path, format=form, compression=name)
    for number in range(10):
        add(log, options, number, range(100 * number, 100 * number + 100))
    assert len(visible(options.path)) == 10
    merged = merging.merge_finished(later(log))
    assert merged == module.Merged(FOLDER, 10, 1)
    assert numbers(options.path) == list(range(1000))
    (file,) = visible(options.path)
    assert file.name.startswith("00000000-1000-")
    assert log.state().unfinished == {}
    assert list(log.merging.iterdir()) == []


def test_a_folder_waits_until_its_period_is_over_and_no_file_came_for_a_while(tmp_path) -> None:
    log, options, merging = opened(tmp_path)
    add(log, options, 1, [1])
    add(log, options, 2, [2])
    assert merging.merge_finished(later(log, 999)) is None
    hour_end_ms = HOUR_START_US // 1000 + 3_599_999
    assert merging.merge_finished(hour_end_ms) is None
    assert [merged for merged in merging.merge_all(hour_end_ms) if merged.files] == []
    assert merging.merge_finished(later(log)) is not None
    # A late event comes into a folder that was merged.
    add(log, options, 3, [3])
    assert merging.merge_finished(later(log)) == module.Merged(FOLDER, 2, 1)
    assert numbers(options.path) == [1, 2, 3]


def test_merged_files_are_bounded_and_merging_again_changes_nothing(tmp_path) -> None:
    log, options, merging = opened(tmp_path, file_max_bytes="2000", flush_size="24")
    for number in range(40):
        add(log, options, number, range(3 * number, 3 * number + 3))
    merging.merge_finished(later(log))
    files = visible(options.path)
    assert len(files) == 5
    assert all(file.stat().st_size <= 2000 and len(list(records(file))) <= 24 for file in files)
    list(merging.merge_all(later_than_now := 1 << 45))
    assert visible(options.path) == files
    assert [each for each in merging.merge_all(later_than_now) if each.files] == []
    assert numbers(options.path) == list(range(120))


def test_large_files_and_files_of_others_stay(tmp_path) -> None:
    log, options, merging = opened(tmp_path, file_max_bytes="4000")
    add(log, options, 1, [0])
    add(log, options, 2, [1])
    add(log, options, 3, range(2, 50))  # large
    add(log, options, 4, [50])
    (options.path / FOLDER / "notes.txt").write_text("of somebody else")
    large = visible(options.path)[2]
    inode = large.stat().st_ino
    assert merging.merge_finished(later(log)) == module.Merged(FOLDER, 2, 1)
    assert large.stat().st_ino == inode
    assert (options.path / FOLDER / "notes.txt").read_text() == "of somebody else"
    (options.path / FOLDER / "notes.txt").unlink()
    assert numbers(options.path) == list(range(51))


def test_a_folder_with_folders_in_it_stays(tmp_path) -> None:
    log, options, merging = opened(tmp_path)
    add(log, options, 1, [1])
    add(log, options, 2, [2])
    (options.path / FOLDER / "inner").mkdir()
    assert merging.merge_finished(later(log)) == module.Merged(FOLDER, 0, 0)
    assert numbers(options.path) == [1, 2]


def test_replaced_files_are_kept_for_readers_that_know_their_names(tmp_path) -> None:
    log, options, merging = opened(tmp_path, compact_keep_ms="60000")
    add(log, options, 1, [1])
    add(log, options, 2, [2])
    names = [file.name for file in visible(options.path)]
    merging.merge_finished(later(log))
    replaced_values = [record["value"] for name in names for record in records(log.replaced / name)]
    assert replaced_values == [1, 2]
    changed_ms = (log.replaced / names[0]).stat().st_ctime_ns // 1_000_000
    merging.expire(changed_ms + 59_000)
    assert sorted(file.name for file in log.replaced.iterdir()) == names
    merging.expire(changed_ms + 62_000)
    assert list(log.replaced.iterdir()) == []


def test_files_that_come_during_a_merge_are_not_lost(tmp_path, monkeypatch) -> None:
    log, options, merging = opened(tmp_path)
    add(log, options, 1, [1])
    add(log, options, 2, [2])
    now = later(log)
    original = merging._format.merge

    def slow(sources, target):
        original(sources, target)
        add(log, options, 3, [3])

    monkeypatch.setattr(merging._format, "merge", slow)
    assert merging.merge_finished(now) == module.Merged(FOLDER, 2, 1)
    assert numbers(options.path) == [1, 2, 3]
    assert FOLDER in log.state().unfinished  # for the file that came


def test_one_process_merges_at_a_time(tmp_path) -> None:
    log, options, merging = opened(tmp_path)
    add(log, options, 1, [1])
    with log.merging_alone(waits=True) as is_alone:
        assert is_alone
        assert merging.merge_finished(later(log)) is None


def test_what_a_killed_process_was_merging_is_deleted(tmp_path) -> None:
    log, _, _ = opened(tmp_path)
    (log.merging / "left").mkdir()
    (log.merging / "left" / "file").write_text("x")
    with log.merging_alone(waits=False):
        assert list(log.merging.iterdir()) == []


def test_a_file_system_that_cannot_exchange_folders_keeps_the_small_files(
    tmp_path, monkeypatch
) -> None:
    log, options, merging = opened(tmp_path)
    add(log, options, 1, [1])
    add(log, options, 2, [2])

    def refuses(one, other):
        raise NoExchange("Invalid argument")

    monkeypatch.setattr(module, "exchange", refuses)
    with pytest.raises(HeadraceError) as caught:
        merging.merge_finished(later(log))
    assert caught.value.code == "event_log.no_exchange"
    assert numbers(options.path) == [1, 2]
    assert list(log.merging.iterdir()) == []


def listed(path: Path, replaced: Path) -> list[int]:
    """The events of a folder by one list of its names, as the guide says that readers read. None of
    a name that is gone: it is among the replaced files."""
    with os.scandir(path / FOLDER) as entries:
        names = sorted(entry.name for entry in entries)
    event_numbers = []
    for name in names:
        place = path / FOLDER / name
        try:
            event_numbers += [int(record["value"]) for record in records(place)]
        except FileNotFoundError:
            event_numbers += [int(record["value"]) for record in records(replaced / name)]
    return event_numbers


@pytest.mark.parametrize("seed", range(3))
def test_readers_see_each_event_once_while_files_are_added_and_merged(tmp_path, seed) -> None:
    log, options, merging = opened(tmp_path)
    random = np.random.default_rng(seed)
    add(log, options, 0, [0])
    ended, wrong, counts = threading.Event(), [], set()

    def read() -> None:
        while not ended.is_set():
            event_numbers = listed(options.path, log.replaced)
            counts.add(len(event_numbers))
            if sorted(event_numbers) != list(range(len(event_numbers))):
                wrong.append(event_numbers)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(1, 80):
            add(log, options, number, [number])
            if random.random() < 0.3:
                merging.merge_finished(later(log))
    finally:
        ended.set()
        reader.join()
    assert wrong == []
    assert len(counts) > 3
    assert sorted(numbers(options.path)) == list(range(80))
