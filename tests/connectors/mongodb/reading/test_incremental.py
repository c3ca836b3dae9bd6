from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bson
import pytest

from tests.connectors.mongodb.harness import PLAIN, Reader
from tests.connectors.mongodb.reading.ids import MIXED
from tests.connectors.mongodb.reading.test_snapshots import folded, read, value
from tests.servers.mongodb import MongoDatabase, during_reads

pytestmark = pytest.mark.mongodb


def begin(database: MongoDatabase, **more: str) -> Reader:
    """A reader that streams, with a signal collection, and notifications in its records."""
    signalled = {
        "signal_data_collection": f"{database.name}.signals",
        "notification_enabled_channels": "sink",
        "notification_sink_topic_name": "notifications",
        "incremental_snapshot_chunk_size": "7",
    }
    run = Reader(PLAIN | database.properties(**(signalled | more)))
    run.step_until(lambda: len(run.offsets) > 1)
    return run


def ask(database: MongoDatabase, *names: str, **more: Any) -> None:
    """Asks for an incremental snapshot by a signal whose members have other names."""
    data = {"data-collections": [f"{database.name}.{name}" for name in names]} | {
        name.replace("_", "-"): part for name, part in more.items()
    }
    signal = {"_id": bson.ObjectId(), "kind": "execute-snapshot", "what": data}
    database.collections["signals"].insert_one(signal)


def notified(run: Reader) -> list[dict[str, Any]]:
    return [json.loads(r["value"]) for r in run.in_order() if r["topic"] == "notifications"]


def until_notified(run: Reader, kind: str) -> None:
    run.step_until(lambda: kind in [each["type"] for each in notified(run)])


def events(run: Reader) -> Reader:
    """The reader without records of notifications."""
    run.records = [record for record in run.records if record["topic"] != "notifications"]
    return run


def test_ids_of_all_types_are_read_in_chunks(mongo_database: MongoDatabase) -> None:
    mongo_database.collections["mixed"].insert_many([{"_id": each, "n": 1} for each in MIXED])
    run = begin(mongo_database)
    ask(mongo_database, "mi.*")
    until_notified(run, "COMPLETED")
    completed = [each for each in notified(run) if each["type"] == "TABLE_SCAN_COMPLETED"]
    assert [each["additional_data"]["total_rows_scanned"] for each in completed] == [
        str(len(MIXED))
    ]
    keys = read(events(run))
    assert len(keys) == len(set(keys)) == len(MIXED)
    sources = [value(row)["source"] for row in run.records if value(row)["op"] == "r"]
    assert {(each["snapshot"], each["wallTime"]) for each in sources} == {("incremental", None)}
    run.stop()


@pytest.mark.parametrize("strategy", ["insert_insert", "insert_delete"])
def test_windows_are_marked_with_debeziums_documents(
    mongo_database: MongoDatabase, strategy: str
) -> None:
    mongo_database.collections["a"].insert_many([{"_id": i} for i in range(10)])
    run = begin(mongo_database, incremental_snapshot_watermarking_strategy=strategy)
    ask(mongo_database, "a")
    until_notified(run, "COMPLETED")
    marks = list(mongo_database.collections["signals"].find({"type": {"$exists": True}}))
    if strategy == "insert_delete":
        assert marks == []
    else:
        kinds = [(each["type"], each["payload"], list(each)) for each in marks]
        members = ["_id", "type", "payload"]
        opened = ("snapshot-window-open", "", members)
        assert kinds[:2] == [opened, ("snapshot-window-close", "", members)]
        assert {each["_id"].removesuffix("-open") for each in marks[::2]} == {
            each["_id"].removesuffix("-close") for each in marks[1::2]
        }
    assert sorted(read(events(run))) == sorted(("a", str(i)) for i in range(10))
    run.stop()


def test_a_reader_that_may_not_write_compares_cluster_times(
    mongo_database: MongoDatabase, tmp_path: Path
) -> None:
    things = mongo_database.collections["things"]
    things.insert_many([{"_id": i, "n": 0} for i in range(100)])
    file = tmp_path / "signals"
    channel = {"signal_enabled_channels": "file", "signal_file": str(file)}
    run = begin(
        mongo_database,
        read_only="true",
        signal_poll_interval_ms="0",
        **(channel | {"signal_data_collection": ""}),
    )
    data = {"data-collections": [f"{mongo_database.name}.things"]}
    file.write_text(json.dumps({"type": "execute-snapshot", "data": data}) + "\n")
    change_until(run, things, lambda: "COMPLETED" in [each["type"] for each in notified(run)])
    assert mongo_database.collections.list_collection_names() == ["things"]
    check(run, things)


# A chunk size of 1024 adapts.
@pytest.mark.parametrize(
    ("read_only", "chunk_size", "restarts"),
    [
        ("true", "1024", False),
        ("true", "1000", True),
        ("false", "1024", True),
        ("false", "1000", False),
    ],
)
def test_every_document_of_many_chunks_is_read_once(
    mongo_database: MongoDatabase, tmp_path: Path, read_only: str, chunk_size: str, restarts: bool
) -> None:
    count = 24_025
    things = mongo_database.collections["things"]
    things.insert_many([{"_id": i} for i in range(count)])
    file = tmp_path / "signals"
    more = {} if chunk_size == "1024" else {"incremental_snapshot_chunk_size": chunk_size}
    run = Reader(
        PLAIN
        | mongo_database.properties(
            read_only=read_only,
            signal_enabled_channels="file",
            signal_file=str(file),
            signal_poll_interval_ms="0",
            signal_data_collection=f"{mongo_database.name}.signals",
            notification_enabled_channels="sink",
            notification_sink_topic_name="notifications",
            headrace_incremental_snapshot_threads="4",
            **more,
        )
    )
    run.step_until(lambda: len(run.offsets) > 1)
    data = {"data-collections": [f"{mongo_database.name}.things"]}
    file.write_text(json.dumps({"type": "execute-snapshot", "data": data}) + "\n")
    while not any(each["type"] == "COMPLETED" for each in notified(run)):
        end = run.plan(1)
        if end == run.offsets[-1]:
            continue
        if restarts:
            run.restart()  # another process reads what was planned
        run.records += run.read(end)
        run.offsets.append(end)
    if not restarts:  # a process that ends has read the chunks of its open window in vain
        chunks = sum(each["type"] == "IN_PROGRESS" for each in notified(run))
        assert chunks == 25 if chunk_size == "1000" else 3 < chunks < 25
    (scanned,) = (each for each in notified(run) if each["type"] == "TABLE_SCAN_COMPLETED")
    assert scanned["additional_data"]["total_rows_scanned"] == str(count)
    keys = [key for name, key in read(events(run)) if name == "things"]
    assert len(keys) == len(set(keys)) == count
    sequences = [record["sequence"] for record in run.records]
    assert len(sequences) == len(set(sequences))
    run.stop()


@pytest.mark.parametrize("restarts", [False, True])
def test_what_is_written_meanwhile_is_never_overtaken(
    mongo_database: MongoDatabase, restarts: bool
) -> None:
    things = mongo_database.collections["things"]
    things.insert_many([{"_id": i, "n": 0} for i in range(100)])
    run = begin(mongo_database)
    ask(mongo_database, "things")
    change_until(
        run,
        things,
        lambda: "COMPLETED" in [each["type"] for each in notified(run)],
        restarts=restarts,
    )
    check(run, things)


def change_until(
    run: Reader, things: Any, is_done: Callable[[], bool], *, restarts: bool = False
) -> None:
    number = 0
    while not is_done():
        number += 1
        assert number < 2000
        things.update_one({"_id": number * 7 % 100}, {"$set": {"n": number}})
        if number <= 10:
            things.delete_one({"_id": 100 - number * 9})
        run.step()
        if restarts and number % 4 == 0:
            run.restart()


def check(run: Reader, things: Any) -> None:
    things.insert_one({"_id": "end"})
    events(run).step_until(lambda: '"end"' in folded(events(run), "things"))
    assert folded(run, "things") == {json.dumps(row["_id"]): row for row in things.find()}
    sequences = [record["sequence"] for record in run.records]
    assert len(sequences) == len(set(sequences))
    run.stop()


def test_a_filter_chooses_documents(mongo_database: MongoDatabase) -> None:
    mongo_database.collections["a"].insert_many([{"_id": i, "n": i % 5} for i in range(60)])
    run = begin(mongo_database)
    condition = {"data-collection": f"{mongo_database.name}.a", "filter": '{"n": {"$lt": 2}}'}
    for kind in ("incremental", "blocking"):
        ask(mongo_database, "a", additional_conditions=[condition], type=kind)
    expected = sorted(("a", str(i)) for i in range(60) if i % 5 < 2)
    run.step_until(lambda: len(read(events(run))) >= 2 * len(expected))
    assert sorted(read(run)) == sorted(expected * 2)
    run.stop()


BAD_NUMBER = '{"price": NumberDecimal("1,50")}'


@pytest.mark.parametrize(
    "more",
    [
        {"surrogate_key": "n"},
        {"additional_conditions": [{"data-collection": ".*", "filter": '{"$where": "1"}'}]},
        {"additional_conditions": [{"data-collection": ".*", "filter": '{"$no": 1}'}]},
        {"additional_conditions": [{"data-collection": ".*", "filter": "n < 2"}]},
        {"additional_conditions": [{"data-collection": ".*", "filter": BAD_NUMBER}]},
    ],
)
def test_what_cannot_be_read_is_left_out(
    mongo_database: MongoDatabase, more: dict[str, Any]
) -> None:
    mongo_database.collections["a"].insert_many([{"_id": i, "n": i % 5} for i in range(60)])
    run = begin(mongo_database)
    ask(mongo_database, "a", **more)
    until_notified(run, "COMPLETED")
    completed = [each for each in notified(run) if each["type"] == "TABLE_SCAN_COMPLETED"]
    assert [each["additional_data"]["status"] for each in completed] == ["SKIPPED"]
    assert read(events(run)) == []
    run.stop()


@pytest.mark.parametrize("kind", ["incremental", "blocking"])
@pytest.mark.parametrize(
    "text", [BAD_NUMBER, '{"$no": 1}', '{"$expr": {"$eq": [1, {"$divide": [1, 0]}]}}']
)
def test_a_broken_filter_leaves_its_own_collection_out(
    mongo_database: MongoDatabase, caplog: pytest.LogCaptureFixture, kind: str, text: str
) -> None:
    for name in "ab":
        mongo_database.collections[name].insert_many([{"_id": i} for i in range(3)])
    run = begin(mongo_database, errors_max_retries="0")
    condition = {"data-collection": f"{mongo_database.name}\\.a", "filter": text}
    ask(mongo_database, "[ab]", additional_conditions=[condition], type=kind)
    run.step_until(lambda: len(read(events(run))) >= 3)
    mongo_database.collections["a"].insert_one({"_id": "end"})
    run.restart().step_until(lambda: '"end"' in folded(events(run), "a"))
    assert sorted(read(events(run))) == [("b", str(i)) for i in range(3)]
    assert f"{mongo_database.name}.a is not read" in caplog.text
    run.stop()


@pytest.mark.parametrize("kind", ["incremental", "blocking"])
def test_a_filter_that_fails_on_a_document_does_not_end_the_stream(
    mongo_database: MongoDatabase, kind: str
) -> None:
    documents = [{"_id": 0, "n": 1}, {"_id": 1, "n": 2}, {"_id": 2, "n": 0}]
    mongo_database.collections["a"].insert_many(documents)
    run = begin(mongo_database, errors_max_retries="0")
    text = '{"$expr": {"$gt": [{"$divide": [1, "$n"]}, 0]}}'
    condition = {"data-collection": ".*", "filter": text}
    ask(mongo_database, "a", additional_conditions=[condition], type=kind)
    until_notified(run, "COMPLETED")
    mongo_database.collections["a"].insert_one({"_id": "end"})
    run.restart().step_until(lambda: '"end"' in folded(events(run), "a"))
    run.stop()


def test_chunks_of_a_window_are_read_at_the_same_time(mongo_database: MongoDatabase) -> None:
    mongo_database.collections["things"].insert_many([{"_id": i} for i in range(2000)])
    run = begin(
        mongo_database,
        incremental_snapshot_chunk_size="100",
        headrace_incremental_snapshot_threads="3",
    )
    with during_reads("things", lambda: threading.current_thread().name, 1000) as threads:
        ask(mongo_database, "things")
        until_notified(run, "COMPLETED")
    lanes = {name for name in threads if str(name).startswith("headrace incremental")}
    assert len(lanes) == 2
    assert len(set(threads)) == 3
    assert sorted(read(events(run))) == sorted(("things", str(i)) for i in range(2000))
    run.stop()


def test_updates_without_documents_take_no_document_away(mongo_database: MongoDatabase) -> None:
    """Such updates show only the changed fields, so a chunk that they overtook is read again."""
    things = mongo_database.collections["things"]
    things.insert_many([{"_id": i, "n": 0} for i in range(100)])
    run = begin(
        mongo_database, capture_mode="change_streams", incremental_snapshot_chunk_size="200"
    )
    update = {"$inc": {"n": 1}}
    with during_reads("things", lambda: things.update_one({"_id": 50}, update), 2) as acts:
        ask(mongo_database, "things")
        until_notified(run, "COMPLETED")
    assert len(acts) == 2
    documents: dict[str, Any] = {}
    for record in events(run).in_order():
        change = value(record)
        if change["source"]["collection"] != "things":
            continue
        key = json.loads(record["key"])["id"]
        if change["op"] == "r":
            documents[key] = json.loads(change["after"])
        elif key in documents:
            documents[key] |= json.loads(change["updateDescription"]["updatedFields"])
    assert documents == {str(row["_id"]): row for row in things.find()}
    run.stop()
