"""A collection of MongoDB, its documents brought to a declared or a sampled schema, as parquet
files and as a table."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from bson import Decimal128, Int64, ObjectId

import headrace
from headrace.errors import HeadraceError
from tests.servers.mongodb import MongoDatabase

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.mongodb, pytest.mark.spark]
SCHEMA = (
    "_id STRING, number BIGINT, total DECIMAL(10,2), placed TIMESTAMP, flag BOOLEAN, ratio DOUBLE, "
    "note STRING, raw BINARY, address STRUCT<city: STRING, zip: INT>, "
    "lines ARRAY<STRUCT<sku: STRING, count: INT>>, tags MAP<STRING, STRING>"
)
TYPE = "io.debezium.connector.mongodb.transforms.ExtractNewDocumentState"
UNWRAP = {"transforms": "unwrap", "transforms.unwrap.type": TYPE}
TARGET = "transforms.unwrap.target.schema"


def stored_document(number: int) -> dict[str, Any]:
    return {
        "number": Int64(number),
        "total": Decimal128(f"{number}.5"),
        "placed": datetime(2026, 1, 2, 3, 4, number, 678000, UTC),
        "flag": number % 2 == 0,
        "ratio": number / 4,
        "note": f"é {number}",
        "raw": bytes([number, 255]),
        "address": {"city": "Łódź", "zip": number},
        "lines": [{"sku": f"s{number}", "count": 1}, {"sku": "other", "count": number}],
        "tags": {"a": "b"},
    }


def filled(database: MongoDatabase) -> dict[str, str]:
    orders = database.collections["orders"]
    orders.insert_many(stored_document(number) for number in range(5))
    database.collections["others"].insert_one({"x": 1})
    return database.properties() | {"collection.include.list": f"{database.name}.orders"}


def change(database: MongoDatabase) -> None:
    orders = database.collections["orders"]
    first, second, third, *_ = [each["_id"] for each in orders.find().sort("number")]
    orders.update_one({"_id": first}, {"$set": {"total": Decimal128("-7"), "address.zip": 9}})
    orders.update_one({"_id": third}, {"$unset": {"note": 1}, "$set": {"lines": []}})
    orders.delete_one({"_id": second})
    orders.insert_one({"_id": ObjectId(), "number": 77, "flag": None})


def written(spark: SparkSession, properties: dict[str, str], folder: Path) -> DataFrame:
    """The present content of the stream, in a table of parquet files."""
    headrace.register(spark)
    checkpoint = str(folder / "checkpoint")
    options = headrace.options(properties, headrace_checkpoint_dir=checkpoint)
    reader = spark.readStream.format("headrace").options(**options)
    writer = reader.load().writeStream.format("parquet").trigger(availableNow=True)
    writer = writer.option("path", str(folder / "events"))
    query = writer.option("checkpointLocation", checkpoint).start()
    assert query.awaitTermination(300)
    return spark.read.parquet(str(folder / "events"))


def plain(value: Any) -> Any:
    """Values of the driver and of Spark alike."""
    match value:
        case ObjectId():
            return str(value)
        case Decimal128():
            return value.to_decimal()
        case datetime():
            return value.astimezone(UTC)
        case bytearray():
            return bytes(value)
        case dict():
            return {name: plain(inner) for name, inner in value.items()}
        case list():
            return [plain(each) for each in value]
    return value


def collection(database: MongoDatabase) -> dict[str, Any]:
    names = [part.split()[0] for part in SCHEMA.replace("<", " ").split(", ")]
    top = [name for name in names if name not in ("zip:", "count:", "STRING>")]
    stored = database.collections["orders"].find()
    return {str(each["_id"]): {name: plain(each.get(name)) for name in top} for each in stored}


def last_rows(frame: DataFrame) -> dict[str, Any]:
    """The last row of each key; of deletes none."""
    rows: dict[str, Any] = {}
    for event in frame.orderBy("sequence").collect():
        row = None if event.value is None else plain(event.value.asDict(recursive=True))
        rows[event.key.id] = row
    return {key: row for key, row in rows.items() if row is not None}


@pytest.mark.parametrize("schema", [SCHEMA, "sampled"], ids=["declared", "sampled"])
def test_parquet_files_of_a_target_schema_are_the_collection(
    spark: SparkSession, mongo_database: MongoDatabase, tmp_path: Path, schema: str
) -> None:
    properties = filled(mongo_database) | UNWRAP | {TARGET: schema}
    properties |= {"key.converter": "row", "value.converter": "row"}
    query_options = headrace.options(properties)
    properties = json.loads(query_options["headrace.config"])
    written(spark, properties, tmp_path)
    change(mongo_database)
    rows = last_rows(written(spark, properties, tmp_path))
    expected = collection(mongo_database)
    if schema == "sampled":
        assert "tags STRUCT<a: STRING>" in properties[TARGET]
        assert "total DECIMAL(38,1)" in properties[TARGET]
    assert rows == expected
    assert isinstance(next(iter(rows.values()))["total"], Decimal)


@pytest.mark.parametrize("converter", ["json", "variant"])
def test_records_of_other_converters_have_the_target_schema(
    spark: SparkSession, mongo_database: MongoDatabase, tmp_path: Path, converter: str
) -> None:
    properties = filled(mongo_database) | UNWRAP | {TARGET: SCHEMA, "value.converter": converter}
    events = written(spark, properties, tmp_path)
    if converter == "variant":
        texts = [row.text for row in events.selectExpr("to_json(value) AS text").collect()]
        numbers = sorted(json.loads(text)["number"] for text in texts)
    else:
        records = [json.loads(row.value) for row in events.collect()]
        assert len({json.dumps(record["schema"]) for record in records}) == 1
        numbers = sorted(record["payload"]["number"] for record in records)
    assert numbers == [0, 1, 2, 3, 4]


def test_the_collection_is_asked_for_the_columns_of_a_table(
    spark: SparkSession, mongo_database: MongoDatabase, tmp_path: Path
) -> None:
    properties = filled(mongo_database)
    written(spark, properties, tmp_path)
    change(mongo_database)
    events = written(spark, properties, tmp_path)
    changes = headrace.table(events, f"{mongo_database.name}.orders", properties)
    folded = headrace.fold(changes).where("NOT __deleted")
    table_rows = {
        row["_id"]: {
            name: value
            for name, value in plain(row.asDict(recursive=True)).items()
            if name not in ("id", "__deleted", "__kept")
        }
        for row in folded.collect()
    }
    assert table_rows == collection(mongo_database)


def test_a_field_that_the_sample_lacks_ends_the_query_or_is_kept(
    spark: SparkSession, mongo_database: MongoDatabase, tmp_path: Path
) -> None:
    properties = filled(mongo_database)
    events = written(spark, properties, tmp_path)
    values = events.selectExpr("topic", "key", "replace(value, 'flag', 'newer') AS value")
    name = f"{mongo_database.name}.orders"
    with pytest.raises(Exception, match="the schema has no field newer"):
        headrace.table(values, name, properties).collect()
    kept_table = headrace.table(values, name, properties, conflict="rest")
    rests = kept_table.selectExpr("to_json(after.__rest) AS rest").collect()
    assert sorted(row.rest for row in rests) == ['{"newer":false}'] * 2 + ['{"newer":true}'] * 3


def test_a_schema_is_sampled_of_one_collection(mongo_database: MongoDatabase) -> None:
    properties = filled(mongo_database) | UNWRAP | {TARGET: "sampled"}
    del properties["collection.include.list"]
    with pytest.raises(HeadraceError, match=r"transforms\.unwrap\.target\.schema=sampled.*orders"):
        headrace.options(properties)


def test_types_in_conflict_are_texts_or_refused_at_the_start(
    mongo_database: MongoDatabase,
) -> None:
    properties = filled(mongo_database) | UNWRAP | {TARGET: "sampled"}
    mongo_database.collections["orders"].insert_one({"number": "a text"})
    query_options = json.loads(headrace.options(properties)["headrace.config"])
    assert "number STRING" in query_options[TARGET]
    assert query_options["transforms.unwrap.target.schema.unknown"] == "fail"
    with pytest.raises(HeadraceError, match=r"orders: the values of number") as raised:
        headrace.options(properties | {"target.schema.sample.conflict": "fail"})
    assert raised.value.code == "documents.types_in_conflict"
