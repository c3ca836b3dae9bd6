"""The `headrace` command as a user types it."""

import re
import signal
import time
from pathlib import Path

import pytest

from headrace.cli import main
from headrace.cli.run import sink_options
from headrace.config.source import read_text
from headrace.connectors.registry import parse_configuration
from headrace.spark.supervisor import Summary
from headrace.testing.embedded import PostgresServer
from tests.cli.commands import properties, rows_of


def test_the_version_is_printed(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert re.fullmatch(r"headrace \d+\.\d+\.\d+\S*\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    "arguments", [[], ["nonsense"], ["events", "f"], ["run", "f", "--seconds", "-1"]]
)
def test_wrong_usage_has_status_2(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: headrace" in capsys.readouterr().err


def test_an_error_is_one_message_and_its_remedy(tmp_path, capsys):
    assert main(["events", str(tmp_path / "none"), "--output", "o", "--state", str(tmp_path)]) == 1
    message, remedy, rest = capsys.readouterr().err.split("\n")
    assert message.startswith("error: The configuration file")
    assert message.endswith("[config.unreadable_file]")
    assert remedy.startswith("remedy: ")
    assert rest == ""


def test_properties_are_described(capsys):
    assert main(["describe", "postgresql"]) == 0
    assert "table.include.list" in capsys.readouterr().out
    assert main(["describe", "--markdown"]) == 0
    assert "| `topic.prefix` | *required* |" in capsys.readouterr().out


def test_a_file_of_somebody_else_is_refused_before_anything_starts(tmp_path, capsys):
    file = tmp_path / "c.properties"
    file.write_text(
        "connector.class=postgresql\ntopic.prefix=s\ndatabase.hostname=h\ndatabase.user=u\n"
        "database.password=secret-word\ndatabase.dbname=d\n"
    )
    (tmp_path / "out").write_text("mine")
    state = str(tmp_path / "state")
    assert main(["events", str(file), "--output", str(tmp_path / "out"), "--state", state]) == 1
    said = capsys.readouterr().err
    assert "[file.output_exists]" in said
    assert "secret-word" not in said


def test_debezium_servers_sink_options_reach_sparks_sink():
    given = read_text(
        "connector.class=postgresql\ntopic.prefix=s\ndatabase.hostname=h\ndatabase.user=u\n"
        "database.dbname=d\ndebezium.sink.type=kafka\ndebezium.sink.kafka.producer.bootstrap.servers=h:1\n"
        "debezium.sink.producer.acks=all\nheadrace.sink.topic=x\n"
    )
    config = parse_configuration(given)
    assert config.headrace_sink_type == "kafka"
    assert sink_options("kafka", config.headrace_sink) == {
        "kafka.bootstrap.servers": "h:1", "kafka.acks": "all", "topic": "x",
    }  # fmt: skip


def test_the_options_of_the_file_sink_reach_it_and_others_are_named(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("HEADRACE_TEST_FOLDER", str(tmp_path))
    file = tmp_path / "c.properties"
    file.write_text(
        "connector.class=postgresql\ntopic.prefix=s\ndatabase.hostname=h\ndatabase.user=u\n"
        "database.dbname=d\ndebezium.sink.type=file\nheadrace.sink.sync=false\n"
        "debezium.sink.file.path=${env:HEADRACE_TEST_FOLDER}/out\nheadrace.sink.codec=gzip\n"
        "headrace.checkpoint.dir=${env:HEADRACE_TEST_FOLDER}/state\n"
    )
    calls = []

    def append(pipeline, output, state, checkpoint, arguments, verb, *, sync):
        calls.append((output, state, sync, pipeline.config.headrace_slice_order))
        return Summary(rows=3)

    monkeypatch.setattr("headrace.cli.run.append_to_file", append)
    assert main(["run", str(file)]) == 0
    assert calls == [(tmp_path / "out", tmp_path / "state", False, "position")]
    said = capsys.readouterr().err
    assert said.count("warning: ") == 1
    assert "headrace.sink.codec" in said


@pytest.mark.postgres
@pytest.mark.spark
def test_events_are_written_once_across_kill_and_restart(tmp_path, command):
    with PostgresServer() as server:
        server.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
        server.execute("INSERT INTO t SELECT i, 'snapshot' FROM generate_series(1, 500) i")
        file, output = tmp_path / "c.properties", tmp_path / "out.jsonl"
        file.write_text(properties(server))
        arguments = ["events", str(file), "--output", str(output), "--state", str(tmp_path / "s")]
        first = command(*arguments)
        wait_for(output, 500)
        for i in range(501, 601):
            server.execute(f"INSERT INTO t VALUES ({i}, 'live')")
        wait_for(output, 520)
        first.kill()
        first.communicate()
        server.execute("DELETE FROM t WHERE id = 1")
        second = command(*arguments, "--idle-exit", "3")
        _, said = second.communicate(timeout=600)
        assert second.returncode == 0, said
        lines = rows_of(output)
        assert [line["key"]["id"] for line in lines] == [*range(1, 601), 1, 1]
        assert lines[0]["value"]["op"] == "r"
        assert lines[-1]["value"] is None
        third = command(*arguments)
        await_reader(server)
        third.send_signal(signal.SIGTERM)
        _, said = third.communicate(timeout=600)
        assert third.returncode == 0, said
        assert len(rows_of(output)) == 602


@pytest.mark.postgres
@pytest.mark.spark
def test_a_run_shows_events_on_a_pipe_and_a_wrong_database_is_one_message(tmp_path, command):
    with PostgresServer() as server:
        server.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
        server.execute("INSERT INTO t VALUES (7, 'seven')")
        file = tmp_path / "c.properties"
        file.write_text(properties(server))
        shown = command("run", str(file), "--idle-exit", "2")
        out, said = shown.communicate(timeout=600)
        assert shown.returncode == 0, said
        assert re.search(r"read +s\.public\.t  id=7  id: 7, v: seven", out)
        file.write_text(properties(server, database_dbname="nosuch"))
        refused = command("run", str(file))
        _, said = refused.communicate(timeout=600)
        assert refused.returncode == 1
        assert re.search(r"^error: .*\[postgresql\.[a-z_]+\]$", said, re.MULTILINE), said
        assert "Traceback" not in said
        assert "secret-word" not in said


def await_reader(server: PostgresServer) -> None:
    """Wait until somebody reads the log."""
    deadline = time.monotonic() + 600
    while not server.execute("SELECT 1 FROM pg_replication_slots WHERE active"):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def wait_for(output: Path, count: int) -> None:
    deadline = time.monotonic() + 600
    while len(rows_of(output)) < count:
        assert time.monotonic() < deadline, len(rows_of(output))
        time.sleep(0.2)
