"""A column that events gained after the query asked for the table's columns is not lost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

import headrace
from headrace.errors import HeadraceError
from tests.servers.postgresql import Database

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.postgres, pytest.mark.spark]


def events(spark: SparkSession, form: str, *rows: dict[str, Any]) -> DataFrame:
    """Creations of these rows, as the converters write them."""
    values = []
    for row in rows:
        value: dict[str, Any] = {"op": "c", "before": None, "after": row, "source": {}}
        if form == "with schema":
            value = {"schema": {"type": "struct"}, "payload": value}
        values.append(("headrace.public.t", '{"id": 1}', json.dumps(value)))
    values.append(("headrace.public.t", '{"id": 1}', None))  # a tombstone
    frame = spark.createDataFrame(values, "topic string, key string, value string")
    if form == "binary":
        return frame.withColumn("value", frame.value.cast("binary"))
    return (
        frame.selectExpr("topic", "key", "parse_json(value) value") if form == "variant" else frame
    )


@pytest.mark.parametrize(
    "form",
    [
        "plain",
        "variant",
        *(pytest.param(n, marks=pytest.mark.chaos) for n in ("with schema", "binary")),
    ],
)
def test_a_column_that_the_query_does_not_know_ends_it_or_is_left_out(
    spark: SparkSession, database: Database, form: str
) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY, note text)")
    properties = database.properties(table_include_list="public.t")
    known = events(spark, form, {"id": 1, "note": "a"}, {"id": 2})
    gained = events(spark, form, {"id": 1, "note": "a", "added": 7, "mail": "x"})

    def notes(frame: DataFrame, **more: str) -> list[Any]:
        table = headrace.table(frame, "public.t", properties | more)
        return [row.note for row in table.where("op = 'c'").select("after.note").collect()]

    assert notes(known) == ["a", None]
    with pytest.raises(PySparkException) as caught:
        notes(gained)
    error = HeadraceError.find_in(str(caught.value))
    assert error is not None
    assert error.code == "spark.unknown_columns"
    assert error.message.endswith("the query started: added, mail")
    assert error.remedy.startswith("Start the query again")
    assert notes(gained, **{"headrace.table.unknown.columns": "drop"}) == ["a"]
    declared = headrace.table(gained, "public.t", "id INT, note STRING").where("op = 'c'")
    assert [row.note for row in declared.select("after.note").collect()] == ["a"]
    database.execute("ALTER TABLE t ADD added int, ADD mail text")
    table = headrace.table(gained, "public.t", properties).where("op = 'c'")
    assert [row.added for row in table.select("after.added").collect()] == [7]
