"""Small ranges of the log reach the file without a Spark task, and the rest through tasks."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from headrace.testing.embedded import PostgresServer
from tests.cli.commands import properties, rows_of
from tests.resident.resident import Resident
from tests.servers.sources import PostgresSource

pytestmark = [pytest.mark.postgres, pytest.mark.spark]


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture
def source(server: PostgresServer) -> PostgresSource:
    return PostgresSource(server)


def wait_for(condition: Callable[[], object], describe: Callable[[], object]) -> None:
    deadline = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < deadline, describe()
        time.sleep(0.1)


def keys(output: Path) -> list[int]:
    return [line["key"]["id"] for line in rows_of(output)]


def commands_below(pid: int) -> list[str]:
    commands = []
    for process in psutil.Process(pid).children(recursive=True):
        try:
            commands.append(" ".join(process.cmdline()))
        except psutil.Error:
            continue
    return commands


def parts_of(state: Path) -> list[str]:
    return sorted(path.name for path in (state / "file" / "parts").iterdir())


def test_a_change_is_written_without_a_worker_and_without_a_process_for_the_commit(
    tmp_path, command, server, source, resident: Resident
):
    file, output, state = tmp_path / "c.properties", tmp_path / "out.jsonl", tmp_path / "s"
    file.write_text(properties(source, snapshot_mode="no_data"))
    arguments = ["events", str(file), "--output", str(output), "--state", str(state)]
    run = command(*arguments)
    active = "SELECT 1 FROM pg_replication_slots WHERE active"
    wait_for(lambda: server.execute(active) or run.poll() is not None, lambda: "no stream")
    for i in range(1, 21):
        server.execute(f"INSERT INTO t VALUES ({i}, 'live')")
        wait_for(lambda i=i: len(keys(output)) == i or run.poll() is not None, lambda: "no line")
    assert run.poll() is None, run.communicate()
    commands = commands_below(run.pid)
    for process in ("python_streaming_sink_runner", "write_into_data_source"):
        assert not [line for line in commands if process in line]
    run.send_signal(signal.SIGTERM)
    _, error_output = run.communicate(timeout=240)
    assert run.returncode == 0, error_output
    assert keys(output) == list(range(1, 21))
    assert "20 events" in error_output
    # Each of them would have cost four processes.
    assert not list((state / "checkpoint").rglob("*.crc"))
    for note in (state / "sink", None):  # the note of the sink, and what 0.1.0 left without one
        other = resident.run("run", str(file), "--checkpoint", str(state))
        error_output = other.stderr
        assert other.returncode == 1, error_output
        assert "belongs to a query with the sink file: the sink console would miss" in error_output
        assert "[cli.other_sink]" in error_output
        if note is not None:
            note.unlink()


def test_keys_and_values_that_are_texts_are_strings_of_the_lines(
    tmp_path, server, source, resident: Resident
):
    server.execute("CREATE TABLE named (name text PRIMARY KEY)")
    server.execute("INSERT INTO named VALUES ('7'), ('abc'), ('007')")
    more = {
        "table_include_list": "public.named",
        "key_converter": "org.apache.kafka.connect.storage.StringConverter",
        "header_converter": "org.apache.kafka.connect.storage.SimpleHeaderConverter",
        "transforms": "k,h",
        "transforms_k_type": "org.apache.kafka.connect.transforms.ExtractField$Key",
        "transforms_k_field": "name",
        "transforms_h_type": "org.apache.kafka.connect.transforms.InsertHeader",
        "transforms_h_header": "version",
        "transforms_h_value_literal": "007",
        "snapshot_mode": "initial_only",
    }
    file = tmp_path / "c.properties"
    file.write_text(properties(source, **more))
    for output in (tmp_path / "out.jsonl", Path("-")):
        arguments = ["--output", str(output), "--state", str(tmp_path / f"s{output.name}")]
        run = resident.run("events", str(file), *arguments, "--idle-exit", "1")
        assert run.returncode == 0, run.stderr
        text = run.stdout if output == Path("-") else output.read_text()
        lines = [json.loads(line) for line in text.splitlines()]
        assert sorted(line["key"] for line in lines) == ["007", "7", "abc"]
        assert {line["headers"]["version"] for line in lines} <= {"007", "7"}


def test_large_and_small_ranges_are_written_once_and_in_order(
    tmp_path, command, server, source, resident: Resident
):
    file, output, state = tmp_path / "c.properties", tmp_path / "out.jsonl", tmp_path / "s"
    file.write_text(properties(source, headrace_range_max_rows="700",
                               headrace_range_direct_max_bytes="20kB"))  # fmt: skip
    server.execute("INSERT INTO t SELECT i, 'read' FROM generate_series(1, 300) i")
    arguments = ["events", str(file), "--output", str(output), "--state", str(state)]
    first = command(*arguments)
    wait_for(lambda: len(keys(output)) >= 300, lambda: len(keys(output)))
    written = 300
    for count in (1, 2000, 3, 900, 1, 1, 5000):
        statement = f"INSERT INTO t SELECT i, repeat('x', 50) FROM generate_series({written + 1}, {written + count}) i"  # noqa: E501
        server.execute(statement)
        written += count
        if count == 900:
            wait_for(lambda: len(keys(output)) > 2000, lambda: len(keys(output)))
            for process in psutil.Process(first.pid).children(recursive=True):
                os.kill(process.pid, signal.SIGKILL)
            first.kill()
            first.communicate()
            first = resident.start(*arguments)
    first_end = written
    wait_for(lambda: len(keys(output)) >= first_end, lambda: len(keys(output)))
    first.send_signal(signal.SIGTERM)
    _, error_output = first.communicate(timeout=240)
    assert first.returncode == 0, error_output
    assert keys(output) == list(range(1, written + 1))
    assert parts_of(state) == []
