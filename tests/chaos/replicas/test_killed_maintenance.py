"""kill -9 of `headrace maintain` while it writes merged files: the table is as it was, and the next
one deletes what was left."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.testing.embedded import PostgresServer
from tests.chaos.run import processes_of
from tests.sinks.replicas.evolving.replicated import Replicated, replicated

pytestmark = [pytest.mark.postgres, pytest.mark.spark, pytest.mark.chaos]
ROWS = """
CREATE TABLE t (id int PRIMARY KEY, v text);
INSERT INTO t SELECT n, repeat(md5(n::text), 8) FROM generate_series(1, 200000) AS n
"""
KILLS = 3
MOST_TRIES = 12
COMMITTING = '"is_committing": true'


@pytest.fixture(params=["iceberg", "delta"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Replicated]:
    kept = {"headrace_sink_compact_commits": "1000000", "headrace_range_max_rows": "20000"}
    with (
        PostgresServer() as server,
        replicated(server, request.param, tmp_path, "maintained", **kept) as made,
    ):
        made.execute(ROWS)
        write_small_files(made)
        yield made


def write_small_files(run: Replicated) -> None:
    run.start()
    run.catch_up()
    for turn in range(10):
        run.execute(f"UPDATE t SET v = v || 'x' WHERE id % 40 = {turn}")
        run.catch_up()
    assert run.end() == 0


def merged_files(run: Replicated) -> set[Path]:
    return set(run.lake.rglob("headrace-compaction-*.parquet"))


def kill_one(run: Replicated) -> bool:
    """Kill a `headrace maintain` once it has begun to write; return whether this was before its
    commit. From the first note on it is stopped while this process looks."""
    before = merged_files(run)
    with subprocess.Popen(
        [sys.executable, "-m", "headrace.cli", "maintain", str(run.file),
         "--checkpoint", str(run.state)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:  # fmt: skip
        former = notes(run)
        while process.poll() is None:
            if not notes(run) - former:
                time.sleep(0.002)
                continue
            signal_all(process.pid, signal.SIGSTOP)
            if merged_files(run) - before or not notes(run) - former:
                break
            signal_all(process.pid, signal.SIGCONT)
            time.sleep(0.005)
        signal_all(process.pid, signal.SIGKILL)
    return any(COMMITTING not in path.read_text() for path in notes(run) - former)


def notes(run: Replicated) -> set[Path]:
    return set(run.state.rglob("unfinished/*"))


def signal_all(session: int, number: int) -> None:
    for process in processes_of(session):
        with contextlib.suppress(Exception):
            process.send_signal(number)


def test_files_of_a_killed_maintenance_are_deleted_by_the_next_one(run: Replicated) -> None:
    killed = 0
    for _ in range(MOST_TRIES):
        if kill_one(run):
            killed += 1
        else:  # it may have merged all files
            write_small_files(run)
        left = merged_files(run)
        assert run.difference("t") == ""
        if killed == KILLS:
            break
    assert killed == KILLS, "it never was killed between its first file and its commit"
    assert left
    done = run.maintain()
    assert done.returncode == 0, done.stderr
    assert "files merged into" in done.stdout
    assert run.difference("t") == ""
    assert not left & merged_files(run)
    assert merged_files(run)
    assert not notes(run)
