"""Replicas when the collections of a MongoDB change: they equal the source, or stop with an error
and are copied again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from bson import ObjectId, json_util
from bson.decimal128 import Decimal128
from bson.int64 import Int64
from pyspark.sql import SparkSession

from tests.servers.mongodb import MongoDatabase
from tests.sinks.lake.readers import LAKES, Row
from tests.sinks.replicas.evolving.following import EvolvingSource, following

pytestmark = [pytest.mark.mongodb, pytest.mark.spark]


class EvolvingMongo(EvolvingSource):
    """See EvolvingSource."""

    marks = "marks"

    def __init__(self, database: MongoDatabase) -> None:
        self.database, self.namespace = database, database.name

    def properties(self) -> Mapping[str, str]:
        return self.database.properties()

    def mark(self, number: int) -> None:
        self.database.collections.marks.insert_one({"_id": number})

    def marked(self, row: Row) -> int:
        return int(row["_id"])

    def full_name(self, table: str) -> str:
        return f"{self.namespace}.{table}"

    def rows(self, table: str) -> list[Row]:
        return list(self.database.collections[table].find())

    def shown(self, row: Row) -> Row:
        document: Row = json_util.loads(row["document"])
        assert json_util.loads(row["_id"]) == document["_id"]
        return document


@pytest.mark.parametrize("kind", ["iceberg", pytest.param("delta", marks=pytest.mark.chaos)])
def test_collections_that_change_are_equal_or_stop_and_are_copied_again(
    spark: SparkSession, mongo_database: MongoDatabase, tmp_path: Path, kind: str
) -> None:
    source, store = EvolvingMongo(mongo_database), mongo_database.collections
    for name in ("fields", "renamed", "dropped", "again", "out", "onto"):
        store[name].insert_many([{"_id": i, "a": i, "b": {"c": [i]}} for i in range(5)])
    with following(spark, source, LAKES[kind](tmp_path / "lake"), tmp_path) as run:
        run.catch_up()
        run.assert_equal("fields", "renamed", "dropped", "again", "out", "onto")

        # Fields come, go, get other names and wider types.
        store.fields.update_one({"_id": 1}, {"$set": {"new": "x"}, "$unset": {"a": 1}})
        store.fields.update_many({}, {"$rename": {"b": "d"}})
        store.fields.update_one({"_id": 2}, {"$set": {"a": Int64(2**40), "e": Decimal128("1.5")}})
        store.fields.update_one({"_id": 3}, {"$set": {"a": 2.5}})
        # A key that changes is a document that goes, and another one.
        moved = store.fields.find_one_and_delete({"_id": 4})
        assert moved is not None
        store.fields.insert_one(moved | {"_id": ObjectId()})
        store.fields.insert_one(moved | {"_id": "4"})
        store.late.insert_many([{"_id": i, "l": i} for i in range(3)])
        # Of a collection that is renamed, only one whose inserts were read is known.
        run.catch_up()
        # Collections that are not what they were.
        store.renamed.rename("other")
        store.other.insert_one({"_id": 9})
        store.dropped.drop()
        store.again.drop()
        store.again.insert_one({"_id": 7, "a": 7})
        store.out.aggregate([{"$match": {"a": {"$lt": 2}}}, {"$out": "out"}])
        store.out.insert_one({"_id": 8})
        store.late.rename("onto", dropTarget=True)
        store.onto.insert_one({"_id": 8})
        run.catch_up()
        run.assert_equal("fields")
        assert run.stopped() == {
            "onto": "replicas.table_renamed",
            "other": "replicas.table_renamed",
            "again": "replicas.table_replaced",
            "out": "replicas.table_replaced",
        }
        run.resync("other", "again", "out", "onto")
        store.other.update_one({"_id": 1}, {"$set": {"a": 2}})
        run.catch_up()
        run.assert_equal("fields", "other", "again", "out", "onto")


@pytest.mark.chaos
def test_a_collection_that_took_a_name_while_the_query_was_stopped_is_not_taken_for_the_former_one(
    spark: SparkSession, mongo_database: MongoDatabase, tmp_path: Path
) -> None:
    source, store = EvolvingMongo(mongo_database), mongo_database.collections
    for name in ("again", "renamed", "gone"):
        store[name].insert_many([{"_id": i, "a": i} for i in range(3)])
    with following(spark, source, LAKES["iceberg"](tmp_path / "lake"), tmp_path) as run:
        run.catch_up()
        run.stop()
        store.again.update_one({"_id": 1}, {"$set": {"a": 9}})
        store.again.drop()
        store.again.insert_one({"_id": 7, "a": 7})
        store.renamed.rename("other")
        store.gone.insert_one({"_id": 9})
        store.gone.drop()
        run.start()
        run.catch_up()
        assert run.stopped() == {
            "again": "replicas.table_replaced",
            "other": "replicas.table_renamed",
        }
        run.resync("again", "other")
        run.assert_equal("again", "other")
        # What is gone stays as it was last.
        gone = run.replica("gone")
        assert gone is not None
        assert {"_id": 9} in [source.shown(row) for row in gone]
