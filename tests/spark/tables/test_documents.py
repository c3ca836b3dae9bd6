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
    """What the stream has now, in a table of parquet files."""
    headrace.register(spark)
    reader = spark.readStream.format("headrace").options(**headrace.options(properties))
    writer = reader.load().writeStream.format("parquet").trigger(availableNow=True)
    writer = writer.option("path", str(folder / "events"))
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).start()
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


@pytest.mark.parametrize("converter", ["json", "variant", "row"])
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
    found = [
        (each._id, each.total, [line.sku for line in each.lines or []]) for each in folded.collect()
    ]
    expected = [row(each) for each in mongo_database.collections["orders"].find()]
    assert sorted(found) == sorted(expected)


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
