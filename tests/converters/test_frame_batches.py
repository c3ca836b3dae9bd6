"""Batches of a DataFrame in one process, without Spark."""

from __future__ import annotations

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
    made = [row for part in run_frame(PROPERTIES, OUTPUT, [batch]) for row in part.to_pylist()]
    time = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert [(row["topic"], row["value"], row["timestamp"]) for row in made] == [
        ("t", '{"a":2}', time),
        ("letters", "{", time),
        ("letters", '{"a":3}', None),
    ]
