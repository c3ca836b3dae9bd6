"""Servers that take MongoDB's drivers and refuse what headrace sends, by the words in which they
were seen to refuse it: Amazon DocumentDB, and Atlas's Free and Flex clusters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from bson.int64 import Int64

from headrace.connectors.mongodb.connection import connect
from headrace.connectors.mongodb.streaming.oplog_watch import read_window
from headrace.connectors.registry import check, parse_configuration
from headrace.errors import HeadraceError
from headrace.findings import Finding
from tests.connectors.mongodb.harness import Reader
from tests.connectors.mongodb.streaming.scripted import token
from tests.connectors.mongodb.test_other_servers import SECONDS, Cluster, batch, properties
from tests.servers.scripted_mongodb import NOW, Answer, Document, ScriptedServer, refused

ATLAS = 8000
NOT_ALLOWED = refused(ATLAS, "AtlasError", "command is not allowed in this Atlas tier")
NO_USERS: Document = {"authInfo": {"authenticatedUsers": [], "authenticatedUserPrivileges": []}}
DOCUMENTDB_TOKEN = {"_data": "016a96c50200000009010000000000004324"}


def first(namespace: str, *documents: Document) -> Document:
    return {"cursor": {"firstBatch": list(documents), "id": Int64(0), "ns": namespace}}


def find(command: Document) -> Document:
    """Some documents, and an oplog that began an hour ago."""
    if command["$db"] == "local":
        way = command["sort"]["$natural"]
        stamp = type(NOW)(NOW.time - (3600 if way == 1 else 0), 1)
        return first("local.oplog.rs", {"ts": stamp})
    return first("shop.orders", {"_id": 1})


def open_stream(command: Document) -> Document:
    return batch("firstBatch", (), token(SECONDS), 7)


def server(**answers: Answer) -> ScriptedServer:
    """A replica set of MongoDB but for these answers."""
    usual: Mapping[str, Answer] = {
        "aggregate": open_stream,
        "connectionStatus": lambda _: NO_USERS,
        "find": find,
        "collStats": lambda _: {"count": 1, "size": 95, "maxSize": 100},
        "listDatabases": lambda _: {"databases": [{"name": "shop"}]},
        "listCollections": lambda _: first(
            "shop.$cmd.listCollections", {"name": "orders", "type": "collection"}
        ),
    }
    return ScriptedServer((5, 0, 0), {**usual, **answers}, "rs0")


def findings(scripted: ScriptedServer, **more: str) -> dict[str, Finding]:
    with scripted:
        reported = check(parse_configuration(properties(scripted.uri, **more)))
    return {each.code: each for each in reported}


def refusal(scripted: ScriptedServer, **more: str) -> HeadraceError:
    """The error of a start."""
    with scripted:
        reader = Reader(properties(scripted.uri, **more))
        with pytest.raises(HeadraceError) as caught:
            reader.open().validate(None)
        reader.stop()
    return caught.value


def without_start_after(command: Document) -> Document:
    if "startAfter" in command["pipeline"][0]["$changeStream"]:
        text = "BSON field '$changeStream.startAfter' is an unknown field."
        return refused(40415, "Location40415", text)
    return open_stream(command)


def of_other_tokens(command: Document) -> Document:
    return batch("firstBatch", (), DOCUMENTDB_TOKEN, 7)


def without_tokens(command: Document) -> Document:
    return {"cursor": {"firstBatch": [], "id": Int64(7), "ns": "admin.$cmd.aggregate"}}


def without_stages(command: Document) -> Document:
    return refused(303, "Location303", "Feature not supported: $bsonSize")


@pytest.mark.parametrize(
    ("aggregate", "why"),
    [
        (without_start_after, "startAfter"),
        (of_other_tokens, "resume tokens of another form"),
        (without_tokens, "postBatchResumeToken"),
        (without_stages, "$bsonSize"),
    ],
)
def test_a_server_that_only_resembles_mongodb_is_refused_by_check_and_start(
    aggregate: Answer, why: str
) -> None:
    finding = findings(server(aggregate=aggregate))["mongodb.unsupported_server"]
    assert finding.level == "error"
    assert why in finding.message
    assert "Amazon DocumentDB" in finding.remedy
    error = refusal(server(aggregate=aggregate))
    assert (error.code, error.retriable) == ("mongodb.unsupported_server", False)


def test_a_snapshot_without_a_stream_is_refused_where_reads_know_no_cluster_time() -> None:
    def causal(command: Document) -> Document:
        if "afterClusterTime" in command.get("readConcern", {}):
            return refused(303, "Location303", "Feature not supported: 'causal consistency'")
        return find(command)

    scripted = server(find=causal)
    with scripted:
        reader = Reader(properties(scripted.uri) | {"snapshot.mode": "initial_only"})
        with pytest.raises(HeadraceError) as caught:
            reader.step_until(lambda: bool(reader.records))
        reader.stop()
    assert caught.value.code == "mongodb.unsupported_server"
    assert "causal consistency" in caught.value.message


def test_a_filter_that_the_cluster_of_atlas_does_not_take_is_named() -> None:
    text = (
        "Error validating $match value for change streams. err=ns field has bson.D value that is "
        "not string or valid MongoDb RegEx"
    )
    scripted = server(aggregate=lambda _: refused(ATLAS, "AtlasError", text))
    error = refusal(scripted, filters_match_mode="literal", collection_include_list="shop.orders")
    assert error.code == "mongodb.atlas_filter"
    assert "capture.scope" in error.remedy


def test_a_stream_that_can_be_resumed_is_opened_twice_by_the_check() -> None:
    scripted = server()
    assert findings(scripted)["mongodb.change_stream"].level == "ok"
    stages = [
        each["pipeline"][0]["$changeStream"] for each in scripted.commands if "aggregate" in each
    ]
    assert [each.get("startAfter") for each in stages] == [None, token(SECONDS)]


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ({"find": lambda c: NOT_ALLOWED if c["$db"] == "local" else find(c)}, "not allowed in"),
        ({"find": lambda c: first("local.oplog.rs") if c["$db"] == "local" else find(c)}, ""),
    ],
)
def test_an_oplog_that_cannot_be_read_is_a_warning(answers: dict[str, Any], why: str) -> None:
    finding = findings(server(**answers))["mongodb.oplog_unread"]
    assert finding.level == "warning"
    assert finding.message.startswith("The oplog cannot be read")
    assert why in finding.message
    assert "headrace.oplog.watch.interval" in finding.remedy


@pytest.mark.parametrize("stats", [lambda _: NOT_ALLOWED, lambda _: {"count": 0, "size": 0}])
def test_an_oplog_of_unknown_size_counts_as_full(
    stats: Callable[[Document], Document],
) -> None:
    scripted = server(
        collStats=lambda c: stats(c) if c["$db"] == "local" else {"count": 1, "size": 9}
    )
    finding = findings(scripted, headrace_oplog_window_min="86400000")["mongodb.oplog_short"]
    assert (finding.level, "1:00:00" in finding.message) == ("warning", True)


def test_the_watch_sees_no_oplog_through_a_mongos() -> None:
    cluster = Cluster()
    text = "Can't use 'local' database through mongos"
    cluster.server.answers = {
        **cluster.server.answers,
        "find": lambda _: refused(20, "IllegalOperation", text),
    }
    with (
        cluster.server as scripted,
        connect(parse_configuration(properties(scripted.uri))) as client,  # type: ignore[arg-type]
    ):
        assert read_window(client, 0) is None
