"""Bad input gets one message, a code and a remedy, and leaves nothing that is half made; where
Debezium continues, the connector does, too."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest

from headrace.connectors.registry import check, parse_configuration
from headrace.errors import HeadraceError
from headrace.testing.mongodb import MongoServer
from tests.connectors.attempt import SECRET, Attempt, attempt
from tests.connectors.mongodb.harness import PLAIN, Reader
from tests.servers.mongodb import MongoDatabase
from tests.servers.mongodb_kinds import GuardedServer, IdleServer, LoneServer

__all__ = ["attempt"]

pytestmark = pytest.mark.mongodb

NEVER = "600000"
"""Milliseconds that no test waits for."""


def properties_of(server: MongoServer, uri: str | None = None, **more: str) -> dict[str, str]:
    """`more` are properties with `_` for `.`."""
    return {
        "connector.class": "io.debezium.connector.mongodb.MongoDbConnector",
        "topic.prefix": "p",
        "mongodb.connection.string": uri or server.uri,
        # No error has to wait until a server can be used.
        "mongodb.server.selection.timeout.ms": NEVER,
    } | {name.replace("_", "."): text for name, text in more.items()}


def databases(server: MongoServer) -> set[str]:
    with server.connect_to_member() as client:
        return set(client.list_database_names())


@pytest.mark.parametrize("names_a_set", [True, False])
def test_a_lone_server_is_refused(
    mongodb: MongoServer, attempt: Attempt, names_a_set: bool
) -> None:
    assert mongodb.running
    with LoneServer() as server:
        server.start()
        before = databases(server)
        uri = server.uri if names_a_set else f"mongodb://127.0.0.1:{server.port}"
        error, remedy = attempt.refused(properties_of(server, uri))
        assert databases(server) == before
    assert "[mongodb.not_a_replica_set]" in error
    assert "--replSet" in remedy
    assert "rs.initiate()" in remedy


def test_a_replica_set_that_was_never_initiated_is_refused(
    mongodb: MongoServer, attempt: Attempt
) -> None:
    assert mongodb.running
    with IdleServer() as server:
        server.start()
        # It might have begun a moment ago, so the driver goes on looking.
        soon = {"mongodb_server_selection_timeout_ms": "1000"}
        error, remedy = attempt.refused(properties_of(server, **soon))
    assert "[mongodb.not_initiated]" in error
    assert "rs.initiate()" in remedy


def test_another_replica_set_is_refused_at_once(mongodb: MongoServer, attempt: Attempt) -> None:
    uri = mongodb.uri.replace("rs0", "rs1")
    error, remedy = attempt.refused(properties_of(mongodb, uri))
    assert "[mongodb.other_replica_set]" in error
    assert "is one of rs0" in error
    assert remedy == "remedy: Correct replicaSet= in mongodb.connection.string."


def test_the_check_says_at_once_that_the_replica_set_is_another_one(mongodb: MongoServer) -> None:
    properties = properties_of(mongodb, mongodb.uri.replace("rs0", "rs1"))
    (finding,) = check(
        parse_configuration(properties | {"connection.validation.timeout.ms": NEVER})
    )
    assert (finding.code, finding.level) == ("mongodb.other_replica_set", "error")
    # A limit that is over when the driver gives up leaves time to ask.
    properties |= {"mongodb.server.selection.timeout.ms": "30000"}
    (finding,) = check(
        parse_configuration(properties | {"connection.validation.timeout.ms": "200"})
    )
    assert finding.code == "mongodb.other_replica_set"


@pytest.fixture(scope="module")
def guarded(mongodb_servers: Callable[[str], MongoServer]) -> Iterator[GuardedServer]:
    assert mongodb_servers("plain").running
    with GuardedServer() as server:
        server.start()
        with server.connect_to_member() as client:
            client["shop"]["orders"].insert_one({})
        server.add_user("shop", {"role": "read", "db": "shop"})
        yield server


@pytest.mark.parametrize("user", ["root", "nobody"])
def test_a_wrong_login_is_refused(guarded: GuardedServer, attempt: Attempt, user: str) -> None:
    login = {"mongodb_user": user, "mongodb_password": SECRET}
    error, remedy = attempt.refused(properties_of(guarded, **login))
    assert "[mongodb.authentication]" in error
    assert "mongodb.password" in remedy


def test_a_user_without_the_privilege_for_the_stream_is_refused(
    guarded: GuardedServer, attempt: Attempt
) -> None:
    before = databases(guarded)
    login = {"mongodb_user": "shop", "mongodb_password": "shop"}
    error, remedy = attempt.refused(properties_of(guarded, **login))
    assert "[mongodb.no_privilege]" in error
    assert 'grantRolesToUser("shop", ["readAnyDatabase"])' in remedy
    assert databases(guarded) == before


@pytest.mark.parametrize("scope", ["deployment", "database", "collection"])
def test_a_database_that_is_not_there_is_waited_for(
    mongo_database: MongoDatabase, scope: str
) -> None:
    name = mongo_database.name
    more = {"capture_scope": scope}
    if scope != "deployment":
        more["capture_target"] = name if scope == "database" else f"{name}.rows"
    properties = mongo_database.properties(**more)
    codes = {
        finding.code
        for finding in check(parse_configuration(properties))
        if finding.level == "warning"
    }
    assert "mongodb.no_collections" in codes
    reader = Reader(PLAIN | properties | {"snapshot.mode": "initial"})
    reader.step_until(lambda: "snapshot" not in reader.offsets[-1] and len(reader.offsets) > 1)
    assert name not in databases(mongo_database.server)
    mongo_database.collections["rows"].insert_one({"_id": 1})
    reader.until(1)
    reader.stop()
    assert [record["key"] for record in reader.records] == ['{"id":"1"}']


@pytest.mark.parametrize(
    "stage",
    ['{"$project": {"_id": 0}}', '{"$unset": "_id"}', '{"$replaceWith": {"ns": "$ns"}}'],
)
def test_a_pipeline_that_says_that_it_drops_the_token_is_refused(
    mongodb: MongoServer, attempt: Attempt, stage: str
) -> None:
    error, remedy = attempt.refused(properties_of(mongodb, cursor_pipeline=f"[{stage}]"))
    assert "cursor.pipeline" in error
    assert "_id, which every event must keep" in error
    assert remedy


def fails(reader: Reader) -> HeadraceError:
    """The error that ends the query; Spark's log gets no range of it."""

    def poll_on() -> None:
        while True:
            reader.open().poll(reader.offsets[-1], timedelta(seconds=1))

    with pytest.raises(HeadraceError) as caught:
        poll_on()
    reader.stop()
    assert not caught.value.retriable
    return caught.value


def test_a_pipeline_that_drops_the_token_unseen_ends_the_query(
    mongo_database: MongoDatabase,
) -> None:
    rows = mongo_database.collections["rows"]
    stage = '[{"$replaceRoot": {"newRoot": {"$arrayToObject": [[]]}}}]'
    reader = Reader.begin(mongo_database, errors_max_retries="0", cursor_pipeline=stage)
    rows.insert_one({"_id": 1})
    error = fails(reader)
    assert error.code == "mongodb.pipeline_drops_id"
    assert "Leave _id, ns, operationType and documentKey" in error.remedy
    assert reader.records == []
    # Without the stage nothing is lost.
    reader.configure({k: v for k, v in reader.properties.items() if k != "cursor.pipeline"})
    reader.until(1)
    reader.stop()


def test_an_event_of_more_than_16_megabytes_ends_the_query_and_may_be_skipped(
    mongo_database: MongoDatabase,
) -> None:
    rows = mongo_database.collections["rows"]
    rows.insert_one({"_id": 1, "a": "x" * 10_000_000})
    reader = Reader.begin(mongo_database, errors_max_retries="0")
    rows.insert_one({"_id": 2})
    reader.until(1)
    rows.update_one({"_id": 1}, {"$set": {"b": "y" * 6_500_000}})
    rows.insert_one({"_id": 3})
    error = fails(reader)
    assert error.code == "mongodb.event_too_large"
    assert "cursor.oversize.handling.mode" in error.remedy
    assert len(reader.records) == 1
    skip = {"cursor.oversize.handling.mode": "skip", "cursor.oversize.skip.threshold": "8000000"}
    reader.configure({**reader.properties, **skip})
    reader.until(2)
    reader.stop()
    assert [record["key"] for record in reader.in_order()] == ['{"id":"2"}', '{"id":"3"}']


def test_images_that_are_not_kept_are_null_and_the_check_says_so(
    mongo_database: MongoDatabase,
) -> None:
    rows = mongo_database.collections["rows"]
    rows.insert_one({"_id": 1, "n": 0})
    more = {
        "capture_mode": "change_streams_update_full_with_pre_image",
        "capture_mode_full_update_type": "post_image",
    }
    reader = Reader.begin(mongo_database, **more)
    rows.update_one({"_id": 1}, {"$set": {"n": 1}})
    rows.delete_one({"_id": 1})
    update, delete, tombstone = reader.values(3)
    reader.stop()
    assert tombstone is None
    assert update is not None
    assert delete is not None
    assert [(value["op"], value["before"], value["after"]) for value in (update, delete)] == [
        ("u", None, None),
        ("d", None, None),
    ]
    findings = check(parse_configuration(mongo_database.properties(**more)))
    (warning,) = (finding for finding in findings if finding.level == "warning")
    assert warning.code == "mongodb.no_images"
    assert "changeStreamPreAndPostImages: {enabled: true}" in warning.remedy


@pytest.mark.parametrize("mode", ["fail", "warn", "skip"])
@pytest.mark.parametrize("kind", ["initial", "incremental", "stream"])
def test_a_document_in_which_a_new_name_is_taken_ends_the_query_or_is_left_out(
    mongo_database: MongoDatabase, caplog: pytest.LogCaptureFixture, kind: str, mode: str
) -> None:
    caplog.set_level(logging.WARNING)
    name, rows = mongo_database.name, mongo_database.collections["rows"]
    documents: list[dict[str, Any]] = [
        {"_id": 1, "a": 1},
        {"_id": 2, "a": 1, "b": 2},
        {"_id": 3, "b": 3},
        {"_id": 4, "a": 4},
    ]
    if kind != "stream":
        rows.insert_many(documents)
    properties = PLAIN | mongo_database.properties(
        snapshot_mode="initial" if kind == "initial" else "no_data",
        field_renames=f"{name}.rows.a:b",
        event_processing_failure_handling_mode=mode,
        collection_include_list=f"{name}.rows",
        signal_data_collection=f"{name}.signals",
        incremental_snapshot_chunk_size="2",
        errors_max_retries="0",
    )
    reader = Reader(properties)

    def rows_of() -> list[str]:
        topics = (f"headrace.{name}.rows",)
        return sorted(r["key"] for r in reader.records if r["topic"] in topics)

    def run() -> None:
        reader.step_until(lambda: len(reader.offsets) > 1)
        if kind == "stream":
            rows.insert_many(documents)
        if kind == "incremental":
            data = {"data-collections": [f"{name}.rows"]}
            signal = {"_id": "1", "type": "execute-snapshot", "data": data}
            mongo_database.collections["signals"].insert_one(signal)
        reader.step_until(lambda: len(rows_of()) >= 3)

    with closing(reader.open()):
        if mode == "fail":
            with pytest.raises(HeadraceError) as caught:
                run()
            assert caught.value.code == "documents.value_not_representable"
            assert "field.renames" in caught.value.message
            assert "event.processing.failure.handling.mode" in caught.value.remedy
        else:
            run()
            rows.insert_one({"_id": 5, "a": 5})
            reader.step_until(lambda: len(rows_of()) >= 4)
            assert [json.loads(key)["id"] for key in rows_of()] == ["1", "3", "4", "5"]
    warnings = [message for message in caplog.messages if "is left out" in message]
    assert len(warnings) == (1 if mode == "warn" else 0)
