"""Events above 16 MB, cut by a server that can do it (MongoDB 6.0.9, 7.0 and later)."""

from __future__ import annotations

import json

import pytest

from tests.connectors.mongodb.harness import Reader
from tests.servers.mongodb import MongoDatabase, create_with_images

pytestmark = pytest.mark.mongodb

MEGABYTES = 9 << 20
CUTS = (6, 0, 9)


@pytest.fixture
def cutting_database(mongo_database: MongoDatabase) -> MongoDatabase:
    version = mongo_database.client.admin.command("buildInfo")["versionArray"]
    if tuple(version[:3]) < CUTS:
        pytest.skip("this mongod cuts no events: HEADRACE_MONGOD names one of 6.0.9 or later")
    return mongo_database


def test_an_event_that_the_server_cuts_comes_whole_and_is_not_repeated_after_a_restart(
    cutting_database: MongoDatabase,
) -> None:
    create_with_images(cutting_database.collections, "large")
    large = cutting_database.collections["large"]
    run = Reader.begin(
        cutting_database,
        capture_mode="change_streams_update_full_with_pre_image",
        capture_mode_full_update_type="post_image",
        cursor_oversize_handling_mode="split",
        headrace_range_max_rows="1",
    )
    large.insert_one({"_id": 1, "text": "a" * MEGABYTES})
    large.update_one({"_id": 1}, {"$set": {"text": "b" * MEGABYTES}})
    run.until(2)
    large.delete_one({"_id": 1})
    values = [value for value in run.restart().values(3) if value is not None]
    run.stop()
    assert [value["op"] for value in values] == ["c", "u", "d"]
    changed = values[1]
    assert json.loads(changed["before"]) == {"_id": 1, "text": "a" * MEGABYTES}
    assert json.loads(changed["after"]) == {"_id": 1, "text": "b" * MEGABYTES}
    assert len(changed["updateDescription"]["updatedFields"]) > MEGABYTES
