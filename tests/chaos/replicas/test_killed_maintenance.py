"""kill -9 of `headrace maintain` while it writes merged files: the table is as it was, and the next
one deletes what was left."""

from __future__ import annotations

import contextlib
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


@pytest.fixture(params=["iceberg", "delta"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Replicated]:
    kept = {"headrace_sink_compact_commits": "1000000", "headrace_range_max_rows": "20000"}
    with (
        PostgresServer() as server,
        replicated(server, request.param, tmp_path, "maintained", **kept) as made,
    ):
        made.execute(ROWS)
        made.start()
        made.catch_up()
        for turn in range(10):
            made.execute(f"UPDATE t SET v = v || 'x' WHERE id % 40 = {turn}")
            made.catch_up()
        assert made.end() == 0
        yield made


def merged_files(run: Replicated) -> set[Path]:
    return set(run.lake.rglob("headrace-compaction-*.parquet"))


def kill_one(run: Replicated) -> bool:
    """Kill a `headrace maintain` once it has begun to write; return whether this was before its
    commit."""
    before = merged_files(run)
    with subprocess.Popen(
        [sys.executable, "-m", "headrace.cli", "maintain", str(run.file),
         "--checkpoint", str(run.state)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:  # fmt: skip
        while not merged_files(run) - before and process.poll() is None:
            time.sleep(0.002)
        for each in processes_of(process.pid):
            with contextlib.suppress(Exception):
                each.kill()
    notes = [path.read_text() for path in run.state.rglob("unfinished/*")]
    return any('is_committing": true' not in note for note in notes)


def test_files_of_a_killed_maintenance_are_deleted_by_the_next_one(run: Replicated) -> None:
    killed = 0
    for _ in range(MOST_TRIES):
        killed += kill_one(run)
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
    assert not list(run.state.rglob("unfinished/*"))
