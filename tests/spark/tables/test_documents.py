"""A collection of MongoDB as rows, as VARIANT, and as a table that is kept by folding."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from bson import Decimal128, ObjectId

import headrace
from tests.servers.mongodb import MongoDatabase

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.mongodb, pytest.mark.spark]
FIELDS = "_id STRING, total DECIMAL(10,2), lines ARRAY<STRUCT<sku: STRING>>"


def events(spark: SparkSession, properties: dict[str, str], folder: Path) -> DataFrame:
    """The present content of the stream, in a table of parquet files."""
    headrace.register(spark)
    checkpoint = str(folder / "checkpoint")
    options = headrace.options(properties, headrace_checkpoint_dir=checkpoint)
    reader = spark.readStream.format("headrace").options(**options)
    writer = reader.load().writeStream.format("parquet").trigger(availableNow=True)
    writer = writer.option("path", str(folder / "events"))
    query = writer.option("checkpointLocation", checkpoint).start()
    assert query.awaitTermination(300)
    return spark.read.parquet(str(folder / "events")).orderBy("sequence")


def row(document: dict[str, Any]) -> tuple[Any, ...]:
    total = document.get("total")
    return (
        str(document["_id"]),
        None if total is None else total.to_decimal().quantize(Decimal("0.01")),
        [line["sku"] for line in document.get("lines", [])],
    )


def change(database: MongoDatabase) -> None:
    orders = database.collections["orders"]
    first, second, *_ = [each["_id"] for each in orders.find().sort("number")]
    orders.update_one({"_id": first}, {"$set": {"total": Decimal128("-7")}})
    orders.delete_one({"_id": second})
    orders.insert_one({"_id": ObjectId(), "lines": [{"sku": "new"}]})


def filled(database: MongoDatabase) -> dict[str, str]:
    orders = database.collections["orders"]
    orders.insert_many(
        {"number": n, "total": Decimal128(f"{n}.5"), "lines": [{"sku": f"s{n}"}]} for n in range(3)
    )
    database.collections["others"].insert_one({"x": 1})
    return database.properties()


@pytest.mark.parametrize(
    "converter", ["variant", *(pytest.param(n, marks=pytest.mark.chaos) for n in ("json", "row"))]
)
def test_the_fold_of_a_collections_changes_is_the_collection(
    spark: SparkSession, mongo_database: MongoDatabase, tmp_path: Path, converter: str
) -> None:
    properties = filled(mongo_database) | {
        "collection.include.list": f"{mongo_database.name}.orders",
        "value.converter": converter,
    }
    events(spark, properties, tmp_path)
    change(mongo_database)
    changes = headrace.table(events(spark, properties, tmp_path), "orders", FIELDS, documents=True)
    folded = headrace.fold(changes).where("NOT __deleted")
    folded_documents = [
        (each._id, each.total, [line.sku for line in each.lines or []]) for each in folded.collect()
    ]
    expected = [row(each) for each in mongo_database.collections["orders"].find()]
    assert sorted(folded_documents) == sorted(expected)


def test_rows_of_a_collection_have_its_documents_as_text(
    spark: SparkSession, mongo_database: MongoDatabase, tmp_path: Path
) -> None:
    properties = filled(mongo_database) | {
        "collection.include.list": f"{mongo_database.name}.orders",
        "value.converter": "row",
        "key.converter": "row",
    }
    rows = events(spark, properties, tmp_path).collect()
    assert [each.value.op for each in rows] == ["r", "r", "r"]
    assert {json.loads(each.key.id)["$oid"] for each in rows} == {
        json.loads(each.value.after)["_id"]["$oid"] for each in rows
    }
    assert {each.value.source.collection for each in rows} == {"orders"}


def test_rows_of_several_collections_are_refused_by_the_property(
    spark: SparkSession, mongo_database: MongoDatabase, tmp_path: Path
) -> None:
    properties = filled(mongo_database) | {"value.converter": "row"}
    with pytest.raises(Exception, match=r"collection\.include\.list selects 2"):
        events(spark, properties, tmp_path)


TEXTS = [
    '{"_id": 1, "n": 5, "l": [{"a": 1}], "v": {"x": 1}}',
    '{"_id": {"$numberLong": "4294967296"}, "n": 1.5, "l": [{"a": "x"}], "more": true}',
    None,
]
TYPES = "_id BIGINT, n INT, l ARRAY<STRUCT<a: INT>>, v VARIANT"


def converted(spark: SparkSession, conflict: str, types: str = TYPES) -> DataFrame:
    """The texts as rows of changes."""
    values = [(json.dumps({"op": "c", "after": text}),) for text in TEXTS]
    events = spark.createDataFrame(values, "value string")
    return headrace.table(events, "any", types, documents=True, conflict=conflict)


def test_a_value_that_its_column_cannot_hold_ends_the_query(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="the field n holds a value of type double"):
        converted(spark, "fail").collect()


def test_a_value_that_its_column_cannot_hold_is_null_where_that_is_asked_for(
    spark: SparkSession,
) -> None:
    rows = converted(spark, "null").selectExpr("after.*", "to_json(after.v) AS shown").collect()
    assert [(row._id, row.n, row.l, row.shown) for row in rows] == [
        (1, 5, [(1,)], '{"x":1}'),
        (1 << 32, None, [(None,)], None),
        (None, None, None, None),
    ]


def test_the_rest_of_a_document_is_kept_where_that_is_asked_for(spark: SparkSession) -> None:
    rows = converted(spark, "rest").selectExpr("to_json(after.__rest) AS rest").collect()
    assert [row.rest and json.loads(row.rest) for row in rows] == [
        None,
        {"more": True, "n": 1.5, "l.0.a": "x"},
        None,
    ]


@pytest.mark.parametrize(
    ("conflict", "types", "code"),
    [
        ("other", TYPES, "spark.no_such_policy"),
        ("fail", "a INTERVAL DAY TO SECOND", "documents.schema_not_understood"),
        ("rest", "__rest STRING", "documents.rest_declared"),
    ],
)
def test_what_documents_cannot_be_brought_to_is_refused_before_the_query(
    spark: SparkSession, conflict: str, types: str, code: str
) -> None:
    with pytest.raises(headrace.HeadraceError) as raised:
        converted(spark, conflict, types)
    assert raised.value.code == code
