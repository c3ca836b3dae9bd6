from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import bson
import pytest
from pymongo import monitoring
from pymongo.errors import OperationFailure

from headrace.connectors.mongodb.position import token_time
from headrace.connectors.mongodb.streaming.cursor import (
    ChangeStream,
    ChangeStreamCursor,
    Client,
    OneServer,
    after_token,
    from_time,
)
from headrace.connectors.mongodb.streaming.progress import StreamProgress
from headrace.connectors.mongodb.streaming.replies import Reply
from tests.connectors.harness import PATIENCE_SECONDS
from tests.servers.mongodb import MongoDatabase, kill_cursors, step_down, wait_until

pytestmark = pytest.mark.mongodb

INSERTS = [{"$match": {"operationType": "insert"}}]


class Sent(monitoring.CommandListener):
    """The commands of cursors, and the servers that they ask for."""

    def __init__(self) -> None:
        self.preferences: list[tuple[str, str]] = []

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        if event.command_name in ("aggregate", "getMore", "killCursors"):
            preference = event.command.get("$readPreference", {"mode": "primary"})
            self.preferences.append((event.command_name, preference["mode"]))

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        """Not looked at."""

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        """Not looked at."""


@pytest.fixture
def open_cursor(mongo_database: MongoDatabase) -> Iterator[Callable[..., ChangeStreamCursor]]:
    """A function that makes a change stream of the database, or of one of its collections."""
    cursors = []

    def made(collection: str | None = None, **more: Any) -> ChangeStreamCursor:
        def connect(server: OneServer) -> Client:
            return mongo_database.server.connect(server_selector=server)

        stream = ChangeStream(mongo_database.name, collection, **{"pipeline": INSERTS} | more)
        cursors.append(ChangeStreamCursor(connect, stream, StreamProgress()))
        return cursors[-1]

    yield made
    for cursor in cursors:
        cursor.close()


def events(reply: Reply) -> list[dict[str, Any]]:
    return list(bson.decode(reply.data[reply.first : reply.last]).values())


def keys_until(cursor: ChangeStreamCursor, last: int) -> list[int]:
    """The keys of the inserted documents up to the one with the key `last`."""
    keys: list[int] = []

    def arrived() -> bool:
        keys.extend(event["documentKey"]["_id"] for event in events(cursor.more(0.2)))
        return last in keys

    wait_until(arrived, "the event never came", PATIENCE_SECONDS)
    return keys


def test_batches_follow_one_another_and_say_where_to_continue(
    mongo_database: MongoDatabase, open_cursor: Callable[..., ChangeStreamCursor]
) -> None:
    rows = mongo_database.collections["rows"]
    cursor = open_cursor()
    start = cursor.open({}).token
    for key in range(250):  # more than the server's first batch
        rows.insert_one({"_id": key})
    assert keys_until(cursor, 249) == list(range(250))
    again = open_cursor()
    first = events(again.open(after_token(start)))
    assert [event["documentKey"]["_id"] for event in first] == list(range(len(first)))
    middle = bson.encode(first[10]["_id"])
    other = open_cursor()
    assert events(other.open(after_token(middle)))[0]["documentKey"]["_id"] == 11
    empty = open_cursor()
    before = empty.open(from_time(token_time(middle)), batch_size=0)
    assert before.is_empty
    assert token_time(before.token) == token_time(middle)
    assert keys_until(empty, 249) == list(range(10, 250))
    timed = open_cursor()
    assert events(timed.open(from_time(token_time(middle))))[0]["documentKey"]["_id"] == 10


def test_an_empty_batch_comes_after_the_time_that_was_given(
    mongo_database: MongoDatabase, open_cursor: Callable[..., ChangeStreamCursor]
) -> None:
    cursor = open_cursor(await_ms=50)
    opened = cursor.open({})
    assert opened.is_empty
    mongo_database.client["elsewhere"]["rows"].insert_one({})
    wait_until(
        lambda: token_time(cursor.more(60).token) > token_time(opened.token),
        "changes that are not captured never moved the token",
    )
    assert cursor.more(60).is_empty


def test_a_killed_cursor_is_replaced(
    mongo_database: MongoDatabase, open_cursor: Callable[..., ChangeStreamCursor]
) -> None:
    rows = mongo_database.collections["rows"]
    progress = StreamProgress()
    cursor = open_cursor()
    cursor._progress = progress
    cursor.open({})
    rows.insert_one({"_id": 1})
    assert keys_until(cursor, 1) == [1]
    rows.insert_one({"_id": 2})
    assert kill_cursors(mongo_database.server)
    rows.insert_one({"_id": 3})
    assert keys_until(cursor, 3) == [2, 3]
    assert progress.to_json()["NumberOfDisconnects"] == 1
    assert progress.to_json()["NumberOfPrimaryElections"] == 0


def test_a_primary_that_steps_down_is_followed_by_the_next_one(
    mongo_database: MongoDatabase, open_cursor: Callable[..., ChangeStreamCursor]
) -> None:
    rows = mongo_database.collections["rows"]
    cursor = open_cursor()
    cursor.open({})
    rows.insert_one({"_id": 1})
    assert keys_until(cursor, 1) == [1]
    step_down(mongo_database.server)
    rows.insert_one({"_id": 2})
    assert keys_until(cursor, 2) == [2]
    assert cursor._progress.to_json()["NumberOfPrimaryElections"] == 1


def test_a_primary_that_dies_counts_as_an_election(
    mongo_database: MongoDatabase, open_cursor: Callable[..., ChangeStreamCursor]
) -> None:
    server, rows = mongo_database.server, mongo_database.collections["rows"]
    cursor = open_cursor()
    cursor.open({})
    server.kill()
    server.start()
    rows.insert_one({"_id": 1})
    assert keys_until(cursor, 1) == [1]
    assert cursor._progress.to_json()["NumberOfPrimaryElections"] == 1


@pytest.mark.parametrize("preference", ["primary", "secondaryPreferred", "nearest"])
def test_servers_are_chosen_as_the_connection_string_says(
    mongo_database: MongoDatabase, preference: str
) -> None:
    sent = Sent()

    def connect(server: OneServer) -> Client:
        return mongo_database.server.connect(
            server_selector=server, readPreference=preference, event_listeners=[sent]
        )

    cursor = ChangeStreamCursor(connect, ChangeStream(mongo_database.name), StreamProgress())
    cursor.open({})
    cursor.more(0.1)
    cursor.close()
    names = ["aggregate", "getMore", "killCursors"]
    assert sent.preferences == [(name, preference) for name in names]


@pytest.mark.parametrize("pipeline", [[], INSERTS])
def test_a_collection_that_is_dropped_and_comes_back_is_followed(
    mongo_database: MongoDatabase,
    open_cursor: Callable[..., ChangeStreamCursor],
    pipeline: list[dict[str, Any]],
) -> None:
    rows = mongo_database.collections["rows"]
    cursor = open_cursor("rows", pipeline=pipeline)
    cursor.open({})
    for key in (1, 2):
        rows.insert_one({"_id": key})
        keys: list[int] = []

        def arrived(key: int = key, keys: list[int] = keys) -> bool:
            batch = events(cursor.more(0.2))
            keys += [event["documentKey"]["_id"] for event in batch if "documentKey" in event]
            return key in keys

        wait_until(arrived, "the event never came", PATIENCE_SECONDS)
        assert keys == [key]
        rows.drop()
        wait_until(lambda: cursor.more(0.2).cursor == 0, "the stream never ended")
        assert cursor.more(0.2).cursor != 0


def test_an_error_that_another_cursor_does_not_repair_is_the_drivers(
    open_cursor: Callable[..., ChangeStreamCursor],
) -> None:
    cursor = open_cursor(pipeline=[{"$nothing": {}}])
    with pytest.raises(OperationFailure, match="nothing"):
        cursor.open({})


def test_one_server_is_kept_while_it_may_be_used() -> None:
    servers = [SimpleNamespace(address=("host", port)) for port in range(20)]
    choose = OneServer()
    (chosen,) = choose(servers)
    assert all(choose(servers[i:] + servers[:i]) == [chosen] for i in range(20))
    others = [server for server in servers if server is not chosen]
    (other,) = choose(others)
    assert choose(servers) == [other]
    assert choose([]) == []
