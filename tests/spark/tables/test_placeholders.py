"""Placeholders of values that a log does not carry, by types: a fold keeps the target's values."""

from __future__ import annotations

import hashlib
import uuid
from typing import TYPE_CHECKING, Any

import pytest

import headrace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLACEHOLDER = "__debezium_unavailable_value"
SIGNED = [*PLACEHOLDER.encode()]
OF_UUIDS = str(uuid.UUID(bytes=hashlib.md5(PLACEHOLDER.encode()).digest(), version=3))


@pytest.mark.spark
@pytest.mark.parametrize(
    ("kind", "lacking", "present"),
    [
        ("string", PLACEHOLDER, "a text"),
        ("string", f'{{"{PLACEHOLDER}":"{PLACEHOLDER}"}}', "{}"),
        ("binary", PLACEHOLDER.encode(), b""),
        ("map<string, string>", {PLACEHOLDER: PLACEHOLDER}, {"a": None}),
        ("array<string>", [PLACEHOLDER], []),
        ("array<string>", [OF_UUIDS], [PLACEHOLDER, "more"]),
        ("array<binary>", [PLACEHOLDER.encode()], [None]),
        ("array<int>", SIGNED, [*SIGNED, 1]),
        ("array<bigint>", SIGNED, [None]),
    ],
)
def test_values_of_each_type_can_be_lacking(
    spark: SparkSession, kind: str, lacking: Any, present: Any
) -> None:
    row = f"struct<id: int, name: string, value: {kind}>"
    schema = f"key struct<id: int>, op string, before {row}, after {row}, sequence string"
    events = [
        ((1,), "u", None, (1, "a", present), "1"),
        ((1,), "u", None, (1, "b", lacking), "2"),
        ((2,), "u", None, (2, "c", lacking), "3"),
        ((3,), "u", None, (3, "d", lacking), "4"),
        ((3,), "u", None, (3, "e", None), "5"),
    ]
    folded = headrace.fold(spark.createDataFrame(events, schema))
    folded_rows = {row.id: (row.name, row.value, row["__kept"]) for row in folded.collect()}
    assert folded_rows[1] == ("b", present, [])
    assert folded_rows[2][2] == ["value"]
    assert folded_rows[3] == ("e", None, [])
    assert len(folded_rows) == 3
