"""`headrace check` for programs and for administrators: JSON, and the SQL of the remedies."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cli import main
from headrace.cli.check import script
from headrace.cli.pipeline import Pipeline
from headrace.config.properties.connector import ConnectorConfig
from headrace.connectors.postgresql.checks.server import wal_level_error
from headrace.errors import HeadraceError
from headrace.findings import Finding, Findings, counted, statements
from headrace.sinks.file.definition import FileDefinition
from headrace.spark.sinks.registry import find_sink, forget_added
from tests.cli.first_steps.configurations import SHOP, written
from tests.servers.postgresql import Database
from tests.sinks.broken_package import install_broken_sink


@pytest.mark.postgres
def test_the_script_repairs_what_the_check_found(
    database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    role = f"asks_{database.name}"
    database.execute(
        'CREATE SCHEMA "My shop"; CREATE TABLE "My shop"."or;ders" (id int PRIMARY KEY);'
        f"CREATE ROLE {role} LOGIN"
    )
    properties = database.properties(
        database_user=role, schema_include_list="My shop", publication_autocreate_mode="disabled"
    )
    file = written(tmp_path / "c.properties", properties)
    try:
        assert main(["check", "--json", file]) == 1
        findings = json.loads(capsys.readouterr().out)
        errors = [finding for finding in findings if finding["level"] == "error"]
        assert {error["code"] for error in errors} == {
            "postgresql.no_privilege",
            "postgresql.no_replication_privilege",
            "postgresql.publication_missing",
        }
        for _ in range(2):  # what may be read is found when it may be
            main(["check", "--fix-sql", file])
            script = capsys.readouterr().out
            assert "…" not in script
            database.execute(script or "SELECT 1")
        assert main(["check", file]) == 0
        assert " 0 errors, " in capsys.readouterr().out
    finally:
        database.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_a_sink_that_is_not_there_is_found_by_the_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    properties = {**SHOP, "database.port": "1", "debezium.sink.type": "pulsar"}
    assert main(["check", written(tmp_path / "c", properties)]) == 1
    output = capsys.readouterr().out
    assert "[cli.sink_not_supported]" in output
    assert "Use console, delta, event-log, file, iceberg, kafka, or a format" in output
    assert output.endswith("2 checks, 2 errors, 0 warnings\n")


def test_a_state_that_is_a_file_is_found_by_the_check(tmp_path: Path) -> None:
    file = written(tmp_path / "c", {**SHOP, "database.port": "1"})
    for option in ("--state", "--checkpoint"):
        assert main(["check", file, option, file]) == 1


def test_a_state_that_is_not_there_is_one_of_a_query_that_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path / "c", {**SHOP, "database.port": "1"})
    assert main(["check", file, "--state", str(tmp_path / "none")]) == 1
    assert (
        f"There is no {tmp_path / 'none' / 'checkpoint'}: a query begins" in capsys.readouterr().out
    )
    assert not (tmp_path / "none").exists()


def test_a_checkpoint_of_a_query_in_pyspark_is_that_of_a_query_that_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = tmp_path / "checkpoint of a query"
    for name, text in (
        ("offsets", 'v1\n{"batchWatermarkMs":0}\n{"server":"shop"}'),
        ("commits", "v1"),
    ):
        (checkpoint / name).mkdir(parents=True)
        (checkpoint / name / "7").write_text(text)
    file = written(tmp_path / "c", {**SHOP, "database.port": "1"})
    assert main(["check", file, "--state", str(checkpoint)]) == 1  # there is no server
    assert f"The query of {checkpoint} goes on after micro-batch 7" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["check", "run"])
def test_a_sink_that_is_misspelled_is_an_error(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    properties = {**SHOP, "database.port": "1", "debezium.sink.type": "kafak"}
    file = written(tmp_path / "c", properties)
    assert main([verb, file, *(["--checkpoint", str(tmp_path)] * (verb == "run"))]) == 1
    output = "".join(capsys.readouterr())
    assert "There is no sink kafak; did you mean kafka? [cli.sink_misspelled]" in output
    others = "Other sinks are console, delta, event-log, file, iceberg"
    assert f"Set headrace.sink.type to kafka. {others}" in output


@pytest.mark.parametrize(
    ("sink", "meant"),
    [("File", "file"), ("Kafka", "kafka"), ("consol", "console"), ("parqet", "parquet"),
     ("detla", "delta"), ("DELTA", "delta"), ("icebergs", "iceberg")],
)  # fmt: skip
def test_nearly_a_sinks_name_is_taken_for_it(sink: str, meant: str) -> None:
    with pytest.raises(HeadraceError, match=f"did you mean {meant}"):
        find_sink(sink)


@pytest.mark.parametrize(
    "sink",
    ["console", "file", "kafka", "delta", "iceberg", "Parquet", "redis", "bigquery", "orb",
     "cassandra",
     "org.apache.spark.sql.kafka010.KafkaSourceProvider", "headrace_kafka"],
)  # fmt: skip
def test_names_of_other_sinks_are_left_to_spark(sink: str) -> None:
    assert find_sink(sink).name == sink


def test_kafkas_client_is_missed_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    properties = {**SHOP, "database.port": "1", "debezium.sink.type": "kafka"}
    properties["debezium.sink.kafka.producer.bootstrap.servers"] = "localhost:1"
    file, state = written(tmp_path / "c", properties), tmp_path / "state"
    assert main(["run", file, "--checkpoint", str(state)]) == 1
    error_output = capsys.readouterr().err
    assert "[kafka.no_kafka_client]" in error_output
    assert "starting Spark" not in error_output
    assert "postgresql" not in error_output
    assert not state.exists()


def test_a_state_that_is_a_file_is_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path / "c.properties", SHOP)
    assert main(["events", file, "--output", str(tmp_path / "out"), "--state", file]) == 1
    assert "is a file, and a folder is needed" in capsys.readouterr().err


HERE = "ALTER SESSION SET CONTAINER = A;"
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1)


@given(NAMES, NAMES)
def test_statements_are_found_whatever_names_they_have(table: str, role: str) -> None:
    quoted = [name.replace('"', '""') for name in (table, role)]
    grant = 'GRANT SELECT ON "{}" TO "{}";'.format(*quoted)
    assert statements(f"As a superuser: {grant} Or give up.") == [" ".join(grant.split())]


def test_what_runs_in_one_place_is_one_section_of_the_script() -> None:
    here, in_container = HERE, "ALTER SESSION SET CONTAINER = B;"
    findings = [
        Finding("a", "error", "one", f"{here} GRANT x TO y;"),
        Finding("b", "ok", "two"),
        Finding("c", "warning", "three", f"{in_container} ALTER TABLE t;"),
        Finding("d", "error", "four", f"{here} SHUTDOWN IMMEDIATE; STARTUP MOUNT;"),
        Finding("e", "error", "five", "Ask."),
    ]
    assert list(script(findings)) == [
        "-- error: five",
        "-- Ask.",
        "",
        here,
        "-- error: one",
        "GRANT x TO y;",
        "-- error: four",
        "SHUTDOWN IMMEDIATE;",
        "STARTUP MOUNT;",
        "",
        in_container,
        "-- warning: three",
        "-- ALTER TABLE t;",
    ]


def test_what_a_remedy_says_beside_its_statements_is_a_comment_of_the_script() -> None:
    findings = [
        Finding("a", "error", "one", "As a superuser: ALTER SYSTEM SET w = x; then restart it."),
        Finding("b", "error", "two", f"While nobody works: {HERE} SHUTDOWN IMMEDIATE; Or wait."),
    ]
    assert list(script(findings)) == [
        "-- error: one",
        "-- As a superuser:",
        "ALTER SYSTEM SET w = x;",
        "-- then restart it.",
        "",
        HERE,
        "-- error: two",
        "-- While nobody works:",
        "SHUTDOWN IMMEDIATE;",
        "-- Or wait.",
    ]


def test_the_setting_of_the_log_comes_with_the_restart_that_it_needs() -> None:
    error = wal_level_error("replica")
    assert error is not None
    findings = Findings()
    findings.add_error(error)
    lines = list(script(findings))
    assert lines[-2:] == ["ALTER SYSTEM SET wal_level = logical;", "-- then restart the server."]


def test_prose_has_no_statements() -> None:
    assert statements("Grant the role what it needs; ALTER nothing") == []


def test_one_of_something_has_no_plural() -> None:
    assert (counted(1, "error"), counted(0, "error"), counted(2, "error")) == (
        "1 error",
        "0 errors",
        "2 errors",
    )


def test_a_connector_without_checks_is_checked_by_the_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.cli.check.check", lambda *_: [])
    monkeypatch.setattr(Pipeline, "validate", lambda *_: None)
    file = written(tmp_path / "c", {**SHOP, "database.port": "1"})
    assert main(["check", file]) == 0
    assert capsys.readouterr().out == (
        "No errors: the connector has no checks beside those of a start\n"
    )


def test_a_sink_that_cannot_be_loaded_is_found_by_the_check_and_ends_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    install_broken_sink(tmp_path, monkeypatch)
    forget_added()
    file = written(tmp_path / "c", {**SHOP, "database.port": "1", "headrace.sink.type": "broken"})
    try:
        assert main(["check", file]) == 1
        captured = capsys.readouterr()
        assert "The sink broken of another package cannot be used: Mod" in captured.out
        assert captured.err.startswith("warning: The sink broken (broken_sink:DEFINITION)")
        assert main(["run", file, "--checkpoint", str(tmp_path / "state")]) == 1
        assert "[cli.sink_left_out]" in capsys.readouterr().err
    finally:
        forget_added()


class DefectiveSink(FileDefinition):
    name = "defective"

    def __init__(self, result: object) -> None:
        super().__init__()
        self._result = result

    def check(self, config: ConnectorConfig) -> Any:
        if isinstance(self._result, Exception):
            raise self._result
        return self._result


UNKNOWN_LEVEL: Any = "info"


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (RuntimeError("no answer"), "RuntimeError: no answer"),
        (None, "TypeError: "),
        ([Finding("defective.x", UNKNOWN_LEVEL, "x")], "ValueError: 'info' is not a level"),
    ],
    ids=["exception", "no findings", "unknown level"],
)
def test_a_defect_of_a_sinks_check_hides_no_other_finding(
    result: object,
    reason: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("headrace.cli.check.find_sink", lambda _: DefectiveSink(result))
    properties = {**SHOP, "database.port": "1", "headrace.sink.path": str(tmp_path / "out")}
    assert main(["check", "--json", written(tmp_path / "c", properties)]) == 1
    findings = {each["code"]: each for each in json.loads(capsys.readouterr().out)}
    message = findings["cli.sink_check_failed"]["message"]
    assert message.startswith(f"The check of the sink defective failed: {reason}")
    assert "postgresql.unreachable" in findings


def test_findings_have_one_of_three_levels() -> None:
    with pytest.raises(ValueError, match=r"'info' is not a level: use one of ok, warning, error"):
        Findings().add("a.b", UNKNOWN_LEVEL, "x")
