from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.connectors.mongodb.harness import Reader
from tests.servers.mongodb import MongoDatabase

pytestmark = pytest.mark.mongodb

COUNTED = {"provide_transaction_metadata": "true"}


def write(database: MongoDatabase, *rows: tuple[str, int], transactional: bool = True) -> None:
    """Insert documents with these keys into these collections, in one transaction."""
    with database.client.start_session() as session:
        if transactional:
            session.start_transaction()
        for collection, key in rows:
            database.collections[collection].insert_one({"_id": key}, session=session)
        if transactional:
            session.commit_transaction()


def create(database: MongoDatabase, *collections: str) -> None:
    for collection in collections:
        database.collections.create_collection(collection)


def orders(reader: Reader) -> list[Any]:
    """For each record in total order: its key and order in its transaction, or a border's status
    and counts."""
    lines: list[Any] = []
    for record in reader.in_order():
        value = json.loads(record["value"])
        if record["topic"] == "headrace.transaction":
            assert json.loads(record["key"]) == {"id": value["id"]}
            counts = {
                entry["data_collection"].rpartition(".")[2]: entry["event_count"]
                for entry in value["data_collections"] or ()
            }
            lines.append((value["status"], value["event_count"], counts))
            continue
        block = value["transaction"]
        order = block and (block["total_order"], block["data_collection_order"])
        lines.append((int(json.loads(record["key"])["id"]), order))
    return lines


def identifiers(reader: Reader) -> list[str]:
    """The ids of the records' transactions, without repetition."""
    unique: list[str] = []
    for record in reader.in_order():
        value: Mapping[str, Any] = json.loads(record["value"])
        identifier = value.get("id") or (value.get("transaction") or {}).get("id")
        if identifier and identifier not in unique:
            unique.append(identifier)
    return unique


EVERYTHING = [
    (1, None),
    ("BEGIN", None, {}),
    (2, (1, 1)),
    (3, (2, 1)),
    (4, (3, 2)),
    ("END", 3, {"a": 2, "b": 1}),
    ("BEGIN", None, {}),
    (5, (1, 1)),
    ("END", 1, {"b": 1}),
    (6, None),
]


def write_everything(database: MongoDatabase) -> None:
    write(database, ("a", 1), transactional=False)
    write(database, ("a", 2), ("b", 3), ("a", 4))
    write(database, ("b", 5))
    write(database, ("a", 6), transactional=False)


def test_transactions_are_counted_and_have_borders(mongo_database: MongoDatabase) -> None:
    create(mongo_database, "a", "b")
    reader = Reader.begin(mongo_database, **COUNTED)
    write_everything(mongo_database)
    reader.until(len(EVERYTHING))
    assert orders(reader) == EVERYTHING
    numbers = [identifier.rpartition(":")[2] for identifier in identifiers(reader)]
    assert len(numbers) == 2
    assert all(number.isdigit() for number in numbers)
    sources = [json.loads(r["value"]).get("source") for r in reader.in_order()]
    sessions = {f"{s['lsid']}:{s['txnNumber']}" for s in sources if s and s["lsid"]}
    assert sessions == set(identifiers(reader))
    reader.stop()


def test_a_reader_that_stops_inside_of_a_transaction_counts_on(
    mongo_database: MongoDatabase,
) -> None:
    create(mongo_database, "a", "b")
    reader = Reader.begin(mongo_database, **COUNTED, headrace_range_max_rows="1")
    write_everything(mongo_database)
    while len(reader.records) < len(EVERYTHING):
        reader.step()
        reader.restart()
    assert orders(reader) == EVERYTHING
    assert len(reader.offsets) > 6
    reader.stop()


def test_a_range_inside_of_a_transaction_is_the_same_when_it_is_planned_again(
    mongo_database: MongoDatabase,
) -> None:
    create(mongo_database, "a", "b")
    reader = Reader.begin(mongo_database, **COUNTED, headrace_range_max_rows="2")
    write_everything(mongo_database)
    while len(reader.records) < len(EVERYTHING):
        end = reader.plan()
        if end == reader.offsets[-1]:
            continue
        records = reader.read(end)
        again = reader.restart().read(end)

        def shown(records: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
            return [(record["sequence"], record["topic"], record["key"]) for record in records]

        assert shown(records) == shown(again)
        reader.records += records
        reader.offsets.append(end)
    assert orders(reader) == EVERYTHING
    reader.stop()


def test_a_transaction_ends_although_nothing_follows_it(mongo_database: MongoDatabase) -> None:
    create(mongo_database, "a")
    reader = Reader.begin(mongo_database, **COUNTED)
    write(mongo_database, ("a", 1), ("a", 2))
    reader.until(3)
    # What is not captured moves the log on, as the server's own notes do.
    mongo_database.client["elsewhere"]["rows"].insert_one({})
    reader.until(4)
    assert orders(reader) == [
        ("BEGIN", None, {}),
        (1, (1, 1)),
        (2, (2, 2)),
        ("END", 2, {"a": 2}),
    ]
    reader.stop()


def test_without_metadata_sources_alone_have_transactions(
    mongo_database: MongoDatabase,
) -> None:
    create(mongo_database, "a")
    reader = Reader.begin(mongo_database)
    write(mongo_database, ("a", 1), ("a", 2))
    values = [value for value in reader.values(2) if value is not None]
    assert [value["transaction"] for value in values] == [None, None]
    assert len({value["source"]["lsid"] for value in values} - {None}) == 1
    assert all(isinstance(value["source"]["txnNumber"], int) for value in values)
    assert [value["source"]["ord"] for value in values] == [values[0]["source"]["ord"]] * 2
    reader.stop()
