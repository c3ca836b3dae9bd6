"""kill -9 of `headrace maintain` after it has written merged files: the table is as it was, and the
next one deletes what was left."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.testing.embedded import PostgresServer
from tests.sinks.replicas.evolving.replicated import Replicated, replicated

pytestmark = [pytest.mark.postgres, pytest.mark.spark, pytest.mark.chaos]
ROWS = """
CREATE TABLE t (id int PRIMARY KEY, v text);
INSERT INTO t SELECT n, repeat(md5(n::text), 8) FROM generate_series(1, 200000) AS n
"""
KILLED = """
import contextlib, os, signal, sys

from headrace.cli import main
from headrace.sinks.replicas.files.unfinished import UnfinishedFiles

place = sys.argv.pop(1)
writing = UnfinishedFiles.writing

def kill():
    os.killpg(0, signal.SIGKILL)

@contextlib.contextmanager
def writing_until_killed(self, table, prefix):
    with writing(self, table, prefix) as committing:
        def begin(deletes):
            if place == "written":
                kill()
            committing(deletes)
            if place == "committing":
                kill()
        yield begin
        kill()

UnfinishedFiles.writing = writing_until_killed
main()
"""
"""`headrace maintain` that is killed when its files are `written`, when it has noted that it is
`committing`, or after the commit."""
_REPORT = "a process was killed while it committed files"


@pytest.fixture(params=["iceberg", "delta"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Replicated]:
    properties = {"headrace_sink_compact_commits": "1000000", "headrace_range_max_rows": "20000"}
    with (
        PostgresServer() as server,
        replicated(server, request.param, tmp_path, "maintained", **properties) as replica_run,
    ):
        replica_run.execute(ROWS)
        write_small_files(replica_run)
        yield replica_run


def write_small_files(run: Replicated) -> None:
    run.start()
    run.catch_up()
    for turn in range(10):
        run.execute(f"UPDATE t SET v = v || 'x' WHERE id % 40 = {turn}")
        run.catch_up()
    assert run.end() == 0


def merged_files(run: Replicated) -> set[Path]:
    return set(run.lake.rglob("*headrace-compaction-*.parquet"))


def notes(run: Replicated) -> list[Path]:
    return [*run.state.rglob("unfinished/*")]


def kill(run: Replicated, place: str) -> set[Path]:
    """Kill a `headrace maintain`; return the files that it has left."""
    before = merged_files(run)
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, place,
         "maintain", str(run.file), "--checkpoint", str(run.state)],
        start_new_session=True, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    left = merged_files(run) - before
    assert left
    assert run.difference("t") == ""
    return left


def maintain(run: Replicated) -> str:
    completed = run.maintain()
    assert completed.returncode == 0, completed.stderr
    assert run.difference("t") == ""
    assert not notes(run)
    return completed.stdout + completed.stderr


def test_files_of_a_killed_maintenance_are_deleted_by_the_next_one(run: Replicated) -> None:
    first = kill(run, "written")
    second = kill(run, "written")
    assert not first & merged_files(run)
    assert len(notes(run)) == 1
    assert "files merged into" in maintain(run)
    assert not second & merged_files(run)
    assert merged_files(run)


def test_files_whose_commit_may_have_begun_stay_and_are_reported(run: Replicated) -> None:
    left = kill(run, "committing")
    assert _REPORT in maintain(run)
    assert left <= merged_files(run)


def test_files_that_were_committed_are_not_reported(run: Replicated) -> None:
    left = kill(run, "committed")
    assert _REPORT not in maintain(run)
    assert left <= merged_files(run)
