"""`headrace.trigger` in every spelling, for every sink of the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from headrace.cli import main
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.errors import HeadraceError
from headrace.spark.versions.installed import REPORTS_STARTS
from tests.resident.resident import Resident
from tests.servers.postgresql import Database

# With Spark 4.0 and 4.1 headrace ends the query itself, and only one of its own source.
AVAILABLE_NOW = "AvailableNowTrigger" if REPORTS_STARTS else "ProcessingTimeTrigger(0)"
# Text, and the trigger that Spark has.
SPELLINGS = {
    "": "ProcessingTimeTrigger(0)",
    "0": "ProcessingTimeTrigger(0)",
    "500": "ProcessingTimeTrigger(500)",
    "0 ms": "ProcessingTimeTrigger(0)",
    "500 ms": "ProcessingTimeTrigger(500)",
    "500ms": "ProcessingTimeTrigger(500)",
    "2 s": "ProcessingTimeTrigger(2000)",
    "10 seconds": "ProcessingTimeTrigger(10000)",
    "5 min": "ProcessingTimeTrigger(300000)",
    "1 h": "ProcessingTimeTrigger(3600000)",
    "1 Day": "ProcessingTimeTrigger(86400000)",
    "1 minute 30 seconds": "ProcessingTimeTrigger(90000)",
    "interval 2 seconds 500 milliseconds": "ProcessingTimeTrigger(2500)",
    "${env:HEADRACE_TEST_INTERVAL}": "ProcessingTimeTrigger(3000)",
    "availableNow": AVAILABLE_NOW,
    "AVAILABLENOW": AVAILABLE_NOW,
    "available-now": AVAILABLE_NOW,
    "available_now": AVAILABLE_NOW,
    "available now": AVAILABLE_NOW,
    "once": AVAILABLE_NOW,
    "${env:HEADRACE_TEST_TRIGGER}": AVAILABLE_NOW,
}
ENVIRONMENT = {
    "HEADRACE_TEST_INTERVAL": " 3 s ",
    "HEADRACE_TEST_TRIGGER": "available-now",
    "HEADRACE_TEST_SINK": "json",
}
WRONG = (
    "soon", "5 parsecs", "-1 s", "s", "1 s 500", "interval", "availableNever", "continuous",
    "1.5 s", "99999999999999 d", "1 second, 2 minutes",
)  # fmt: skip


@pytest.mark.spark
def test_spark_takes_every_spelling_as_it_is_meant(tmp_path: Path, resident: Resident) -> None:
    (tmp_path / "spellings").write_text("".join(f"{spelling}\n" for spelling in SPELLINGS))
    environment = os.environ | ENVIRONMENT
    completed = resident.run("tests.cli.run_triggers", str(tmp_path), environment=environment)
    assert completed.returncode == 0, completed.stderr
    queries = [json.loads(line) for line in completed.stdout.splitlines()]
    assert {query["spelling"]: query["trigger"] for query in queries} == SPELLINGS
    ended = {query["spelling"] for query in queries if query["ended"]}
    expected = {spelling for spelling, kind in SPELLINGS.items() if kind == AVAILABLE_NOW}
    assert ended == (expected if REPORTS_STARTS else set())


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_trigger_is_refused_by_name(text: str) -> None:
    properties = {"topic.prefix": "p", "database.hostname": "h", "database.user": "u"}
    with pytest.raises(HeadraceError, match=r"config\.invalid") as raised:
        PostgresConfig.parse(properties | {"database.dbname": "d", "headrace.trigger": text})
    assert "headrace.trigger" in raised.value.message
    assert "availableNow, or the interval" in raised.value.message


@pytest.mark.parametrize("verb", ["run", "events"])
def test_a_wrong_trigger_is_refused_before_anything_starts(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "pipeline.properties"
    file.write_text(
        "connector.class=postgresql\ntopic.prefix=p\ndatabase.hostname=h\ndatabase.user=u\n"
        "database.dbname=d\nheadrace.trigger=tomorrow\n"
    )
    places = ["--output", str(tmp_path / "out"), "--state", str(tmp_path / "state")]
    assert main([verb, str(file), *(places if verb == "events" else [])]) == 1
    error_output = capsys.readouterr().err
    assert "headrace.trigger = 'tomorrow'" in error_output
    assert "[config.invalid]" in error_output


def run(resident: Resident, database: Database, folder: Path, *arguments: str, **more: str) -> str:
    """`headrace` with a configuration, to its own end; what it printed."""
    properties = database.properties() | {k.replace("__", "."): v for k, v in more.items()}
    file = folder / "pipeline.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    verb, *others = arguments
    environment = os.environ | ENVIRONMENT
    completed = resident.run(verb, str(file), *others, environment=environment)
    assert completed.returncode == 0, completed.stderr
    assert "3 events in" in completed.stderr
    return completed.stdout


@pytest.fixture
def filled(database: Database) -> Database:
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    database.execute("INSERT INTO t VALUES (1), (2), (3)")
    return database


@pytest.mark.postgres
@pytest.mark.spark
def test_events_end_with_what_was_there(
    filled: Database, tmp_path: Path, resident: Resident
) -> None:
    output = tmp_path / "out.jsonl"
    places = ("--output", str(output), "--state", str(tmp_path / "state"))
    trigger = {"headrace__trigger": "${env:HEADRACE_TEST_TRIGGER}"}
    run(resident, filled, tmp_path, "events", *places, **trigger)
    assert output.read_text().count("\n") == 3


@pytest.mark.postgres
@pytest.mark.spark
@pytest.mark.chaos
def test_a_run_into_a_file_ends_with_what_was_there(
    filled: Database, tmp_path: Path, resident: Resident, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_TEST_FOLDER", str(tmp_path))
    run(
        resident,
        filled,
        tmp_path,
        "run",
        headrace__trigger="available-now",
        headrace__sink__type="file",
        headrace__sink__path="${env:HEADRACE_TEST_FOLDER}/out.jsonl",
        headrace__checkpoint__dir="${env:HEADRACE_TEST_FOLDER}/state",
    )
    assert (tmp_path / "out.jsonl").read_text().count("\n") == 3
    assert (tmp_path / "state" / "checkpoint" / "commits").is_dir()


@pytest.mark.postgres
@pytest.mark.spark
@pytest.mark.chaos
def test_a_run_on_the_console_ends_with_what_was_there(
    filled: Database, tmp_path: Path, resident: Resident
) -> None:
    output = run(resident, filled, tmp_path, "run", headrace__trigger="availableNow")
    assert output.count("read ") == 3


@pytest.mark.postgres
@pytest.mark.spark
def test_a_run_into_a_sink_of_spark_ends_with_what_was_there(
    filled: Database, tmp_path: Path, resident: Resident
) -> None:
    run(
        resident,
        filled,
        tmp_path,
        "run",
        headrace__trigger="once",
        # Spark 4.0 and 4.1 give a source the environment in which the resident was started.
        headrace__sink__type="${env:HEADRACE_TEST_SINK}" if REPORTS_STARTS else "json",
        headrace__sink__path=str(tmp_path / "out"),
        headrace__checkpoint__dir=str(tmp_path / "state"),
    )
    lines = [file.read_text() for file in (tmp_path / "out").glob("part-*.json")]
    assert "".join(lines).count("\n") == 3
