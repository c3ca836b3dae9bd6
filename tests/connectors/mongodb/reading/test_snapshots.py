from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import bson
import pytest

from headrace.errors import HeadraceError
from tests.connectors.mongodb.harness import PLAIN, Reader
from tests.connectors.mongodb.reading.ids import MIXED
from tests.servers.mongodb import MongoDatabase

pytestmark = pytest.mark.mongodb
SMALL_CHUNKS = {"headrace_snapshot_chunk_bytes": "40kB", "headrace_slices": "2"}


def reader(database: MongoDatabase, **more: str) -> Reader:
    """`more` are properties with `_` for `.`, but for names that have a dot already."""
    dotted = {name: text for name, text in more.items() if "." in name}
    plain = {"snapshot_mode": "initial"} | {n: t for n, t in more.items() if n not in dotted}
    return Reader(PLAIN | database.properties(**plain) | dotted)


def value(record: Mapping[str, Any]) -> dict[str, Any]:
    event: dict[str, Any] = json.loads(record["value"])
    return event


def read(run: Reader) -> list[tuple[str, str]]:
    """Collection and key of the documents that were read, in the order in which they came."""
    rows = (record for record in run.records if record["value"])
    return [
        (value(row)["source"]["collection"], json.loads(row["key"])["id"])
        for row in rows
        if value(row)["op"] == "r"
    ]


def to_the_end(run: Reader) -> Reader:
    run.step_until(lambda: len(run.offsets) > 1 and "snapshot" not in run.offsets[-1])
    return run


def folded(run: Reader, collection: str) -> dict[str, Any]:
    """The collection as a consumer has it."""
    documents: dict[str, Any] = {}
    for record in run.in_order():
        if record["value"] is None or value(record)["source"]["collection"] != collection:
            continue
        key, after = json.loads(record["key"])["id"], value(record)["after"]
        if value(record)["op"] == "d":
            documents.pop(key, None)
        else:
            documents[key] = json.loads(after)
    return documents


def test_a_collection_of_all_types_of_ids_is_read_whole_in_several_chunks(
    mongo_database: MongoDatabase,
) -> None:
    documents: list[dict[str, object]] = [
        {"_id": each, "text": "x" * 60}
        for i in range(1500)
        for each in (100 + i, f"s{i}", bson.Int64(1 << 40 | i), {"b": i})
    ]
    documents += [{"_id": each} for each in MIXED]
    mongo_database.collections["mixed"].insert_many(documents)
    run = to_the_end(reader(mongo_database, **SMALL_CHUNKS))
    keys = read(run)
    assert len(keys) == len(set(keys)) == len(documents)
    chunks = [
        chunk
        for offset in run.offsets[1:]
        for chunk in offset.get("snapshot", {}).get("chunks", ())
    ]
    assert len(chunks) > 3
    run.stop()


def test_collections_come_by_name_and_only_the_last_document_is_marked(
    mongo_database: MongoDatabase,
) -> None:
    collections = mongo_database.collections
    for name, ids in (("b", [1, 2]), ("a", [1]), ("c", [1, 2])):
        collections[name].insert_many([{"_id": each} for each in ids])
    collections.create_collection("empty")
    collections.create_collection("capped", capped=True, size=4096).insert_one({"_id": 1})
    collections.create_collection(
        "clustered", clusteredIndex={"key": {"_id": 1}, "unique": True}
    ).insert_one({"_id": 1})
    collections.create_collection("times", timeseries={"timeField": "at"})
    collections.command("create", "shown", viewOn="c", pipeline=[])
    run = to_the_end(reader(mongo_database))
    rows = run.in_order()
    names = ["a", "b", "b", "c", "c", "capped", "clustered", "shown", "shown"]
    assert [value(row)["source"]["collection"] for row in rows] == names
    marks = [value(row)["source"]["snapshot"] for row in rows]
    assert marks == ["true"] * (len(names) - 1) + ["last"]
    for row in rows:
        source = value(row)["source"]
        assert (source["ord"], source["wallTime"], source["lsid"]) == (-1, None, None)
    run.stop()


def markers(run: Reader) -> list[tuple[str, str]]:
    """Snapshot markers of the documents that were read, in the order in which they came."""
    events = [value(record) for record in run.in_order() if record["value"]]
    return [
        (each["source"]["collection"], each["source"]["snapshot"])
        for each in events
        if each["op"] == "r"
    ]


def test_the_last_document_is_marked_where_the_last_filter_finds_none(
    mongo_database: MongoDatabase,
) -> None:
    for name in "ab":
        mongo_database.collections[name].insert_many([{"_id": i} for i in range(3)])
    filtered = f"{mongo_database.name}.b"
    more = {
        "snapshot.collection.filter.overrides": filtered,
        f"snapshot.collection.filter.overrides.{filtered}": '{"_id": {"$gt": 5}}',
    }
    run = to_the_end(reader(mongo_database, **more))
    assert markers(run) == [("a", "true"), ("a", "true"), ("a", "last")]
    run.stop()


def test_the_last_document_that_a_filter_finds_is_marked_in_chunks(
    mongo_database: MongoDatabase,
) -> None:
    documents = [{"_id": i, "n": i < 1300, "text": "x" * 60} for i in range(5000)]
    mongo_database.collections["rows"].insert_many(documents)
    filtered = f"{mongo_database.name}.rows"
    more = {
        "snapshot.collection.filter.overrides": filtered,
        f"snapshot.collection.filter.overrides.{filtered}": '{"n": true}',
    }
    run = to_the_end(reader(mongo_database, **SMALL_CHUNKS, **more))
    snapshot_markers = [marker for _, marker in markers(run)]
    assert (len(snapshot_markers), snapshot_markers.count("last"), snapshot_markers[-1]) == (
        1300,
        1,
        "last",
    )
    run.stop()


def test_a_view_that_cannot_be_read_is_named(mongo_database: MongoDatabase) -> None:
    shop = mongo_database.collections
    shop["rows"].insert_one({"_id": 1, "text": "no number"})
    shop.create_collection(
        "broken", viewOn="rows", pipeline=[{"$group": {"_id": {"$toInt": "$text"}}}]
    )
    with pytest.raises(HeadraceError, match=rf"Reading {mongo_database.name}\.broken"):
        to_the_end(reader(mongo_database, errors_max_retries="0"))


def test_changes_during_the_snapshot_and_restarts_lose_nothing(
    mongo_database: MongoDatabase,
) -> None:
    things = mongo_database.collections["things"]
    things.insert_many([{"_id": i, "n": 0, "text": "x" * 50} for i in range(4000)])
    run = reader(mongo_database, **(SMALL_CHUNKS | {"headrace_slices": "1"}))
    number = 0
    while not run.offsets[1:] or "snapshot" in run.offsets[-1]:
        run.step()
        things.update_one({"_id": number * 11}, {"$set": {"n": number}})
        things.delete_one({"_id": 3999 - number})
        things.insert_one({"_id": f"new {number}"})
        number += 1
        if number % 2:
            run.restart()
    assert number > 3
    count = len(read(run))
    things.insert_one({"_id": "end"})
    run.step_until(lambda: '"end"' in folded(run, "things"))
    assert folded(run, "things") == {json.dumps(row["_id"]): row for row in things.find()}
    assert len(set(read(run))) == len(read(run)) == count
    run.stop()


def test_filters_of_collections_choose_documents(mongo_database: MongoDatabase) -> None:
    collections = mongo_database.collections
    for name in ("a", "b", "c"):
        collections[name].insert_many([{"_id": i, "n": i % 4} for i in range(40)])
    override = "snapshot.collection.filter.overrides"
    names = f"{mongo_database.name}.a,{mongo_database.name}.b"
    run = reader(
        mongo_database,
        **{
            override: names,
            f"{override}.{mongo_database.name}.a": '{"n": {"$gte": 3}}',
            f"{override}.{mongo_database.name}.b": "{n: 9}",
            "snapshot_include_collection_list": f"{mongo_database.name}[.][ab]",
        },
    )
    to_the_end(run)
    assert read(run) == [("a", str(i)) for i in range(40) if i % 4 == 3]
    run.stop()


def test_a_filter_that_the_server_refuses_is_reported(mongo_database: MongoDatabase) -> None:
    mongo_database.collections["a"].insert_one({"_id": 1})
    override = "snapshot.collection.filter.overrides"
    name = f"{mongo_database.name}.a"
    run = reader(mongo_database, **{override: name, f"{override}.{name}": '{"$no": 1}'})
    with pytest.raises(HeadraceError, match="unknown top level operator") as caught:
        to_the_end(run)
    assert caught.value.code == "mongodb.filter"
    run.stop()


def test_initial_only_ends_after_the_last_document(mongo_database: MongoDatabase) -> None:
    mongo_database.collections["a"].insert_many([{"_id": i} for i in range(10)])
    run = to_the_end(reader(mongo_database, snapshot_mode="initial_only"))
    mongo_database.collections["a"].insert_one({"_id": 10})
    for _ in range(3):
        run.step(0)
    assert len(run.records) == 10
    run.stop()


def test_always_reads_at_every_start(mongo_database: MongoDatabase) -> None:
    mongo_database.collections["a"].insert_many([{"_id": i} for i in range(5)])
    run = to_the_end(reader(mongo_database, snapshot_mode="always"))
    mongo_database.collections["a"].insert_one({"_id": 5})
    run.until(6)
    run.restart()
    run.until(12)
    assert sorted(read(run)) == sorted([("a", str(i)) for i in range(5)] * 2 + [("a", "5")])
    run.stop()
