"""Ends of a run without events, and of one that is killed before Spark runs."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.connect.deadline import Deadline
from tests.cli.commands import properties
from tests.resident.resident import Resident
from tests.servers.postgresql import Database

pytestmark = [pytest.mark.postgres, pytest.mark.spark]


def children(process: int) -> list[int]:
    """The processes of a process."""
    listed = Path(f"/proc/{process}/task/{process}/children").read_text()
    return [int(pid) for pid in listed.split()]


def is_alive(process: int) -> bool:
    """Whether it runs: one that nobody waits for has ended as well."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(") ")[2][0] != "Z"


def test_a_run_without_events_says_what_it_waited_for(
    database: Database, tmp_path: Path, resident: Resident
) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    file = tmp_path / "pipeline.properties"
    file.write_text(properties(database, snapshot_mode="no_data"))
    places = ("--output", str(tmp_path / "out"), "--state", str(tmp_path / "state"))
    completed = resident.run(
        "events", str(file), *places, "--idle-exit", "1", "--log-format", "json"
    )
    assert completed.returncode == 0, completed.stderr
    last = json.loads(completed.stderr.splitlines()[-1])
    assert last["message"].startswith("0 events in ")
    assert "; the stream was open, and no captured change came" in last["message"]
    assert (last["events"], last["restarts"]) == (0, 0)


def test_seconds_count_from_the_moment_at_which_the_source_begins(
    database: Database, tmp_path: Path, resident: Resident
) -> None:
    """However long it takes to start: much longer than this limit."""
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    file = tmp_path / "pipeline.properties"
    file.write_text(properties(database, snapshot_mode="no_data"))
    completed = resident.run("run", str(file), "--seconds", "0.01")
    assert completed.returncode == 0, completed.stderr
    last = completed.stderr.splitlines()[-1]
    assert last.partition("; ")[2].startswith(
        ("the stream was open", "a snapshot was being read")
    ), completed.stderr


def test_heartbeats_keep_no_run_from_its_idle_exit(
    database: Database, tmp_path: Path, resident: Resident
) -> None:
    """Heartbeats come whether there are events or not, and whatever becomes of their action."""
    database.execute("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
    file = tmp_path / "pipeline.properties"
    more = {"heartbeat_interval_ms": "200", "heartbeat_action_query": "SELECT 1/0"}
    file.write_text(properties(database, **more))
    places = ("--output", str(tmp_path / "out"), "--state", str(tmp_path / "state"))
    completed = resident.run("events", str(file), *places, "--idle-exit", "1")
    assert completed.returncode == 0, completed.stderr
    assert "division by zero" in completed.stderr
    topics = [json.loads(line)["topic"] for line in (tmp_path / "out").read_text().splitlines()]
    assert topics.count("headrace.public.t") == 1
    assert topics.count("__debezium-heartbeat.headrace") >= 2


def test_a_jvm_that_starts_dies_with_the_command(
    database: Database, tmp_path: Path, command: Callable[..., subprocess.Popen[str]]
) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    file = tmp_path / "pipeline.properties"
    file.write_text(properties(database))
    process = command("run", str(file))
    assert process.stderr is not None
    for line in process.stderr:
        if "starting Spark" in line:
            break
    deadline = Deadline(60)
    while not (started := children(process.pid)) and not deadline.is_over:
        time.sleep(0.01)
    time.sleep(0.3)  # somewhere in the start of the JVM
    started = sorted({*started, *children(process.pid)})
    assert started
    process.kill()
    deadline = Deadline(10)
    while any(map(is_alive, started)) and not deadline.is_over:
        time.sleep(0.05)
    assert [pid for pid in started if is_alive(pid)] == []
