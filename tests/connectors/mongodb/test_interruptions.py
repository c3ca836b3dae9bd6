"""Failures of the server, after which the query continues by itself or ends with one clear
error."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import bson
import pytest

from headrace.errors import HeadraceError
from headrace.testing.mongodb import MongoServer
from tests.connectors.harness import wait_for
from tests.connectors.mongodb.harness import Reader
from tests.servers.mongodb import MongoDatabase, kill_cursors, lose_history, step_down

pytestmark = pytest.mark.mongodb

FATAL = {"errors_max_retries": "0"}
"""Properties for which an error that is not retried ends the test."""


def keys(reader: Reader) -> list[int]:
    """The keys of all records, in total order."""
    return [int(json.loads(record["key"])["id"]) for record in reader.in_order()]


def test_an_election_goes_unnoticed(mongo_database: MongoDatabase) -> None:
    rows = mongo_database.collections["rows"]
    reader = Reader.begin(mongo_database, **FATAL)
    rows.insert_one({"_id": 1})
    reader.until(1)
    step_down(mongo_database.server)
    rows.insert_one({"_id": 2})
    reader.until(2)
    assert keys(reader) == [1, 2]
    reader.stop()


def test_a_killed_cursor_goes_unnoticed(mongo_database: MongoDatabase) -> None:
    rows = mongo_database.collections["rows"]
    reader = Reader.begin(mongo_database, **FATAL)
    for key in range(5):
        rows.insert_one({"_id": key})
        reader.until(key + 1)
        kill_cursors(mongo_database.server)
    assert keys(reader) == list(range(5))
    assert reader.open().metrics()["streaming"]["NumberOfDisconnects"] >= 1
    reader.stop()


def test_a_server_that_is_killed_is_waited_for(mongo_database: MongoDatabase) -> None:
    rows = mongo_database.collections["rows"]
    reader = Reader.begin(mongo_database, retriable_restart_connector_wait_ms="100")
    rows.insert_one({"_id": 1})
    reader.until(1)
    mongo_database.server.kill()
    mongo_database.server.start()
    rows.insert_one({"_id": 2})
    reader.until(2)
    assert keys(reader) == [1, 2]
    reader.stop()


@pytest.mark.parametrize(
    ("scope", "change"),
    [
        ("collection", "drop"),
        ("collection", "rename"),
        ("database", "drop"),
        ("deployment", "drop"),
        ("deployment", "rename"),
    ],
)
def test_what_is_captured_may_go_and_come_back(
    mongo_database: MongoDatabase, scope: str, change: str
) -> None:
    name, rows = mongo_database.name, mongo_database.collections["rows"]
    captured = f"{name}.rows" if scope == "collection" else name
    target = {} if scope == "deployment" else {"capture_target": captured}
    only_rows = {"collection_include_list": rf"{name}\.rows"}
    reader = Reader.begin(mongo_database, **FATAL, capture_scope=scope, **target, **only_rows)
    for key in range(3):
        rows.insert_one({"_id": key})
        reader.until(key + 1)
        if change == "rename":
            rows.rename(f"old{key}")
        elif scope == "database":
            mongo_database.client.drop_database(name)
        else:
            rows.drop()
        reader.restart() if key else None
    assert keys(reader) == [0, 1, 2]
    reader.stop()


@pytest.fixture
def small_database(mongodb_small_oplog: MongoServer) -> Iterator[MongoDatabase]:
    created = MongoDatabase.create(mongodb_small_oplog)
    yield created
    created.drop()


def test_lost_history_is_an_error_with_a_remedy(small_database: MongoDatabase) -> None:
    rows = small_database.collections["rows"]
    reader = Reader.begin(small_database, **FATAL)
    rows.insert_one({"_id": 1})
    reader.until(1)
    last = reader.offsets[-1]
    reader.stop()
    lose_history(small_database.server)
    calls: list[Callable[[], object]] = [
        lambda: reader.open().validate(last),
        lambda: reader.open().poll(last, timedelta(seconds=1)),
    ]
    for call in calls:
        with pytest.raises(HeadraceError) as caught:
            call()
        assert caught.value.code == "mongodb.history_lost"
        assert not caught.value.retriable
        assert "snapshot.mode=when_needed" in caught.value.remedy
        reader.restart()


def test_lost_history_is_repaired_by_a_new_snapshot_when_needed(
    small_database: MongoDatabase,
) -> None:
    rows = small_database.collections["rows"]
    rows.insert_one({"_id": 1})
    reader = Reader.begin(small_database, **FATAL, snapshot_mode="when_needed")
    reader.until(1)
    rows.insert_one({"_id": 2})
    reader.until(2)
    reader.stop()
    rows.insert_one({"_id": 3})
    lose_history(small_database.server)
    reader.step_until(lambda: len(reader.records) >= 5)
    rows.insert_one({"_id": 4})
    reader.until(6)
    operations = [(json.loads(r["value"])["op"], key) for r, key in _with_keys(reader)]
    assert operations[:2] == [("r", 1), ("c", 2)]
    assert sorted(operations[2:5]) == [("r", 1), ("r", 2), ("r", 3)]
    assert operations[5:] == [("c", 4)]
    assert reader.offsets[-1]["epoch"] == reader.offsets[1]["epoch"] + 1
    reader.stop()


def _with_keys(reader: Reader) -> Iterator[tuple[dict[str, Any], int]]:
    return zip(reader.in_order(), keys(reader), strict=True)


def test_the_place_of_an_idle_collection_moves_with_the_log(mongo_database: MongoDatabase) -> None:
    reader = Reader.begin(mongo_database, headrace_acknowledge_interval="50 ms")
    before = reader.offsets[-1]
    elsewhere = mongo_database.client["elsewhere"]["rows"]
    elsewhere.insert_one({})
    wait_for(lambda: reader.step() or reader.offsets[-1] != before)
    moved = reader.offsets[-1]
    assert (moved["sec"], moved["ord"]) > (before["sec"], before["ord"])
    assert moved["resume_token"] != before["resume_token"]
    assert reader.records == []
    # The moved place is one to go on from.
    mongo_database.collections["rows"].insert_one({"_id": 1})
    reader.restart().until(1)
    assert keys(reader) == [1]
    reader.stop()


def test_while_nothing_is_written_no_range_follows_another(mongo_database: MongoDatabase) -> None:
    reader = Reader.begin(mongo_database, headrace_acknowledge_interval="1 ms")
    mongo_database.collections["rows"].insert_one({"_id": 1})
    reader.until(1)
    oplog = mongo_database.client.local["oplog.rs"]
    last = oplog.find_one(sort=[("$natural", -1)])
    assert last is not None
    moves = [reader.step(0.2) for _ in range(5)]
    # The server writes something of its own every ten seconds.
    assert sum(moves) <= 1 + oplog.count_documents({"ts": {"$gt": last["ts"]}})
    reader.stop()


def test_heartbeats_move_the_place(ticking_database: MongoDatabase) -> None:
    reader = Reader.begin(
        ticking_database, heartbeat_interval_ms="50", headrace_acknowledge_interval="1 hour"
    )
    before = reader.offsets[-1]
    ticking_database.client["elsewhere"]["rows"].insert_one({})
    wait_for(lambda: reader.step() and reader.offsets[-1]["resume_token"] != before["resume_token"])
    assert {record["topic"] for record in reader.records} == {"__debezium-heartbeat.headrace"}
    reader.stop()


def test_a_range_of_every_size_gives_the_same_records(mongo_database: MongoDatabase) -> None:
    rows = mongo_database.collections["rows"]
    readers = [
        Reader.begin(mongo_database, headrace_range_max_rows=str(limit), headrace_slices=slices)
        for limit, slices in ((1, "1"), (3, "2"), (1000, "3"))
    ]
    for key in range(10):
        rows.insert_one({"_id": key, "text": "x" * key})
    rows.delete_many({"_id": {"$lt": 4}})
    records_of_readers = []
    for number, reader in enumerate(readers):
        while len(reader.records) < 18:
            reader.step()
            if number < 2:
                reader.restart()
        records_of_readers.append(
            [
                (record["sequence"], record["key"], record["value"] is None)
                for record in reader.in_order()
            ]
        )
        reader.stop()
    assert records_of_readers[0] == records_of_readers[1] == records_of_readers[2]
    assert len(readers[0].offsets) > 14


def test_a_first_start_may_begin_in_the_past(mongo_database: MongoDatabase) -> None:
    rows = mongo_database.collections["rows"]
    rows.insert_one({"_id": 1})
    with mongo_database.client.start_session() as session:
        rows.insert_one({"_id": 2}, session=session)
        time = session.operation_time
        assert time is not None
    rows.insert_one({"_id": 3})
    reader = Reader.begin(mongo_database, capture_start_op_time=str(time.time << 32 | time.inc))
    reader.until(2)
    assert keys(reader) == [2, 3]
    reader.stop()


def test_a_bounded_run_ends_after_what_was_written_before(mongo_database: MongoDatabase) -> None:
    rows = mongo_database.collections["rows"]
    reader = Reader.begin(mongo_database)
    reader.stop()
    for count in (0, 3, 2):
        rows.insert_many([{} for _ in range(count)]) if count else None
        reader.bounded = True
        before = len(reader.records)
        while reader.step():
            pass
        assert len(reader.records) == before + count
        reader.stop()


@pytest.mark.parametrize("mode", ["regex", "literal"])
def test_filters_hold_exactly(mongo_database: MongoDatabase, mode: str) -> None:
    name = mongo_database.name
    captured = f"{name}.a,{name}.b.c" if mode == "literal" else f"{name}\\.a,{name}\\.b\\.c"
    reader = Reader.begin(mongo_database, filters_match_mode=mode, collection_include_list=captured)
    for collection in ("ab", "b", "xa", "a", "b.c", "b.cd"):
        mongo_database.collections[collection].insert_one({"_id": 1})
    other = mongo_database.client[name + "x"]
    other["a"].insert_one({"_id": 1})
    mongo_database.collections["a"].insert_one({"_id": 2})
    reader.until(3)
    mongo_database.client.drop_database(other.name)
    topics = [record["topic"] for record in reader.in_order()]
    assert topics == [f"headrace.{name}.a", f"headrace.{name}.b.c", f"headrace.{name}.a"]
    assert reader.open().metrics()["streaming"]["CapturedTables"] == [f"{name}.a", f"{name}.b.c"]
    reader.stop()


def test_a_checkpoint_of_another_replica_set_is_refused(mongo_database: MongoDatabase) -> None:
    reader = Reader.begin(mongo_database)
    other = reader.offsets[-1] | {"system": "another"}
    name, _, identity = reader.offsets[-1]["system"].partition("/")
    assert (name, uuid.UUID(identity).version) == (mongo_database.server.replica_set, 4)
    reader.restart()
    with pytest.raises(HeadraceError) as caught:
        reader.open().poll(other, timedelta(seconds=1))
    assert caught.value.code == "mongodb.other_replica_set"
    reader.stop()


def test_a_checkpoint_of_another_cluster_of_the_same_name_is_refused(
    mongo_database: MongoDatabase,
) -> None:
    reader = Reader.begin(mongo_database, **FATAL)
    stored = reader.offsets[-1]
    name, _, identity = stored["system"].partition("/")
    other = stored | {"system": f"{name}/{uuid.UUID(int=uuid.UUID(identity).int ^ 1)}"}
    with pytest.raises(HeadraceError) as caught:
        reader.restart().open().poll(other, timedelta(seconds=1))
    assert caught.value.code == "mongodb.other_cluster"
    # Earlier releases wrote the name alone.
    reader.restart().offsets.append(stored | {"system": name})
    mongo_database.collections["rows"].insert_one({"_id": 1})
    reader.until(1)
    reader.stop()


def test_the_position_of_an_idle_stream_is_not_ahead(mongo_database: MongoDatabase) -> None:
    reader = Reader.begin(mongo_database, **FATAL)
    for _ in range(3):
        reader.restart().step()
    mongo_database.collections["rows"].insert_one({"_id": 1})
    reader.until(1)
    reader.stop()


@pytest.mark.parametrize(
    ("code", "later", "damage"),
    [
        ("mongodb.position_ahead", 1 << 30, lambda data: data),
        ("mongodb.bad_resume_token", 0, lambda data: data[:-8] + "ffffffff"),
    ],
)
def test_a_position_that_no_server_has_is_reported_and_repaired_when_needed(
    mongo_database: MongoDatabase, code: str, later: int, damage: Callable[[str], str]
) -> None:
    rows = mongo_database.collections["rows"]
    reader = Reader.begin(mongo_database, **FATAL)
    rows.insert_one({"_id": 1})
    reader.until(1)
    stored = dict(reader.offsets[-1])
    data = bson.decode(base64.b64decode(stored["resume_token"]))["_data"]
    data = damage(f"82{stored['sec'] + later:08x}{stored['ord']:08x}{data[18:]}")
    stored["sec"] += later
    stored["resume_token"] = base64.b64encode(bson.encode({"_data": data})).decode()
    with pytest.raises(HeadraceError) as caught:
        reader.restart().open().poll(stored, timedelta(seconds=1))
    assert caught.value.code == code
    reader.configure(reader.properties | {"snapshot.mode": "when_needed"})
    reader.offsets.append(stored)
    rows.insert_one({"_id": 2})
    reader.step_until(lambda: keys(reader)[1:].count(2) == 1)
    assert reader.offsets[-1]["epoch"] == stored["epoch"] + 1
    reader.stop()
