"""Snapshots and changes through what looks like a mongos."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from bson.timestamp import Timestamp

from headrace.connectors.registry import check, parse_configuration
from tests.connectors.mongodb.harness import PLAIN, Reader
from tests.connectors.mongodb.reading.test_incremental import ask, begin, until_notified
from tests.connectors.mongodb.sharded.router import Router
from tests.servers.mongodb import MongoDatabase

pytestmark = pytest.mark.mongodb


@pytest.fixture
def router(mongo_database: MongoDatabase) -> Iterator[Router]:
    server = mongo_database.server
    with Router((server.host, server.port)) as router:
        yield router


def through(router: Router, **more: str) -> dict[str, str]:
    return {"mongodb_connection_string": router.uri, **more}


def operations(run: Reader) -> list[tuple[str, Any]]:
    values = [json.loads(record["value"]) for record in run.in_order() if record["value"]]
    return [(each["op"], each["source"]["collection"]) for each in values if "op" in each]


def test_a_collection_is_read_and_followed_through_a_router(
    mongo_database: MongoDatabase, router: Router
) -> None:
    orders = mongo_database.collections["orders"]
    orders.insert_many([{"_id": i} for i in range(5)])
    properties = PLAIN | mongo_database.properties(**through(router, snapshot_mode="initial"))
    run = Reader(properties)
    run.step_until(lambda: len(run.records) >= 5)
    orders.update_one({"_id": 1}, {"$set": {"n": 1}})
    run.step_until(lambda: len(run.records) >= 6)
    run.restart()
    orders.delete_one({"_id": 1})
    run.step_until(lambda: len(run.records) >= 8)
    run.stop()
    assert operations(run) == [("r", "orders")] * 5 + [("u", "orders"), ("d", "orders")]
    assert run.offsets[-1]["system"].startswith("/")  # no replica set has a name


def test_an_incremental_snapshot_goes_through_a_router(
    mongo_database: MongoDatabase, router: Router
) -> None:
    mongo_database.collections["a"].insert_many([{"_id": i} for i in range(10)])
    run = begin(mongo_database, **through(router))
    ask(mongo_database, "a")
    until_notified(run, "COMPLETED")
    run.stop()
    assert operations(run).count(("r", "a")) == 10


def test_the_check_takes_a_router_for_a_sharded_cluster(
    mongo_database: MongoDatabase, router: Router
) -> None:
    mongo_database.collections["orders"].insert_one({})
    properties = mongo_database.properties(**through(router))
    findings = {finding.code: finding for finding in check(parse_configuration(properties))}
    assert {finding.level for finding in findings.values()} == {"ok"}
    assert "a sharded cluster" in findings["mongodb.version"].message


def test_reads_through_a_router_that_knows_of_nothing_wait_for_the_last_operation(
    mongo_database: MongoDatabase, router: Router
) -> None:
    router.known = Timestamp(1, 1)
    mongo_database.collections["orders"].insert_one({"_id": 1})
    before = mongo_database.client.admin.command("ping")["operationTime"]
    more = through(router, snapshot_mode="initial_only")
    run = Reader(PLAIN | mongo_database.properties(**more))
    run.step_until(lambda: bool(run.records))
    run.stop()
    finds = [each for each in router.commands if each.get("find") == "orders"]
    assert finds
    assert all(each["readConcern"]["afterClusterTime"] >= before for each in finds)
