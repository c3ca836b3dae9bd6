"""Delta Lake for Spark reads tables that the sink wrote, in a session that has headrace, too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from headrace.sinks.delta.format import FORMAT
from headrace.sinks.replicas.lake import Column, ColumnChange, TableName, TableSchema
from tests.sinks.lake.delta.applying import apply
from tests.sinks.lake.delta.test_tables import ALL, every_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.chaos
def test_spark_reads_deletes_and_wider_columns_before_and_after_optimize(
    delta_spark: SparkSession, tmp_path: Path
) -> None:
    lake = FORMAT.open(delta_spark, {"path": str(tmp_path)})
    schema = TableSchema((Column("id", pa.int32()), Column("name", pa.string())), ("id",))
    table = lake.create(TableName((), "orders"), schema, {})
    apply(table, 1, [{"id": i, "name": "old"} for i in range(100)])
    apply(table, 2, [{"id": i, "name": "new"} for i in range(0, 100, 3)], range(1, 100, 7))
    wider = ColumnChange(retyped={"id": pa.int64()}, renamed={"name": "title"})
    apply(table, 3, [{"id": 2**40, "title": "wide"}], [0], change=wider)
    after_batches = dict.fromkeys(range(100), "old") | dict.fromkeys(range(0, 100, 3), "new")
    # Rows that batch 2 both deletes and writes stay; batch 3 deletes the row 0.
    gone = {0, *range(1, 100, 7)} - set(range(3, 100, 3))
    expected = sorted(
        [(i, n) for i, n in after_batches.items() if i not in gone] + [(2**40, "wide")]
    )

    def seen() -> list[tuple[int, str]]:
        frame = delta_spark.read.format("delta").load(f"{tmp_path}/orders")
        return [(row.id, row.title) for row in frame.orderBy("id").collect()]

    assert seen() == expected
    bounded = delta_spark.read.format("delta").load(f"{tmp_path}/orders").where("id > 1000000")
    assert bounded.count() == 1

    delta_spark.sql(f"OPTIMIZE delta.`{tmp_path}/orders`")
    assert seen() == expected
    apply(table, 4, [{"id": 5, "title": "after"}])
    assert (5, "after") in seen()
    assert len(seen()) == len(expected)


def test_spark_reads_every_type(delta_spark: SparkSession, tmp_path: Path) -> None:
    lake = FORMAT.open(delta_spark, {"path": str(tmp_path)})
    table = lake.create(TableName((), "all"), ALL, {})
    rows = [every_type(number) for number in range(1, 8)]
    apply(table, 1, rows, [])
    arrow_table = delta_spark.read.format("delta").load(f"{tmp_path}/all").orderBy("id").toArrow()
    for column in ALL.columns:
        read_values = arrow_table.column(column.name).cast(column.type).to_pylist()
        assert (
            read_values == pa.array([row.get(column.name) for row in rows], column.type).to_pylist()
        )
    only = delta_spark.read.format("delta").load(f"{tmp_path}/all")
    assert only.where("at = timestamp'2024-02-29 23:59:59.999998Z'").count() == 1
    assert only.where("price >= 0.43 and text > 'Zürich'").count() == 1
