"""Queries into a log: what Spark and others read of it, typed Avro, and its upkeep."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession

from headrace.sinks.event_log.definition import DEFINITION
from tests.servers.postgresql import Database
from tests.servers.registry import RegistryServer
from tests.sinks.contract.run import SinkRun
from tests.sinks.contract.subjects import EventLogSubject
from tests.sinks.event_log.events import records, visible

pytestmark = [pytest.mark.spark, pytest.mark.postgres]


def run_of(spark: SparkSession, database: Database, tmp_path, form: str) -> SinkRun:
    return SinkRun(spark, DEFINITION, EventLogSubject(tmp_path, form), database)


def test_spark_reads_a_log_as_a_table_with_topic_date_and_hour(spark, database, tmp_path) -> None:
    run = run_of(spark, database, tmp_path, "parquet")
    run.run()
    before = datetime.now(UTC)
    run.insert(1, 30)
    run.run()
    run.insert(31, 40)
    run.run(headrace_range_direct_max_bytes="0")
    table = spark.read.parquet(str(run.subject.target()))
    rows = table.orderBy("sequence").collect()
    assert [row.key for row in rows] == [f'{{"id":{number}}}' for number in range(1, 41)]
    (topic,) = {row.topic for row in rows}
    assert topic.endswith(".public.t")
    after = datetime.now(UTC)
    assert {row.hour for row in rows} <= {before.hour, after.hour}
    assert {str(row.date) for row in rows} <= {str(before.date()), str(after.date())}
    stamps = [row.commit_time.astimezone(UTC) for row in rows]
    assert before <= min(stamps) <= max(stamps) <= after


def test_avro_has_the_schema_of_the_converter(
    spark, database, tmp_path, registry_server: RegistryServer
) -> None:
    run = run_of(spark, database, tmp_path, "avro")
    converters = {
        f"{role}.converter.{name}": text
        for role in ("key", "value")
        for name, text in (("", "avro"), ("schema.registry.url", registry_server.url))
    }
    converter_properties = {name.rstrip("."): text for name, text in converters.items()}
    run.run(**converter_properties)
    run.insert(1, 2)
    run.database.execute("UPDATE t SET v = 'other' WHERE id = 1")
    run.database.execute("DELETE FROM t WHERE id = 2")
    run.run(**converter_properties)
    run.database.execute("ALTER TABLE t ADD COLUMN w int")
    run.database.execute("INSERT INTO t VALUES (3, 'x', 5)")
    run.run(**converter_properties, headrace_range_direct_max_bytes="0")
    files = visible(run.subject.target())
    assert all(file.suffix == ".avro" for file in files)
    events = sorted((each for file in files for each in records(file)), key=lambda e: e["sequence"])
    keyed_changes = [
        (e["key"]["id"], e["value"] and (e["value"]["op"], e["value"]["after"])) for e in events
    ]
    assert keyed_changes == [
        (1, ("c", {"id": 1, "v": "7"})),
        (2, ("c", {"id": 2, "v": "7"})),
        (1, ("u", {"id": 1, "v": "other"})),
        (2, ("d", None)),
        (2, None),
        (3, ("c", {"id": 3, "v": "x", "w": 5})),
    ]


def test_maintain_merges_what_a_query_left(spark, database, tmp_path, monkeypatch) -> None:
    run = run_of(spark, database, tmp_path, "json")
    large = {"headrace_sink_file_max_bytes": "1000000"}
    for last in (0, 10, 20, 30):
        if last:
            run.insert(last - 9, last)
        run.run(headrace_sink_compact="false", **large)
    assert len(visible(run.subject.target())) >= 3  # two hours, if one ends now
    hours_later = time.time_ns() + 7_200_000_000_000
    with monkeypatch.context() as patched:
        patched.setattr(time, "time_ns", lambda: hours_later)
        lines = run.maintain(**large)
        assert run.maintain(**large) == []
    assert lines
    assert all(" files merged into 1" in line for line in lines)
    assert sorted(run.subject.ids()) == list(range(1, 31))
    run.insert(31, 40)
    run.run()
    assert sorted(run.subject.ids()) == list(range(1, 41))
