"""Objects that remain in the database when a pipeline on Spark has stopped."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.resident.resident import Resident
from tests.servers.postgresql import Database


@pytest.mark.postgres
@pytest.mark.spark
@pytest.mark.parametrize(
    ("settings", "left"),
    [
        ({"snapshot.mode": "when_needed", "slot.drop.on.stop": "true"}, 0),
        pytest.param({}, 1, marks=pytest.mark.chaos),
    ],
)
def test_a_slot_stays_unless_it_was_not_asked_for(
    database: Database, tmp_path: Path, settings: dict[str, str], left: int, resident: Resident
) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1), (2)")
    properties = database.properties() | settings
    file = tmp_path / "pipeline.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    output = tmp_path / "events.jsonl"
    places = ("--output", str(output), "--state", str(tmp_path / "state"))
    completed = resident.run("events", str(file), *places, "--idle-exit", "1")
    assert completed.returncode == 0, completed.stderr
    assert output.read_text().count("\n") == 2
    query = "SELECT count(*) FROM pg_replication_slots WHERE slot_name = %s"
    assert database.execute(query, (database.name,)) == [(left,)]


@pytest.mark.postgres
@pytest.mark.spark
def test_a_run_ends_when_nobody_reads_its_lines(
    database: Database, tmp_path: Path, resident: Resident
) -> None:
    database.execute("CREATE TABLE t (id bigserial PRIMARY KEY); INSERT INTO t VALUES (default)")
    file = tmp_path / "pipeline.properties"
    properties = database.properties()
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    with resident.start("run", str(file), "--seconds", "240") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        process.stdout.close()
        while process.poll() is None:
            database.execute("INSERT INTO t VALUES (default)")
            time.sleep(0.1)
        error_output = process.stderr.read()
    assert process.returncode == 0, error_output
    assert "events in" not in error_output, "it ended by the limit of seconds"
    assert "error" not in error_output
    assert ".public.t" in first


def test_sigterm_before_spark_starts_ends_a_verb_and_leaves_no_file(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(120)
        file = tmp_path / "pipeline.properties"
        file.write_text(
            "connector.class=postgresql\ntopic.prefix=t\ndatabase.hostname=127.0.0.1\n"
            f"database.port={silent.getsockname()[1]}\ndatabase.user=u\ndatabase.dbname=d\n"
        )
        temporary = tmp_path / "temporary"
        temporary.mkdir()
        command = [sys.executable, "-m", "headrace.cli", "run", str(file)]
        environment = {**os.environ, "TMPDIR": str(temporary)}
        with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment) as process:
            connection, _ = silent.accept()  # it waits for an answer of the database
            process.send_signal(signal.SIGTERM)
            _, error_output = process.communicate(timeout=120)
            connection.close()
    assert process.returncode == 143
    assert b"Traceback" not in error_output
    assert list(temporary.glob("headrace-*-*")) == []
