"""Deployments that no `mongod` of the tests can be, by their answers as MongoDB's manual has them:
sharded clusters, events that come in fragments, other versions, members that cannot be reached."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import bson
import pytest
from bson.int64 import Int64
from bson.timestamp import Timestamp

from headrace.connectors.registry import check, parse_configuration
from headrace.errors import HeadraceError
from tests.connectors.mongodb.harness import PLAIN, Reader
from tests.connectors.mongodb.streaming.scripted import event, token
from tests.servers.scripted_mongodb import NOW, Document, ScriptedServer, free_port, refused

SECONDS = NOW.time
LARGE = {"_id": 9, "region": "south", "text": "x" * 1000}


def properties(uri: str, **more: str) -> dict[str, str]:
    return (
        PLAIN
        | {
            "connector.class": "mongodb",
            "topic.prefix": "p",
            "mongodb.connection.string": uri,
            "mongodb.server.selection.timeout.ms": "600000",
            "headrace.oplog.watch.interval": "0",
            "errors.max.retries": "0",
        }
        | {name.replace("_", "."): text for name, text in more.items()}
    )


def batch(kind: str, events: Sequence[Document], token: Document, cursor: int) -> Document:
    """The reply to `aggregate` or `getMore` of a change stream."""
    members = {"postBatchResumeToken": token, "id": Int64(cursor), "ns": "admin.$cmd.aggregate"}
    return {"cursor": {kind: list(events), **members}}


class Cluster:
    """A sharded cluster behind one mongos: the collection shop.orders, sharded by region, and a
    change stream of these events."""

    documents = ({"_id": 1, "region": "north"}, {"_id": 2, "region": "south"})

    def __init__(self, events: Sequence[Document] = ()) -> None:
        self._events = events
        self.server = ScriptedServer(
            (7, 0, 12),
            {
                "aggregate": self._aggregate,
                "getMore": lambda _: batch("nextBatch", (), token(SECONDS + 90), 7),
                "listDatabases": lambda _: {"databases": [{"name": "shop"}, {"name": "config"}]},
                "listCollections": lambda _: self._first(
                    "shop.$cmd.listCollections", [{"name": "orders", "type": "collection"}]
                ),
                "collStats": lambda _: {"sharded": True, "count": 2, "size": 80, "shards": {}},
                "explain": lambda _: {"queryPlanner": {"winningPlan": {"stage": "SHARD_MERGE"}}},
                "find": self._find,
            },
        )

    def _first(self, namespace: str, documents: Sequence[Document]) -> Document:
        return {"cursor": {"firstBatch": list(documents), "id": Int64(0), "ns": namespace}}

    def _find(self, command: Document) -> Document:
        documents = () if "_id" in (command.get("filter") or {}) else self.documents
        return self._first("shop.orders", documents[: command.get("limit") or None])

    def _aggregate(self, command: Document) -> Document:
        stream = command["pipeline"][0]["$changeStream"]
        start = stream.get("startAfter")
        tokens = [event["_id"] for event in self._events]
        if command["cursor"].get("batchSize") == 0:
            return batch("firstBatch", (), start or token(SECONDS), 7)
        rest = self._events[tokens.index(start) + 1 :] if start in tokens else self._events
        return batch("firstBatch", rest, tokens[-1] if tokens else token(SECONDS + 90), 7)


def order(operation: str, increment: int, shard: str, key: int, **more: Any) -> Document:
    """An event of shop.orders. Events of two shards may have one cluster time."""
    return event(
        operation,
        SECONDS + 5,
        increment,
        key,
        _id=token(SECONDS + 5, increment, shard.encode().hex().upper()),
        ns={"db": "shop", "coll": "orders"},
        documentKey={"region": shard, "_id": key},
        wallTime=bson.DatetimeMS(1000 * (SECONDS + 5)),
        **more,
    )


def test_events_of_two_shards_at_one_time_are_distinguished_and_have_the_id_as_their_key() -> None:
    events = [
        order("insert", 1, "north", 1, fullDocument={"_id": 1, "region": "north"}),
        order("insert", 1, "south", 2, fullDocument={"_id": 2, "region": "south"}),
        order("delete", 2, "north", 1),
    ]
    cluster = Cluster(events)
    with cluster.server as server:
        reader = Reader(properties(server.uri))
        reader.step_until(lambda: len(reader.records) >= 4)
        records = reader.in_order()
        # In the middle of one cluster time a restart continues after the event's own token.
        reader.stop()
    assert [record["key"] for record in records] == [
        '{"id":"1"}',
        '{"id":"2"}',
        '{"id":"1"}',
        '{"id":"1"}',
    ]
    assert len({record["sequence"] for record in records}) == 4
    stage = streams(server.commands)[-1]["pipeline"][0]["$changeStream"]
    assert stage["allChangesForCluster"] is True
    assert reader.offsets[-1]["system"] == ""


def streams(commands: Sequence[Document]) -> list[Document]:
    return [
        command
        for command in commands
        if "aggregate" in command and "$changeStream" in (command["pipeline"] or [{}])[0]
    ]


def test_a_sharded_collection_is_read_through_the_mongos() -> None:
    cluster = Cluster()
    with cluster.server as server:
        reader = Reader(properties(server.uri) | {"snapshot.mode": "initial_only"})
        reader.step_until(lambda: len(reader.records) >= 2)
        reader.stop()
    assert [record["key"] for record in reader.in_order()] == ['{"id":"1"}', '{"id":"2"}']
    finds = [command for command in server.commands if "find" in command]
    assert all(command["find"] == "orders" for command in finds)


def test_reads_through_a_mongos_see_what_any_shard_did_before_them() -> None:
    """A ping of a mongos shows what this mongos knows; the stream may have begun at another one,
    which knew more."""
    cluster = Cluster()
    later = Timestamp(SECONDS + 7, 1)
    databases = cluster.server.answers["listDatabases"]
    cluster.server.answers = {
        **cluster.server.answers,
        "listDatabases": lambda c: {**(databases(c) or {}), "operationTime": later},
    }
    with cluster.server as server:
        reader = Reader(properties(server.uri) | {"snapshot.mode": "initial_only"})
        reader.step_until(lambda: len(reader.records) >= 2)
        reader.stop()
    ranges = [
        command for command in server.commands if "find" in command and "projection" not in command
    ]
    assert ranges
    assert {command["readConcern"].get("afterClusterTime") for command in ranges} == {later}


def test_the_check_knows_a_sharded_cluster_and_does_not_look_for_its_oplog() -> None:
    with Cluster().server as server:
        findings = check(parse_configuration(properties(server.uri)))
    assert {finding.level for finding in findings} == {"ok"}
    messages = {finding.code: finding.message for finding in findings}
    assert messages["mongodb.version"] == "MongoDB 7.0.12, a sharded cluster, answers"
    assert "The oplogs of shards are not looked at" in messages["mongodb.oplog"]


def test_a_mongos_is_of_no_replica_set() -> None:
    with Cluster().server as server:
        server_properties = properties(f"{server.uri}?replicaSet=rs0")
        (finding,) = check(parse_configuration(server_properties))
    assert (finding.code, finding.level) == ("mongodb.no_replica_set", "error")
    assert "Leave replicaSet= out" in finding.remedy


def test_an_event_in_fragments_becomes_one_event_and_is_resumed_after_the_last_one() -> None:
    whole = order(
        "update",
        3,
        "south",
        9,
        fullDocumentBeforeChange=LARGE | {"n": 1},
        fullDocument=LARGE | {"n": 2},
        updateDescription={"updatedFields": {"n": 2}, "removedFields": [], "truncatedArrays": []},
    )
    shared = ("operationType", "clusterTime", "wallTime", "ns", "documentKey")
    parts: list[Mapping[str, Any]] = [
        {name: whole[name] for name in (*shared, "fullDocumentBeforeChange")},
        {name: whole[name] for name in ("fullDocument",)},
        {name: whole[name] for name in ("updateDescription",)},
    ]
    fragments = [
        {
            "_id": token(SECONDS + 5, 3, f"F{number}"),
            "splitEvent": {"fragment": number, "of": len(parts)},
            **part,
        }
        for number, part in enumerate(parts, 1)
    ]
    cluster = Cluster([*fragments, order("delete", 4, "south", 9)])
    with cluster.server as server:
        mode = {"cursor.oversize.handling.mode": "split", "headrace.range.max.rows": "1"}
        modes = {"capture.mode": "change_streams_update_full_with_pre_image"}
        reader = Reader(properties(server.uri) | mode | modes)
        reader.until(1)
        resume_token = reader.offsets[-1]["resume_token"]
        reader.restart().until(3)
        reader.stop()
    values = [json.loads(record["value"]) for record in reader.in_order()[:2]]
    assert [value["op"] for value in values] == ["u", "d"]
    assert json.loads(values[0]["before"]) == LARGE | {"n": 1}
    assert json.loads(values[0]["after"]) == LARGE | {"n": 2}
    assert values[0]["updateDescription"]["updatedFields"] == '{"n": 2}'
    stages = streams(server.commands)
    assert all(stage["pipeline"][-1] == {"$changeStreamSplitLargeEvent": {}} for stage in stages)
    starts = [stage["pipeline"][0]["$changeStream"].get("startAfter") for stage in stages]
    assert fragments[-1]["_id"] in starts
    assert resume_token


IMAGES_MISSING = {
    # The messages of versions 4.4 and 5.0, which do not know the option, and the value.
    "change_streams_with_pre_image": refused(
        40415,
        "Location40415",
        "BSON field '$changeStream.fullDocumentBeforeChange' is an unknown field.",
    ),
    "change_streams_update_full": refused(
        2,
        "BadValue",
        "Enumeration value 'whenAvailable' for field '$changeStream.fullDocument' is not a valid "
        "value.",
    ),
}


@pytest.mark.parametrize("mode", IMAGES_MISSING)
def test_images_are_refused_by_servers_before_version_6(mode: str) -> None:
    user: Document = {"authInfo": {"authenticatedUsers": [], "authenticatedUserPrivileges": []}}
    answers = {
        "aggregate": lambda _: IMAGES_MISSING[mode],
        "connectionStatus": lambda _: user,
        "listDatabases": lambda _: {"databases": []},
    }
    server = ScriptedServer((5, 0, 4), answers, "rs0")
    more = {"capture_mode": mode, "capture_mode_full_update_type": "post_image"}
    with server:
        reader = Reader(properties(server.uri, **more))
        with pytest.raises(HeadraceError) as caught:
            reader.open().validate(None)
        reader.stop()
    assert (caught.value.code, caught.value.retriable) == ("mongodb.no_images", False)
    assert "MongoDB 6" in caught.value.remedy


def test_events_of_servers_before_version_6_have_the_time_of_the_cluster() -> None:
    changes = [event("insert", SECONDS + 5, 1, fullDocument={"_id": 1})]

    def aggregate(command: Document) -> Document:
        if command["cursor"].get("batchSize") == 0:
            return batch("firstBatch", (), token(SECONDS), 7)
        return batch("firstBatch", changes, changes[-1]["_id"], 7)

    answers = {
        "aggregate": aggregate,
        "getMore": lambda _: batch("nextBatch", (), token(SECONDS + 9), 7),
    }
    with ScriptedServer((4, 4, 29), answers, "rs0") as server:
        reader = Reader(properties(server.uri))
        reader.until(1)
        reader.stop()
    source = json.loads(reader.records[0]["value"])["source"]
    assert (source["ts_ms"], source["wallTime"], source["ord"]) == (1000 * (SECONDS + 5), None, 1)


def test_a_primary_that_cannot_be_reached_from_here_is_named() -> None:
    hidden = f"127.0.0.1:{free_port()}"
    server = ScriptedServer((7, 0, 12), {}, "rs0")
    hello = {**server.answer({"hello": 1}), "isWritablePrimary": False, "ismaster": False}
    server._hello = lambda: {  # type: ignore[method-assign]
        **hello,
        "secondary": True,
        "hosts": [hidden, hello["me"]],
        "primary": hidden,
    }
    with server:
        server_properties = properties(server.uri) | {"connection.validation.timeout.ms": "300"}
        (finding,) = check(parse_configuration(server_properties))
    assert finding.code == "mongodb.unreachable"
    assert hidden in finding.message
    assert "rs.conf()" in finding.remedy
