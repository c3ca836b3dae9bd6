"""Transforms over DataFrames, in a real Spark: batch, streams, and Kafka."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headrace import transforms
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.servers.kafka import KafkaServer

pytestmark = pytest.mark.spark
GUIDE = Path(__file__).parents[3] / "docs/guides/dataframes.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
KEY = {
    "type": "struct", "optional": False, "name": "s.customers.Key",
    "fields": [{"type": "int32", "optional": False, "field": "id"}],
}  # fmt: skip
ROW = {
    "type": "struct", "optional": True, "name": "s.customers.Value",
    "fields": [*KEY["fields"], {"type": "string", "optional": True, "field": "name"}],
}  # fmt: skip
ENVELOPE = {
    "type": "struct", "optional": False, "name": "s.customers.Envelope",
    "fields": [
        {**ROW, "field": "before"}, {**ROW, "field": "after"},
        {"type": "string", "optional": False, "field": "op"},
    ],
}  # fmt: skip
UNWRAP = {"transforms": "unwrap", "transforms.unwrap.type": "ExtractNewRecordState"}
TEXTS = {"header.converter": "string"}


def text(schema: Mapping[str, object], payload: object) -> str:
    return json.dumps({"schema": schema, "payload": payload}, separators=(",", ":"))


def event(number: int, name: str, op: str = "c") -> tuple[str, str]:
    row = {"id": number, "name": name}
    before, after = (row, None) if op == "d" else (None, row)
    payload = {"before": before, "after": after, "op": op}
    return text(KEY, {"id": number}), text(ENVELOPE, payload)


def payloads(rows: list[Any]) -> list[Any]:
    return [None if row.value is None else json.loads(row.value)["payload"] for row in rows]


def test_a_batch_is_unwrapped_in_order_and_other_columns_stay(spark: SparkSession) -> None:
    records = [
        (n, bytearray(key.encode()), bytearray(value.encode()), n % 3)
        for n in range(500)
        for key, value in [event(n, f"name {n}")]
    ]
    df = spark.createDataFrame(records, "offset long, key binary, value binary, partition int")
    rows = transforms.apply(df.coalesce(1), UNWRAP | TEXTS | {"headrace.input.topic": "t"})
    assert rows.columns == [
        "topic", "partition", "key", "value", "headers", "timestamp", "offset",
    ]  # fmt: skip
    assert [field.dataType.simpleString() for field in rows.schema][2:4] == ["binary", "binary"]
    collected = rows.collect()
    assert [row.offset for row in collected] == list(range(500))
    assert payloads(collected) == [{"id": n, "name": f"name {n}"} for n in range(500)]
    assert {row.topic for row in collected} == {"t"}
    assert [row.partition for row in collected[:4]] == [0, 1, 2, 0]
    schema = json.loads(collected[0].value)["schema"]
    assert schema["name"] == "s.customers.Value"


def test_a_file_stream_is_transformed_as_a_batch_is(spark: SparkSession, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    rows = [("s.customers", *event(n, "x", "d" if n == 2 else "c")) for n in range(4)]
    schema = "topic string, key string, value string"
    spark.createDataFrame(rows, schema).coalesce(1).write.parquet(str(inbox))
    stream = transforms.apply(spark.readStream.schema(schema).parquet(str(inbox)), UNWRAP | TEXTS)
    assert stream.isStreaming
    out = collected(stream, tmp_path)
    ids = [json.loads(row.key)["payload"]["id"] for row in out]
    ids_and_nulls = sorted(zip(ids, (payload is None for payload in payloads(out)), strict=True))
    assert ids_and_nulls == [(0, False), (1, False), (2, True), (3, False)]


def collected(stream: DataFrame, folder: Path) -> list[Any]:
    """The present content of a stream."""
    query = (
        stream.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return stream.sparkSession.read.parquet(str(folder / "out")).collect()


def test_the_guides_examples_run(spark: SparkSession) -> None:
    namespace: dict[str, Any] = {"spark": spark}
    assert len(BLOCKS) == 5
    for number, block in enumerate(BLOCKS):
        if "broker" not in block:
            exec(compile(block, f"{GUIDE.name}, block {number}", "exec"), namespace)


def test_events_of_a_kafka_topic_go_through_the_chain_of_the_guide(
    kafka_spark: SparkSession, kafka: KafkaServer, tmp_path: Path
) -> None:
    kafka.create_topic("s.customers")
    deleted = event(3, "c", "d")
    kafka.send("s.customers", event(1, "a"), event(2, "b"), deleted, (deleted[0], None))
    (block,) = [block for block in BLOCKS if "broker" in block]
    namespace = {"spark": kafka_spark, "broker": kafka.address, "transforms": transforms}
    exec(compile(block, GUIDE.name, "exec"), namespace)
    rows = sorted(collected(namespace["unwrapped"], tmp_path), key=lambda row: row.offset)
    assert [row.topic for row in rows] == ["s.customers"] * len(rows)
    assert payloads(rows) == [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
    assert all(row.timestamp is not None for row in rows)


def test_all_that_is_wrong_with_the_properties_is_reported_at_once(spark: SparkSession) -> None:
    df = spark.createDataFrame([("k", "v")], "key string, value string")
    with pytest.raises(HeadraceError) as raised:
        transforms.apply(
            df,
            {
                "transforms": "a,b",
                "transforms.a.type": "NoSuch",
                "transforms.b.type": "RegexRouter",
                "transforms.b.regex": "(",
                "value.converter": "avro",
                "headrace.input.value.converter": "cloudevents",
                "errors.tolerance": "some",
                "key.convertor": "json",
            },
        )
    for name in (
        "transforms.a.type", "transforms.b.", "value.converter.schema.registry.url",
        "headrace.input.value.converter", "errors.tolerance", "key.convertor",
    ):  # fmt: skip
        assert name in raised.value.message, name


def test_a_connectors_file_may_be_given_whole(spark: SparkSession) -> None:
    df = spark.createDataFrame([("1", '"x"')], "key string, value string")
    rows = transforms.apply(
        df,
        {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "database.hostname": "h", "topic.prefix": "p",
            "key.converter.schemas.enable": "false", "value.converter.schemas.enable": "false",
        },
    )  # fmt: skip
    assert [(row.key, row.value) for row in rows.collect()] == [("1", '"x"')]


def test_columns_of_other_types_are_refused_by_name(spark: SparkSession) -> None:
    df = spark.createDataFrame([(1, "v", "x")], "key int, value string, headers string")
    with pytest.raises(HeadraceError, match="key is a int; headers is a string"):
        transforms.apply(df, UNWRAP)


def test_without_tolerance_a_failed_record_ends_the_query_and_names_what_it_was(
    spark: SparkSession,
) -> None:
    df = spark.createDataFrame([("t", "1", "{}")], "topic string, key string, value string")
    rows = transforms.apply(df, {"key.converter.schemas.enable": "false"})
    with pytest.raises(Exception) as raised:  # noqa: PT011 - of Spark, around ours
        rows.collect()
    error = HeadraceError.find_in(str(raised.value))
    assert error is not None
    assert error.code == "reading.no_schema"
    assert "the value of a record of t is JSON without a schema" in error.message
    assert "value.converter.schemas.enable=false" in error.remedy
