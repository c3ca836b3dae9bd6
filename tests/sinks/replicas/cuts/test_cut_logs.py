"""The file of a query's cuts: what a run adds, a reader lists, whenever the process is killed."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import HeadraceError
from headrace.sinks.replicas.cuts import cut_log
from headrace.sinks.replicas.cuts.cut import Cut
from headrace.sinks.replicas.cuts.cut_log import (
    CUTS,
    CutLog,
    read_cuts,
    release_cuts,
    replaced_before,
)
from headrace.sinks.replicas.lake import TableName
from headrace.sinks.replicas.options import ReplicaOptions

A, B = TableName(("shop",), "a"), TableName(("shop", "x.y"), "b")
NOW_MS = time.time_ns() // 1_000_000
MINUTE_MS = 60_000
_VERSIONS = st.dictionaries(st.sampled_from([A, B]), st.sampled_from(["", "1", "2", "3"]))
_MISSING = st.dictionaries(st.sampled_from([A, B]), st.just("it has stopped"), max_size=1)


def cut(batch: int, minutes_ago: float = 0.0, **members: object) -> Cut:
    """A cut that was recorded some minutes ago."""
    recorded_ms = NOW_MS - int(minutes_ago * MINUTE_MS)
    return replace(
        Cut(batch, batch * 10, f"0/{batch}", "system", batch, recorded_ms, {A: str(batch)}),
        **members,  # type: ignore[arg-type]
    )


def opened(folder: Path, minutes: int = 180) -> CutLog:
    """The log as another process opens it."""
    options = ReplicaOptions(keep_cuts=timedelta(minutes=minutes))
    opened_log = CutLog(folder, "delta", options)
    opened_log.open({"path": "lake"})
    return opened_log


def listed(folder: Path) -> list[Cut]:
    """The cuts that a reader lists now."""
    known = read_cuts(folder)
    return [] if known is None else [*known.listed(NOW_MS)]


@given(
    runs=st.lists(
        st.lists(
            st.tuples(st.integers(0, 2), st.integers(0, 90), _VERSIONS, _MISSING), max_size=40
        ),
        max_size=4,
    ),
    torn=st.lists(st.integers(0, 60), min_size=4, max_size=4),
)
def test_a_reader_lists_the_cuts_of_all_runs_until_a_later_one_is_old(
    runs: list[list[tuple[int, int, dict[TableName, str], dict[TableName, str]]]], torn: list[int]
) -> None:
    """A batch comes again (a step of 0), and a kill leaves a part of a line."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        model: list[Cut] = []
        clock_ms, batch = NOW_MS - 1000 * MINUTE_MS, 1
        for run, left in zip(runs, torn, strict=False):
            log = opened(folder)
            assert log.last == (model[-1] if model else None)
            for step, minutes, versions, missing in run:
                clock_ms, batch = min(clock_ms + minutes * MINUTE_MS, NOW_MS), batch + step
                added = cut(batch, versions=versions, missing=missing, recorded_ms=clock_ms)
                log.add(added)
                model = [each for each in model if each.batch < batch] + [added]
                bound = clock_ms - 180 * MINUTE_MS
                assert log.replaced_before() < datetime.fromtimestamp(clock_ms / 1000, UTC)
                known = read_cuts(folder)
                assert known is not None
                expected_cuts = [
                    each
                    for place, each in enumerate(model)
                    if place + 1 == len(model) or model[place + 1].recorded_ms >= bound
                ]
                assert [*known.listed(clock_ms)] == expected_cuts
            if left and (folder / CUTS).exists():
                with (folder / CUTS).open("a") as file:
                    file.write(cut(batch + 1).line(None)[:left])


def test_versions_expire_when_no_listed_cut_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(time_ns=lambda: NOW_MS * 1_000_000)
    monkeypatch.setattr(cut_log, "time", clock)  # this file may have been imported long ago
    log, options = opened(tmp_path), ReplicaOptions(keep=timedelta(minutes=30))
    assert log.replaced_before() > datetime.now(UTC) - timedelta(minutes=181)
    for minutes_ago in (900, 500, 170, 0):
        log.add(cut(1000 - minutes_ago, minutes_ago))
    # The cut of 900 minutes ago was replaced 500 minutes ago, the next one 170 minutes ago.
    oldest = datetime.fromtimestamp(NOW_MS / 1000, UTC) - timedelta(minutes=500)
    assert timedelta(0) < oldest - log.replaced_before() < timedelta(minutes=15)
    assert replaced_before(tmp_path, options) == log.replaced_before()
    known = read_cuts(tmp_path)
    assert known is not None
    first, _, last = listed(tmp_path)
    assert known.expires_ms(first, NOW_MS) == NOW_MS + 10 * MINUTE_MS
    assert known.expires_ms(last, NOW_MS) == NOW_MS + 180 * MINUTE_MS


def test_the_file_does_not_grow_with_cuts_that_nobody_lists(tmp_path: Path) -> None:
    log = opened(tmp_path, minutes=5)
    for batch in range(1000):
        log.add(cut(batch, (1000 - batch) / 10))
    lines = (tmp_path / CUTS).read_text().count("\n")
    assert len(listed(tmp_path)) <= lines < 250


def test_a_file_of_a_newer_release_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / CUTS).write_text('{"version": 9}\n')
    with pytest.raises(HeadraceError, match=r"cuts\.jsonl cannot be read: a newer") as caught:
        opened(tmp_path)
    assert caught.value.code == "replicas.cuts_not_understood"


@pytest.fixture
def full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CutLog:
    """A log whose file cannot be written any more."""
    log = opened(tmp_path)
    log.add(cut(1))
    with monkeypatch.context() as patched:

        def fails(*_: object, **__: object) -> object:
            raise OSError(28, "No space left on device")

        patched.setattr(Path, "open", fails)
        with pytest.raises(HeadraceError, match="No space left") as caught:
            log.add(cut(2))
        assert caught.value.retriable
    return log


def test_a_cut_that_could_not_be_written_is_written_when_it_comes_again(
    full_disk: CutLog, tmp_path: Path
) -> None:
    with (tmp_path / CUTS).open("a") as file:
        file.write('{"batch":2,"pla')
    full_disk.add(cut(2))
    full_disk.add(cut(3))
    assert [each.batch for each in listed(tmp_path)] == [1, 2, 3]


def test_a_table_with_an_erased_key_is_in_no_recorded_cut_until_the_next_one(
    tmp_path: Path,
) -> None:
    log = opened(tmp_path)
    log.add(cut(1, 2, versions={A: "1", B: "1"}))
    log.add(cut(2, 1, versions={B: "1"}))
    log.add(cut(3, 1, versions={A: "3", B: "2"}))
    assert release_cuts(tmp_path, A) == 2
    assert [{*each.versions} for each in listed(tmp_path)] == [{B}, {B}, {B}]
    assert all("erased" in each.missing[A] for each in listed(tmp_path))
    assert release_cuts(tmp_path, A) == 0
    later = opened(tmp_path)
    later.add(cut(4, versions={A: "4", B: "2"}))
    last = listed(tmp_path)[-1]
    assert (last.versions, last.missing) == ({A: "4", B: "2"}, {})
