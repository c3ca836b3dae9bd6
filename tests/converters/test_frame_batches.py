"""Batches of a DataFrame in one process, without Spark."""

from __future__ import annotations

import json
import tracemalloc
from datetime import UTC, datetime

import pyarrow as pa

from headrace.spark.frames.task import run_frame

PROPERTIES = {
    "key.converter": "string",
    "value.converter": "json",
    "value.converter.schemas.enable": "false",
    "headrace.input.topic": "t",
    "errors.tolerance": "all",
    "errors.deadletterqueue.topic.name": "letters",
}
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
OUTPUT = pa.schema(
    [
        ("topic", pa.string()), ("partition", pa.int32()), ("key", pa.string()),
        ("value", pa.string()), ("headers", HEADERS), ("timestamp", pa.timestamp("us", "UTC")),
    ]
)  # fmt: skip


def test_a_number_that_is_no_timestamp_is_a_dead_letter_and_others_keep_theirs() -> None:
    batch = pa.record_batch(
        {
            "key": pa.array(["k"] * 3),
            "value": pa.array(["{", '{"a":2}', '{"a":3}']),
            "timestamp": pa.array([1_700_000_000_000, 1_700_000_000_000, 1 << 62], pa.int64()),
        }
    )
    rows = [row for part in run_frame(PROPERTIES, OUTPUT, [batch]) for row in part.to_pylist()]
    time = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert [(row["topic"], row["value"], row["timestamp"]) for row in rows] == [
        ("t", '{"a":2}', time),
        ("letters", "{", time),
        ("letters", '{"a":3}', None),
    ]


def test_headers_need_memory_for_themselves_and_not_for_their_record() -> None:
    names = [f"h{number}" for number in range(500)]
    batch = pa.record_batch(
        {
            "key": pa.array(["k"]),
            "value": pa.array([json.dumps({"a": "x" * 400_000})]),
            "headers": pa.array([[{"key": name, "value": b"1"} for name in names]], HEADERS),
        }
    )
    properties = PROPERTIES | {"header.converter.schemas.enable": "false"}
    tracemalloc.start()
    try:
        rows = [row for part in run_frame(properties, OUTPUT, [batch]) for row in part.to_pylist()]
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [header["key"] for header in rows[0]["headers"]] == names
    assert {header["value"] for header in rows[0]["headers"]} == {b"1"}
    assert most < 150_000_000
