"""Findings of `headrace check` for a pipeline into replicas."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from headrace.cli import main
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres


def findings(
    database: Database,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    more: Mapping[str, str] | None = None,
    **sink: str,
) -> dict[str, tuple[str, str]]:
    """Levels and messages by code."""
    options = {"type": "iceberg", "mode": "replica", "warehouse": str(folder / "lake"), **sink}
    file = folder / "shop.properties"
    properties = database.properties() | {f"headrace.sink.{n}": t for n, t in options.items()}
    properties |= more or {}
    file.write_text("".join(f"{name}={text}\n" for name, text in properties.items()))
    main(["check", str(file), "--json"])
    reported = json.loads(capsys.readouterr().out)
    return {each["code"]: (each["level"], each["message"]) for each in reported}


def test_what_replicas_set_of_the_source_is_what_is_checked(
    database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database.execute('CREATE TABLE twins (id int PRIMARY KEY, name text, "Name" text)')
    findings_by_code = findings(database, tmp_path, capsys)
    assert "debezium.case_twins" not in findings_by_code
    assert findings_by_code["replicas.columns_alike"][0] == "error"
    assert findings(database, tmp_path, capsys, mode="events")["debezium.case_twins"][0] == "error"


def test_values_that_the_log_lacks_are_said_to_stay_in_replicas(
    database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY, large text)")
    findings_by_code = findings(database, tmp_path, capsys)
    assert "replicas keep what they have" in findings_by_code["postgresql.replica_identity"][1]


def test_another_release_is_named_beside_the_one_that_the_sink_brings(
    database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    findings_by_code = findings(
        database, tmp_path, capsys, {"spark.jars": "/opt/iceberg-core-1.4.0.jar"}
    )
    level, message = findings_by_code["spark.other_release"]
    assert level == "warning"
    assert "iceberg-core 1.4.0 beside iceberg-" in message
    assert message.count(":") == 1


def test_a_check_says_that_a_driver_of_the_catalog_is_missing(
    database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    address = {"headrace.sink.catalog.uri": "jdbc:postgresql://h/d?password=hidden-word"}
    level, message = findings(database, tmp_path, capsys, address)["iceberg.driver_missing"]
    assert level == "error"
    assert "hidden-word" not in message
    address["spark.jars"] = "hdfs://host/driver.jar"
    level, _ = findings(database, tmp_path, capsys, address)["iceberg.driver_not_checked"]
    assert level == "warning"
    assert findings(database, tmp_path, capsys)["replicas.catalog"][0] == "ok"


def test_a_format_of_spark_whose_package_is_missing_is_an_error_if_no_mode_was_chosen(
    database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    level, message = findings(database, tmp_path, capsys, mode="events")["cli.sink_not_found"]
    assert (level, message) == ("warning", "Spark knows no sink iceberg")
    runtime = tmp_path / "iceberg-spark-runtime-4.1_2.13-1.12.0.jar"
    runtime.touch()
    jars = {"spark.jars": str(runtime)}
    assert "cli.sink_not_found" not in findings(database, tmp_path, capsys, jars, mode="events")
    file = tmp_path / "none.properties"
    lines = database.properties() | {"headrace.sink.type": "iceberg"}
    file.write_text("".join(f"{name}={text}\n" for name, text in lines.items()))
    assert main(["check", str(file), "--json"]) == 1
    (finding,) = [
        each for each in json.loads(capsys.readouterr().out) if each["code"] == "cli.sink_not_found"
    ]
    assert finding["level"] == "error"
    assert finding["remedy"].startswith("Set headrace.sink.mode=replica for tables that")
