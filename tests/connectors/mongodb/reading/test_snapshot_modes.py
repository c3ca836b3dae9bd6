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


def operations(run: Reader) -> str:
    return "".join(value(record)["op"] for record in run.in_order() if record["value"])


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
    run = reader(
        mongo_database,
        snapshot_mode="configuration_based",
        **{f"{BASED}.snapshot.data": data, f"{BASED}.start.stream": stream},
    )
    to_the_end(run)
    things.insert_one({"_id": 3})
    run.step_until(lambda: operations(run) == expected[: 3 + (stream == "true")] or data == "false")
    run.restart()
    run.step_until(lambda: len(operations(run)) >= len(expected) - (stream == "true"))
    things.insert_one({"_id": 4})
    run.step_until(lambda: len(operations(run)) >= len(expected))
    for _ in range(2):
        run.step()
    assert operations(run) == expected
    run.stop()


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
    run = reader(
        forgetful,
        snapshot_mode="configuration_based",
        errors_max_retries="0",
        **{
            f"{BASED}.start.stream": "true",
            f"{BASED}.snapshot.on.data.error": str(repairs).lower(),
        },
    )
    run.step_until(lambda: len(run.offsets) > 1)
    things.insert_one({"_id": 2})
    run.until(1)
    run.stop()
    lose_history(forgetful.server)
    if not repairs:
        with pytest.raises(HeadraceError, match="history_lost"):
            run.step()
        run.stop()
        return
    run.until(3)
    assert operations(run) == "crr"
    assert run.offsets[-1]["epoch"] == run.offsets[1]["epoch"] + 1
    run.stop()


@pytest.mark.parametrize("resume", ["chunks", "restart"])
def test_a_snapshot_that_is_cut_short_continues_or_begins_again(
    mongo_database: MongoDatabase, resume: str
) -> None:
    for name, count in (("first", 500), ("second", 2500)):
        mongo_database.collections[name].insert_many(
            [{"_id": i, "text": "x" * 200} for i in range(count)]
        )
    run = reader(mongo_database, **(SMALL_CHUNKS | {"snapshot_resume": resume}))
    run.step_until(lambda: "second" in [name for name, _ in read(run)])
    before = read(run)
    assert len(before) < 3000
    to_the_end(run.restart())
    again = read(run)[len(before) :]
    if resume == "chunks":
        assert sorted(before + again) == sorted(set(before + again))
    else:
        assert [name for name, _ in again[:500]] == ["first"] * 500
        assert len(again) == 3000
    assert len(set(read(run))) == 3000
    marks = [value(row)["source"]["snapshot"] for row in run.in_order()]
    assert marks.count("last") == 1
    mongo_database.collections["first"].insert_one({"_id": "later"})
    count = len(run.records)
    run.until(count + 1)
    assert operations(run)[-1] == "c"
    run.stop()


def test_a_mode_without_snapshots_refuses_half_of_one(mongo_database: MongoDatabase) -> None:
    mongo_database.collections["a"].insert_many(
        [{"_id": i, "text": "x" * 200} for i in range(1000)]
    )
    run = reader(mongo_database, **SMALL_CHUNKS)
    run.step_until(lambda: len(run.records) > 0)
    assert "snapshot" in run.offsets[-1]
    run.configure(PLAIN | mongo_database.properties(snapshot_mode="no_data"))
    with pytest.raises(HeadraceError, match="snapshot_unfinished"):
        run.step()
    run.stop()


def test_the_offset_says_from_where_on_documents_agree_with_the_log(
    mongo_database: MongoDatabase,
) -> None:
    """Chunks are read one after the other, so an early change may come after a later document."""
    for name in ("a", "b"):
        mongo_database.collections[name].insert_many(
            [{"_id": i, "n": 0, "text": "x" * 200} for i in range(500)]
        )
    run = reader(mongo_database, **SMALL_CHUNKS)
    run.step_until(lambda: {name for name, _ in read(run)} == {"a"})
    both = {name: mongo_database.collections[name] for name in ("a", "b")}
    for documents in both.values():
        documents.update_many({}, {"$inc": {"n": 1}})
    to_the_end(run)
    consistent = run.offsets[-1]["consistent"] >> 64
    read_documents = [json.loads(value(row)["after"]) for row in run.in_order()]
    assert {document["n"] for document in read_documents} == {0, 1}
    run.until(2000)
    updates = [
        value(row)["source"] for row in run.in_order() if row["value"] and value(row)["op"] == "u"
    ]
    places = [source["ts_ms"] // 1000 << 32 | source["ord"] for source in updates]
    assert len(places) == 1000
    assert max(places) < consistent
    run.stop()
