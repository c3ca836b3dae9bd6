"""The `headrace` command as a user types it."""

import json
import re
import signal
import subprocess
import time
from collections.abc import Callable

import pytest

from headrace.cli import main
from headrace.config.formats import read_text
from headrace.connectors.registry import parse_configuration
from headrace.sinks.file.options import FileOptions
from headrace.spark.sinks.registry import find_sink
from headrace.spark.supervisor import Summary
from tests.cli.commands import configuration, properties, rows_of
from tests.resident.resident import Resident
from tests.servers.sources import SECRET


def test_the_version_is_printed(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert re.fullmatch(r"headrace \d+\.\d+\.\d+\S*\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["events", "f"], ["run", "f", "--seconds", "-1"]]
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
    assert main(["describe", "postgresql", "--markdown"]) == 0
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
    error_output = capsys.readouterr().err
    assert "[file.output_exists]" in error_output
    assert "secret-word" not in error_output


def test_debezium_servers_sink_options_reach_sparks_sink():
    sink_properties = read_text(
        "connector.class=postgresql\ntopic.prefix=s\ndatabase.hostname=h\ndatabase.user=u\n"
        "database.dbname=d\ndebezium.sink.type=delta\ndebezium.sink.delta.path=p\nheadrace.sink.mergeSchema=true\n"
    )
    config = parse_configuration(sink_properties)
    assert config.headrace_sink_type == "delta"
    assert find_sink("delta").own_options(config) == {"path": "p", "mergeSchema": "true"}


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

    def run_sink(definition, pipeline, state, arguments, verb, messages):
        calls.append((definition.name, FileOptions.of(definition.own_options(pipeline.config))))
        return Summary(rows=3)

    monkeypatch.setattr("headrace.cli.run.run_sink", run_sink)
    assert main(["run", str(file)]) == 0
    assert calls == [("file", FileOptions(tmp_path / "out", sync=False))]
    error_output = capsys.readouterr().err
    assert error_output.count("warning: ") == 1
    assert "headrace.sink.codec" in error_output


def test_the_output_of_events_is_the_one_that_is_named(tmp_path, monkeypatch):
    file = tmp_path / "c.properties"
    file.write_text(
        "connector.class=postgresql\ntopic.prefix=s\ndatabase.hostname=h\ndatabase.user=u\n"
        "database.dbname=d\nheadrace.sink.path=/a\ndebezium.sink.file.path=/b\nheadrace.sink.sync=no\n"
    )
    calls = []

    def run_sink(definition, pipeline, state, arguments, verb, messages):
        calls.append(FileOptions.of(definition.own_options(pipeline.config)))
        return Summary(rows=0)

    monkeypatch.setattr("headrace.cli.events.run_sink", run_sink)
    output = str(tmp_path / "out")
    assert main(["events", str(file), "--output", output, "--state", str(tmp_path / "s")]) == 0
    assert calls == [FileOptions(tmp_path / "out", sync=True)]


@pytest.mark.spark
@pytest.mark.chaos
def test_events_are_written_once_across_kill_and_restart(tmp_path, command, source):
    source.insert(1, 500, "snapshot")
    file, output = tmp_path / "c.properties", tmp_path / "out.jsonl"
    file.write_text(properties(source))
    arguments = ["events", str(file), "--output", str(output), "--state", str(tmp_path / "s")]
    first = command(*arguments)
    wait_for(first, lambda: len(rows_of(output)) >= 500)
    for number in range(501, 601):
        source.insert(number, number, "live")
    wait_for(first, lambda: len(rows_of(output)) >= 520)
    first.kill()
    first.communicate()
    source.delete(1)
    second = command(*arguments, "--idle-exit", "3")
    _, error_output = second.communicate(timeout=600)
    assert second.returncode == 0, error_output
    lines = rows_of(output)
    assert [int(line["key"]["id"]) for line in lines] == [*range(1, 601), 1, 1]
    assert lines[0]["value"]["op"] == "r"
    assert lines[-1]["value"] is None
    third = command(*arguments)
    wait_for(third, source.is_read)
    third.send_signal(signal.SIGTERM)
    _, error_output = third.communicate(timeout=600)
    assert third.returncode == 0, error_output
    assert len(rows_of(output)) == 602


@pytest.mark.spark
def test_a_run_shows_events_on_a_pipe_and_wrong_properties_are_one_message(
    tmp_path, source, resident: Resident
):
    source.insert(7, 7, "seven")
    # As Kafka Connect's REST interface takes it.
    file = tmp_path / "c.json"
    file.write_text(json.dumps({"name": "shop", "config": configuration(source)}))
    completed = resident.run("run", str(file), "--idle-exit", "1")
    assert completed.returncode == 0, completed.stderr
    line = rf"read +{re.escape(source.topic)}  id=7  (?:_id: 7, )?v: seven"
    assert re.search(line, completed.stdout), completed.stdout
    file.write_text(json.dumps(configuration(source) | source.wrong))
    refused = resident.run("run", str(file))
    error_output = refused.stderr
    assert refused.returncode == 1
    assert re.search(rf"^error: .*\[{source.name}\.[a-z_]+\]$", error_output, re.MULTILINE), (
        error_output
    )
    assert "Traceback" not in error_output
    assert SECRET not in error_output


def test_a_signal_from_the_command_line_reaches_the_signal_collection(source, tmp_path, capsys):
    """The command prints the signal's id, and `check` reads the same file."""
    file = tmp_path / "c.properties"
    file.write_text(properties(source, signal_data_collection=source.signals()))
    assert main(["check", str(file)]) == 0, capsys.readouterr()
    assert " 0 errors" in capsys.readouterr().out
    assert main(["signal", str(file), "log", '{"message": "here"}', "--id", "one"]) == 0
    assert capsys.readouterr().out == "one\n"
    assert source.sent() == [("one", "log")]


def wait_for(process: subprocess.Popen[str], condition: Callable[[], object]) -> None:
    """Wait until it holds; the command must not end before."""
    deadline = time.monotonic() + 600
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.1)
