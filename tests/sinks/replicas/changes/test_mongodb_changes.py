"""Changes of MongoDB's collections in parts of replicas."""

from __future__ import annotations

import pytest

from tests.servers.mongodb import MongoDatabase
from tests.sinks.replicas.changes.change_readers import DELETE, INSERT, UPDATE, MongoChanges

pytestmark = pytest.mark.mongodb


def test_documents_are_rows_of_their_id_and_their_json(mongo_database: MongoDatabase) -> None:
    customers = mongo_database.collections["customers"]
    reader = MongoChanges.begin(mongo_database)
    customers.insert_many([{"_id": 7, "name": "Ana"}, {"_id": "k", "name": None}])
    customers.update_one({"_id": 7}, {"$set": {"name": "Bea"}})
    customers.delete_one({"_id": "k"})
    reader.step_until(lambda: len(reader.written.changes(".customers")) >= 4)
    reader.stop()
    changes = [
        (row["operation"], row["_id"], row["document"], row["unavailable"])
        for row in reader.written.changes(".customers")
    ]
    # The update's document is looked up when it is read.
    assert changes == [
        (INSERT, "7", '{"_id": 7,"name": "Ana"}', []),
        (INSERT, '"k"', '{"_id": "k","name": null}', []),
        (UPDATE, "7", '{"_id": 7,"name": "Bea"}', []),
        (DELETE, '"k"', None, []),
    ]
    schema = reader.written.schema(".customers")
    assert (schema.key, [str(column.type) for column in schema.columns]) == (
        ("_id",),
        ["string", "string"],
    )


def test_an_update_of_a_document_that_is_gone_is_left_out(mongo_database: MongoDatabase) -> None:
    customers = mongo_database.collections["customers"]
    reader = MongoChanges.begin(mongo_database)
    reader.stop()
    customers.insert_one({"_id": 7})
    customers.update_one({"_id": 7}, {"$set": {"name": "Bea"}})
    customers.delete_one({"_id": 7})
    reader.step_until(lambda: len(reader.written.changes(".customers")) >= 2)
    reader.stop()
    assert [row["operation"] for row in reader.written.changes(".customers")] == [INSERT, DELETE]


def test_an_update_without_its_document_is_an_error_that_names_the_capture_mode(
    mongo_database: MongoDatabase,
) -> None:
    customers = mongo_database.collections["customers"]
    reader = MongoChanges.begin(mongo_database, capture_mode="change_streams")
    customers.insert_one({"_id": 7})
    customers.update_one({"_id": 7}, {"$set": {"name": "Bea"}})
    reader.step_until(lambda: bool(reader.written.errors()))
    reader.stop()
    (error,) = reader.written.errors()
    assert error["code"] == "replicas.no_document"
    assert "capture.mode=change_streams_update_full" in error["remedy"]
