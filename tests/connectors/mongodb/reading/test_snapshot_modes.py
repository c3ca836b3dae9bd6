from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from headrace.errors import HeadraceError
from headrace.testing.mongodb import MongoServer
from tests.connectors.mongodb.harness import PLAIN, Reader
from tests.connectors.mongodb.reading.test_snapshots import (
    SMALL_CHUNKS,
    read,
    reader,
    to_the_end,
    value,
)
from tests.servers.mongodb import MongoDatabase, lose_history

pytestmark = pytest.mark.mongodb
BASED = "snapshot.mode.configuration.based"


def operations(one: Reader) -> str:
    return "".join(value(record)["op"] for record in one.in_order() if record["value"])


@pytest.mark.parametrize(
    ("data", "stream", "expected"),
    [
        ("true", "true", "rrr" + "c" + "rrrr" + "c"),
        ("true", "false", "rrr" + "rrrr"),
        ("false", "true", "cc"),
    ],
)
def test_configuration_based_does_what_its_parts_say(
    mongo_database: MongoDatabase, data: str, stream: str, expected: str
) -> None:
    things = mongo_database.collections["things"]
    things.insert_many([{"_id": each} for each in range(3)])
    one = reader(
        mongo_database,
        snapshot_mode="configuration_based",
        **{f"{BASED}.snapshot.data": data, f"{BASED}.start.stream": stream},
    )
    to_the_end(one)
    things.insert_one({"_id": 3})
    one.step_until(lambda: operations(one) == expected[: 3 + (stream == "true")] or data == "false")
    one.restart()
    one.step_until(lambda: len(operations(one)) >= len(expected) - (stream == "true"))
    things.insert_one({"_id": 4})
    one.step_until(lambda: len(operations(one)) >= len(expected))
    for _ in range(2):
        one.step()
    assert operations(one) == expected
    one.stop()


@pytest.fixture
def forgetful(mongodb_small_oplog: MongoServer) -> Iterator[MongoDatabase]:
    created = MongoDatabase.create(mongodb_small_oplog)
    yield created
    created.drop()


@pytest.mark.parametrize("repairs", [True, False])
def test_configuration_based_repairs_a_lost_position_when_asked(
    forgetful: MongoDatabase, repairs: bool
) -> None:
    things = forgetful.collections["things"]
    things.insert_one({"_id": 1})
    one = reader(
        forgetful,
        snapshot_mode="configuration_based",
        errors_max_retries="0",
        **{
            f"{BASED}.start.stream": "true",
            f"{BASED}.snapshot.on.data.error": str(repairs).lower(),
        },
    )
    one.step_until(lambda: len(one.offsets) > 1)
    things.insert_one({"_id": 2})
    one.until(1)
    one.stop()
    lose_history(forgetful.server)
    if not repairs:
        with pytest.raises(HeadraceError, match="history_lost"):
            one.step()
        one.stop()
        return
    one.until(3)
    assert operations(one) == "crr"
    assert one.offsets[-1]["epoch"] == one.offsets[1]["epoch"] + 1
    one.stop()


@pytest.mark.parametrize("resume", ["chunks", "restart"])
def test_a_snapshot_that_is_cut_short_goes_on_or_begins_again(
    mongo_database: MongoDatabase, resume: str
) -> None:
    for name, count in (("first", 500), ("second", 2500)):
        mongo_database.collections[name].insert_many(
            [{"_id": i, "text": "x" * 200} for i in range(count)]
        )
    one = reader(mongo_database, **(SMALL_CHUNKS | {"snapshot_resume": resume}))
    one.step_until(lambda: "second" in [name for name, _ in read(one)])
    before = read(one)
    assert len(before) < 3000
    to_the_end(one.restart())
    again = read(one)[len(before) :]
    if resume == "chunks":
        assert sorted(before + again) == sorted(set(before + again))
    else:
        assert [name for name, _ in again[:500]] == ["first"] * 500
        assert len(again) == 3000
    assert len(set(read(one))) == 3000
    marks = [value(row)["source"]["snapshot"] for row in one.in_order()]
    assert marks.count("last") == 1
    mongo_database.collections["first"].insert_one({"_id": "behind"})
    count = len(one.records)
    one.until(count + 1)
    assert operations(one)[-1] == "c"
    one.stop()


def test_a_mode_without_snapshots_refuses_half_of_one(mongo_database: MongoDatabase) -> None:
    mongo_database.collections["a"].insert_many(
        [{"_id": i, "text": "x" * 200} for i in range(1000)]
    )
    one = reader(mongo_database, **SMALL_CHUNKS)
    one.step_until(lambda: len(one.records) > 0)
    assert "snapshot" in one.offsets[-1]
    one.configure(PLAIN | mongo_database.properties(snapshot_mode="no_data"))
    with pytest.raises(HeadraceError, match="snapshot_unfinished"):
        one.step()
    one.stop()


def test_the_offset_says_from_where_on_documents_agree_with_the_log(
    mongo_database: MongoDatabase,
) -> None:
    """Chunks are read one after the other, so an early change may come behind a later document."""
    for name in ("a", "b"):
        mongo_database.collections[name].insert_many(
            [{"_id": i, "n": 0, "text": "x" * 200} for i in range(500)]
        )
    one = reader(mongo_database, **SMALL_CHUNKS)
    one.step_until(lambda: {name for name, _ in read(one)} == {"a"})
    both = {name: mongo_database.collections[name] for name in ("a", "b")}
    for documents in both.values():
        documents.update_many({}, {"$inc": {"n": 1}})
    to_the_end(one)
    consistent = one.offsets[-1]["consistent"] >> 64
    shown = [json.loads(value(row)["after"]) for row in one.in_order()]
    assert {document["n"] for document in shown} == {0, 1}
    one.until(2000)
    updates = [
        value(row)["source"] for row in one.in_order() if row["value"] and value(row)["op"] == "u"
    ]
    places = [source["ts_ms"] // 1000 << 32 | source["ord"] for source in updates]
    assert len(places) == 1000
    assert max(places) < consistent
    one.stop()
