from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import bson
import pytest
from pymongo.client_session import ClientSession

from headrace.connectors.mongodb.reading.document_images import id_of
from headrace.connectors.mongodb.reading.id_ranges import (
    IdRange,
    id_after,
    largest_id,
    read_batches,
)
from tests.connectors.mongodb.reading.ids import MIXED, raw_ids
from tests.servers.mongodb import MongoDatabase

pytestmark = pytest.mark.mongodb
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "clustered": {"clusteredIndex": {"key": {"_id": 1}, "unique": True}},
    "capped": {"capped": True, "size": 100_000},
    "collated": {"collation": {"locale": "en", "strength": 2}},
}


@pytest.fixture
def session(mongo_database: MongoDatabase) -> Iterator[ClientSession]:
    with mongo_database.client.start_session() as session:
        yield session


def ids(
    database: MongoDatabase, session: ClientSession, id_range: IdRange, **more: bool
) -> list[bytes]:
    return [
        id_of(block, row)
        for block in read_batches(database.client, session, id_range, **more)
        for row in range(len(block.offsets) - 1)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_ranges_cross_the_types_of_ids(
    mongo_database: MongoDatabase, session: ClientSession, kind: str
) -> None:
    mongo_database.collections.create_collection(kind, **KINDS[kind])
    mongo_database.collections[kind].insert_many([{"_id": value, "n": 1} for value in MIXED])
    whole = IdRange(mongo_database.name, kind)
    present = ids(mongo_database, session, whole)
    assert present == raw_ids()
    bounds = [None, *present[::4], None]
    for lower, upper in itertools.pairwise(bounds):
        first = 0 if lower is None else present.index(lower)
        last = len(present) if upper is None else present.index(upper)
        run = IdRange(mongo_database.name, kind, lower, upper)
        assert ids(mongo_database, session, run) == present[first:last]
        rest = IdRange(mongo_database.name, kind, lower, upper, ends_with=True)
        assert (
            ids(mongo_database, session, rest, excludes_lower=lower is not None)
            == present[first + (lower is not None) : last + 1]
        )
    top = IdRange(mongo_database.name, kind, present[-1])
    assert ids(mongo_database, session, top) == present[-1:]
    assert largest_id(mongo_database.client, session, whole) == present[-1]


def test_a_range_has_a_condition_and_a_limit(
    mongo_database: MongoDatabase, session: ClientSession
) -> None:
    mongo_database.collections["t"].insert_many([{"_id": i, "n": i % 3} for i in range(300)])
    condition = bson.encode({"n": 1})
    id_range = IdRange(mongo_database.name, "t", condition=condition, limit=20, batch=7)
    expected = [b"\x10" + (3 * i + 1).to_bytes(4, "little") for i in range(100)]
    assert ids(mongo_database, session, id_range) == expected[:20]
    rest = IdRange(
        mongo_database.name, "t", expected[4], expected[50], ends_with=True, condition=condition
    )
    assert ids(mongo_database, session, rest, excludes_lower=True) == expected[5:51]
    assert id_after(mongo_database.client, session, rest, 10) == expected[14]
    assert id_after(mongo_database.client, session, rest, 1000) is None
    assert largest_id(mongo_database.client, session, rest) == expected[-1]


def test_a_read_whose_cursor_is_killed_continues_after_the_last_document(
    mongo_database: MongoDatabase, session: ClientSession
) -> None:
    mongo_database.collections["t"].insert_many([{"_id": i} for i in range(1000)])
    id_range = IdRange(mongo_database.name, "t", batch=100)
    read = []
    for number, block in enumerate(read_batches(mongo_database.client, session, id_range)):
        read += [id_of(block, row) for row in range(len(block.offsets) - 1)]
        if number % 3 == 0:
            kill_reads(mongo_database)
    assert read == [b"\x10" + i.to_bytes(4, "little") for i in range(1000)]


def kill_reads(database: MongoDatabase) -> None:
    """Kills the open cursors of the collection `t`."""
    stages: list[dict[str, object]] = [
        {"$currentOp": {"allUsers": True, "idleCursors": True}},
        {"$match": {"ns": f"{database.name}.t", "cursor": {"$exists": True}}},
    ]
    with database.server.connect() as client:
        cursors = [operation["cursor"]["cursorId"] for operation in client.admin.aggregate(stages)]
        assert cursors
        client[database.name].command("killCursors", "t", cursors=cursors)
