"""A value that its declared column does not hold is an error that names the column."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

import headrace
from headrace.errors import HeadraceError
from tests.chaos.matrices import in_turn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
COLUMNS = (
    "id INT, flag BOOLEAN, total DECIMAL(10,2), day DATE, raw BINARY, tags ARRAY<INT>, "
    "at STRUCT<x: DOUBLE>, note STRING"
)
FITTING = {
    "id": 1,
    "flag": True,
    "total": "AJY=",
    "day": 3,
    "raw": "AA==",
    "tags": [1],
    "at": {"x": 1.5},
}


def events(spark: SparkSession, form: str, row: dict[str, Any], key: Any = 1) -> DataFrame:
    values: list[Any] = [{"op": "c", "before": None, "after": row, "source": {"lsn": 7}}]
    keys: list[Any] = [{"id": key}]
    if form == "with schema":
        values, keys = [{"schema": {}, "payload": v} for v in values], [{"payload": keys[0]}]
    rows = [("p.s.t", json.dumps(keys[0]), json.dumps(values[0])), ("p.s.t", '{"id": 1}', None)]
    return spark.createDataFrame(rows, "topic string, key string, value string")


def changes(frame: DataFrame) -> DataFrame:
    return headrace.table(frame, "s.t", COLUMNS, key="id")


def failure(frame: DataFrame) -> HeadraceError:
    with pytest.raises(PySparkException) as raised:
        changes(frame).select("key", "op", "after").collect()
    error = HeadraceError.find_in(str(raised.value))
    assert error is not None, str(raised.value)
    return error


@pytest.mark.parametrize(
    ("column", "kind", "value", "form"),
    in_turn(
        [
            ["id", "int", 3_000_000_000],
            ["id", "int", "secret"],
            ["id", "int", 1.5],
            ["flag", "boolean", "secret"],
            ["total", "decimal(10,2)", "secret!"],
            ["day", "date", "secret"],
            ["raw", "binary", "secret!"],
            ["tags", "array<int>", ["secret"]],
            ["at.x", "double", {"x": "secret"}],
        ],
        ["plain", "with schema"],
    ),
)
def test_the_error_names_the_column_and_its_type_and_not_the_value(
    spark: SparkSession, form: str, column: str, kind: str, value: object
) -> None:
    error = failure(events(spark, form, FITTING | {column.partition(".")[0]: value}))
    assert error.code == "spark.value_does_not_fit"
    assert error.message == (
        f"headrace.table: a value of the column after.{column} does not fit its type {kind}"
    )
    assert error.remedy.startswith("Declare a type that holds all values")
    assert "secret" not in str(error)


@pytest.mark.parametrize("form", ["plain", "with schema"])
def test_a_key_is_named_as_well(spark: SparkSession, form: str) -> None:
    error = failure(events(spark, form, FITTING, key="a"))
    assert "the column key.id does not fit its type int" in error.message


def test_what_is_no_json_object_is_said_so(spark: SparkSession) -> None:
    frame = spark.createDataFrame(
        [("p.s.t", None, "text")], "topic string, key string, value string"
    )
    assert failure(frame).code == "spark.events_not_understood"


@pytest.mark.parametrize("form", ["plain", "with schema"])
def test_what_fits_is_read(spark: SparkSession, form: str) -> None:
    row, tombstone = changes(events(spark, form, FITTING)).collect()
    assert (row.key.id, row.after.id, str(row.after.total)) == (1, 1, "1.50")
    assert (row.after.tags, row.after["at"].x, row.after.note) == ([1], 1.5, None)
    assert (tombstone.op, tombstone.after, tombstone.key.id) == (None, None, 1)
