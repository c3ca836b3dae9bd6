"""The error that ends a query is headrace's own sentence, without what Spark writes around it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

import headrace
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

pytestmark = pytest.mark.spark
RAISED = HeadraceError("spark.raised", "one thing [of two] == SQL == is wrong", "Do this; or that.")
OTHER = HeadraceError("spark.other", "what the plan has as well", "Nor that.")
SCHEMA = (
    "key struct<id: int>, op string, before struct<id: int>, after struct<id: int>, sequence string"
)


def failing(error: HeadraceError, condition: Column) -> Column:
    return F.when(condition, F.raise_error(F.lit(str(error))).cast("string"))


def columns(frame: DataFrame) -> DataFrame:
    """One column whose values are the error, and others that could be another one."""
    first, last = (failing(OTHER, F.col("id") > place).alias(f"c{place}") for place in (100, 200))
    return frame.select(first, failing(RAISED, F.col("id") >= 0).alias("c"), last)


def test_a_batch(spark: SparkSession) -> None:
    with pytest.raises(PySparkException) as raised:
        columns(spark.range(3)).collect()
    assert str(HeadraceError.find_in(str(raised.value))) == str(RAISED)


def raises(frame: DataFrame, number: int) -> None:
    raise RAISED


def collects(frame: DataFrame, number: int) -> None:
    columns(frame).collect()


def folds(frame: DataFrame, number: int) -> None:
    changes = [((1,), "t", None, (1,), "5")]
    headrace.fold(frame.sparkSession.createDataFrame(changes, SCHEMA)).collect()


@pytest.mark.parametrize("function", [None, raises, collects, folds])
def test_a_stream(
    spark: SparkSession,
    tmp_path: Path,
    function: Callable[[DataFrame, int], None] | None,
) -> None:
    files = str(tmp_path / "files")
    spark.range(3).write.parquet(files)
    stream = spark.readStream.schema("id long").parquet(files)
    writer = stream.writeStream if function else columns(stream).writeStream
    writer = writer.foreachBatch(function) if function else writer.format("noop")
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    with pytest.raises(PySparkException):
        query.awaitTermination()
    error = headrace.error(query)
    assert error is not None
    if function is folds:
        assert error.message == "headrace.fold: a TRUNCATE is among the changes, and it has no key"
        assert error.remedy.endswith("fold what comes after it.")
    else:
        assert str(error) == str(RAISED)
