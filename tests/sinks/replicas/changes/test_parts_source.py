"""The source of parts, as Spark calls it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from headrace.config.kinds import AVAILABLE_NOW
from headrace.config.packing import pack
from headrace.config.properties.connector import ConnectorConfig
from headrace.connectors.registry import parse_configuration
from headrace.offsets.offset import NO_END
from headrace.sinks.replicas.changes import parts_source
from headrace.sinks.replicas.changes.part import Part
from headrace.sinks.replicas.changes.parts import describe, described, of_rows
from headrace.sinks.replicas.changes.parts_source import (
    OVERRIDES,
    ReplicaPartsReader,
    ReplicaPartsSource,
)
from headrace.spark.kernels.needed import query_kernels
from headrace.spark.query.source_options import CHECKPOINT, FOLDER, SYNC
from headrace.spark.versions.triggers import source_options, start
from tests.connectors.postgresql.harness import properties_with
from tests.servers.postgresql import Database
from tests.sinks.replicas.changes.change_readers import WrittenParts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PART = Part("s.t", "1-0.arrow", 3, 99, "{}", (), "a", "b", "", False, False, 7)
OPTIONS = {"connector.class": "postgresql", "topic.prefix": "s", "database.dbname": "d",
           "database.hostname": "h", "database.user": "u"}  # fmt: skip
properties = properties_with({"snapshot.mode": "initial"})


def planned(folder: Path, batch: int, end: str) -> None:
    (folder / "offsets").mkdir(exist_ok=True, parents=True)
    (folder / "offsets" / str(batch)).write_text(f"v1\n{{}}\n{end}")


@pytest.mark.parametrize("size", [10, None])
def test_a_small_range_is_described_by_the_source_and_a_large_one_by_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int | None
) -> None:
    checkpoint, state = tmp_path / "checkpoint", tmp_path / "iceberg"
    planned(checkpoint, 3, '{"n":1}')
    part = SimpleNamespace(log_bytes=size)
    session = SimpleNamespace(
        slices=lambda _start, _end: [part],
        partitions=lambda slices: [("of", *slices)],
        summary=lambda _end: NO_END,
    )
    names: list[str] = []

    def write_parts(folder: Path, name: str, slices: Any, config: ConnectorConfig) -> list[Part]:
        names.append(name)
        return [PART]

    monkeypatch.setattr(parts_source, "write_parts", write_parts)
    monkeypatch.setattr(ReplicaPartsReader, "session", lambda _self: session)
    # What a run before this one noted of the micro-batch, which it did not finish.
    describe(state, 3, [PART, PART])
    reader = ReplicaPartsReader(parse_configuration(OPTIONS), state, checkpoint, sync=False)
    partitions = reader.plan({"n": 0}, {"n": 1})
    if size is None:
        assert (partitions, described(state, 3), names) == ([("of", part)], None, [])
    else:
        assert (partitions, described(state, 3)) == ([], [PART])
        assert names[0].startswith("3-source-")


def test_converters_of_the_configuration_are_left_out_and_lost_values_are_errors() -> None:
    options = pack(
        OPTIONS | {"value.converter": "avro", "value.converter.schema.registry.url": "x"}
    )
    part_options = {FOLDER: "f", CHECKPOINT: "c", SYNC: "false", **OVERRIDES}
    source = ReplicaPartsSource({**options, **part_options})
    config = source._sink_reader().config
    assert str(config.converter("value")) == "json"
    assert str(config.event_converting_failure_handling_mode) == "fail"


def test_no_kernels_that_make_texts_of_events_are_needed() -> None:
    config = parse_configuration(OPTIONS | {"value.converter": "avro",
                                 "value.converter.schema.registry.url": "http://r"})  # fmt: skip
    of_events = set(query_kernels(config))
    of_changes = set(query_kernels(config, converts=False))
    assert of_changes < of_events
    assert not any(".interpreter" in module or ".emit" in module for module in of_changes)
    assert {"headrace.connect.evaluation.gathering", "headrace.converters.kernels.prints"} <= (
        of_changes
    )


@pytest.mark.spark
@pytest.mark.postgres
@pytest.mark.parametrize("direct", ["0", pytest.param("1000000", marks=pytest.mark.chaos)])
def test_a_query_gets_the_parts_of_a_snapshot_and_of_the_log(
    spark: SparkSession, database: Database, tmp_path: Path, direct: str
) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY, name text)")
    database.execute("INSERT INTO t SELECT i, 'n' || i FROM generate_series(1, 50) i")
    checkpoint, state = tmp_path / "checkpoint", tmp_path / "iceberg"
    written, of_source = WrittenParts(state), []

    def take(frame: DataFrame, batch: int) -> None:
        of_tasks = of_rows(frame.toArrow().to_batches())
        noted = described(state, batch)
        of_source.append(noted is not None)
        assert not (noted and of_tasks)
        written.parts += noted or of_tasks

    def run() -> None:
        part_options = {FOLDER: str(state), SYNC: "false"} | source_options(
            checkpoint, AVAILABLE_NOW
        )
        part_options |= {CHECKPOINT: str(checkpoint), **OVERRIDES}
        options = pack(properties(database, headrace__range__direct__max__bytes=direct))
        spark.dataSource.register(ReplicaPartsSource)
        stream = (
            spark.readStream.format("headrace_replica_parts")
            .options(**part_options, **options)
            .load()
        )
        writer = stream.writeStream.foreachBatch(take).option("checkpointLocation", str(checkpoint))
        start(writer, AVAILABLE_NOW).awaitTermination()

    run()
    assert sorted(row["id"] for row in written.changes(".t")) == list(range(1, 51))
    database.execute("UPDATE t SET name = 'x' WHERE id < 3")
    written.parts.clear()
    run()
    changes = written.changes(".t")
    assert [(row["id"], row["name"]) for row in changes] == [(1, "x"), (2, "x")]
    assert of_source[-1] == (direct != "0")
