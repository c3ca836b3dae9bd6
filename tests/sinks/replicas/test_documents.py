"""Documents of MongoDB as columns of replicas: end to end, in both formats."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from bson import Decimal128, Int64
from pyspark.sql import SparkSession

from headrace.config.formats import read_mapping
from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError
from headrace.spark.sinks.registry import find_sink
from tests.servers.mongodb import MongoDatabase
from tests.sinks.lake.readers import IN_TURN, LAKES
from tests.sinks.replicas.replication import Replication

pytestmark = [pytest.mark.mongodb, pytest.mark.spark]
SCHEMA = (
    "_id BIGINT, name STRING, total DECIMAL(10,2), placed TIMESTAMP, flag BOOLEAN, raw BINARY, "
    "address STRUCT<city: STRING, zip: INT>, lines ARRAY<STRUCT<sku: STRING, count: INT>>, "
    "tags MAP<STRING, DOUBLE>"
)
_DECLARED = "headrace.sink.target.schema.*.orders"


def order(number: int) -> dict[str, Any]:
    return {
        "_id": Int64(number),
        "name": f"é {number}",
        "total": Decimal128(f"{number}.5"),
        "placed": datetime(2026, 1, 2, 3, 4, number, 678000, UTC),
        "flag": number % 2 == 0,
        "raw": bytes([number, 255]),
        "address": {"city": "Łódź", "zip": number},
        "lines": [{"sku": f"s{number}", "count": 1}, {"sku": "other"}],
        "tags": {"a": number / 4},
    }


def plain(value: Any) -> Any:
    """Values of the driver as readers of Arrow give them."""
    match value:
        case Decimal128():
            return value.to_decimal()
        case datetime():
            return value.replace(tzinfo=UTC)
        case dict():
            return {name: plain(inner) for name, inner in value.items()}
        case list():
            return [plain(each) for each in value]
    return value


def stored(replication: Replication, database: MongoDatabase) -> list[dict[str, Any]]:
    """The collection as readers of its replica should show it. PyIceberg 0.12 shows a null array of
    structs as an empty one, which its file has as null."""
    nothing = [] if replication.lake.name == "iceberg" else None
    names = ["_id", "name", "total", "placed", "flag", "raw", "address", "lines", "tags"]
    rows = []
    for document in database.collections["orders"].find().sort("_id"):
        row: dict[str, Any] = {name: plain(document.get(name)) for name in names}
        if row["lines"] is None:
            row["lines"] = nothing
        else:
            row["lines"] = [{"sku": None, "count": None} | each for each in row["lines"]]
        rows.append(row)
    return rows


def found(replication: Replication, database: MongoDatabase) -> list[dict[str, Any]]:
    rows = replication.lake.rows(database.name, "orders")
    for row in rows:
        row["tags"] = row["tags"] if row["tags"] is None else dict(row["tags"])
    return sorted(rows, key=lambda row: row["_id"])


def replication_of(
    name: str, spark: SparkSession, database: MongoDatabase, folder: Path
) -> Replication:
    return Replication(spark, database, LAKES[name](folder / "lake"), folder / "state")


@pytest.mark.parametrize("name", IN_TURN)
def test_documents_of_a_target_schema_are_rows_of_typed_columns_through_all_changes(
    name: str, spark: SparkSession, mongo_database: MongoDatabase, tmp_path: Path
) -> None:
    orders = mongo_database.collections["orders"]
    orders.insert_many(order(number) for number in range(1, 6))
    replication = replication_of(name, spark, mongo_database, tmp_path)
    source = {_DECLARED: SCHEMA}
    replication.run(source)
    assert found(replication, mongo_database) == stored(replication, mongo_database)
    assert len(stored(replication, mongo_database)) == 5

    orders.update_one({"_id": 1}, {"$set": {"total": Decimal128("-7"), "address.zip": 9}})
    orders.update_one({"_id": 3}, {"$unset": {"name": 1}, "$set": {"lines": [], "tags": {}}})
    orders.delete_one({"_id": 2})
    orders.insert_one({"_id": Int64(77), "flag": None, "undeclared": 1})
    replication.run(source)
    assert found(replication, mongo_database) == stored(replication, mongo_database)
    assert replication.stopped == []


@pytest.mark.parametrize("name", IN_TURN)
def test_updates_without_documents_keep_the_fields_that_they_do_not_tell(
    name: str, spark: SparkSession, mongo_database: MongoDatabase, tmp_path: Path
) -> None:
    orders = mongo_database.collections["orders"]
    orders.insert_many(order(number) for number in range(1, 6))
    replication = replication_of(name, spark, mongo_database, tmp_path)
    source = {_DECLARED: SCHEMA, "capture.mode": "change_streams"}
    replication.run(source)

    orders.update_one({"_id": 1}, {"$set": {"total": Decimal128("-7")}})
    orders.update_one({"_id": 2}, {"$set": {"lines": [{"sku": "new"}]}, "$unset": {"name": 1}})
    orders.update_one({"_id": 2}, {"$set": {"flag": None}})
    orders.update_one({"_id": 3}, {"$set": {"address": {"zip": 1}}})
    orders.delete_one({"_id": 3})
    replication.run(source)
    assert found(replication, mongo_database) == stored(replication, mongo_database)
    assert replication.stopped == []


@pytest.mark.parametrize(
    "declared", [{}, {_DECLARED: SCHEMA}, {"headrace.sink.promoted.keys.*": "name STRING"}]
)
def test_updates_without_documents_are_refused_before_anything_is_written_where_texts_are_columns(
    spark: SparkSession,
    mongo_database: MongoDatabase,
    tmp_path: Path,
    declared: Mapping[str, str],
) -> None:
    mongo_database.collections["orders"].insert_one(order(1))
    mongo_database.collections["texts"].insert_one({"_id": 1})
    replication = replication_of("iceberg", spark, mongo_database, tmp_path)
    source = {**declared, "capture.mode": "change_streams"}
    sink = {**replication.lake.properties(), "skipped.operations": "none"}
    config = parse_configuration(read_mapping({**mongo_database.properties(), **sink, **source}))
    (refused,) = [
        finding
        for finding in find_sink("iceberg").check(config)
        if finding.code == "replicas.no_document"
    ]
    with pytest.raises(HeadraceError) as error:
        replication.run(source)
    assert (error.value.code, error.value.message) == (refused.code, refused.message)
    assert "capture.mode=change_streams " in error.value.message
    assert ("texts" in error.value.message) == (_DECLARED in declared)
    assert "capture.mode=change_streams_update_full" in error.value.remedy
    assert "headrace.sink.target.schema.DATABASE.COLLECTION" in error.value.remedy
    assert list(tmp_path.rglob("*.metadata.json")) == []

    replication.run({**declared, "capture.mode": "change_streams_update_full"})
    assert replication.lake.has(mongo_database.name, "texts")


@pytest.mark.parametrize("name", IN_TURN)
def test_a_value_that_is_not_of_the_schema_stops_its_table_and_others_continue(
    name: str, spark: SparkSession, mongo_database: MongoDatabase, tmp_path: Path
) -> None:
    orders, others = (mongo_database.collections[each] for each in ("orders", "others"))
    orders.insert_many([order(1), order(2)])
    others.insert_one({"_id": 1, "kind": "x", "more": [1]})
    replication = replication_of(name, spark, mongo_database, tmp_path)
    source = {_DECLARED: SCHEMA, "headrace.sink.promoted.keys.*.others": "_id INT, kind STRING"}
    replication.run(source)
    before = found(replication, mongo_database)
    assert before == stored(replication, mongo_database)

    orders.update_one({"_id": 1}, {"$set": {"total": "a lot"}})
    others.update_one({"_id": 1}, {"$set": {"kind": "y"}})
    replication.run(source)
    assert found(replication, mongo_database) == before
    assert replication.stopped == [f"{mongo_database.name}.orders"]
    assert replication.lake.rows(mongo_database.name, "others") == [
        {"_id": 1, "document": '{"_id": 1,"kind": "y","more": [1]}', "kind": "y"}
    ]


DECLARATIONS = [
    # A key of another form, which the same text could be.
    ({}, {_DECLARED: "_id STRING, name STRING"}, "replicas.key_changed"),
    ({_DECLARED: "_id STRING"}, {_DECLARED: "_id VARIANT"}, "replicas.key_changed"),
    # A field whose value in older rows nothing says, and one that is no other one's new name.
    (
        {_DECLARED: "_id STRING, name STRING"},
        {_DECLARED: "_id STRING, name STRING, total INT"},
        "replicas.default_unknown",
    ),
    (
        {_DECLARED: "_id STRING, total INT, name STRING"},
        {_DECLARED: "_id STRING, number INT, name STRING"},
        "replicas.default_unknown",
    ),
    # Texts of VARIANT are others than those of STRING.
    (
        {_DECLARED: "_id STRING, name VARIANT"},
        {_DECLARED: "_id STRING, name STRING"},
        "replicas.default_unknown",
    ),
    (
        {_DECLARED: "_id STRING, total INT"},
        {_DECLARED: "_id STRING, total STRING"},
        "replicas.column_not_taken",
    ),
    ({_DECLARED: "_id STRING, total INT"}, {_DECLARED: "_id STRING, total BIGINT"}, None),
    (
        {_DECLARED: "_id STRING, total INT, name STRING"},
        {_DECLARED: "_id STRING, name STRING"},
        None,
    ),
]


@pytest.mark.parametrize(("first", "second", "code"), DECLARATIONS)
def test_another_declaration_never_mixes_values_of_two_columns(
    spark: SparkSession,
    mongo_database: MongoDatabase,
    tmp_path: Path,
    first: Mapping[str, str],
    second: Mapping[str, str],
    code: str | None,
) -> None:
    orders = mongo_database.collections["orders"]
    orders.insert_one({"_id": "k", "name": "Ana", "total": 1, "number": 2})
    replication = replication_of("iceberg", spark, mongo_database, tmp_path)
    replication.run(first)
    orders.update_one({"_id": "k"}, {"$set": {"total": 5}})
    if code is None:
        replication.run(second)
        assert replication.stopped == []
        (row,) = replication.lake.rows(mongo_database.name, "orders")
        assert row["_id"] == "k"
        assert row.get("total", 5) == 5
        return
    with pytest.raises(HeadraceError) as error:
        replication.run(second, errors="fail")
    assert error.value.code == code
    assert "headrace resync" in error.value.remedy
