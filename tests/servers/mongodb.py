"""One database of a shared MongoDB server, fresh for every test; what happens to its server."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pymongo
from pymongo import monitoring
from pymongo.database import Database
from pymongo.errors import PyMongoError
from pymongo.monitoring import (
    CommandFailedEvent,
    CommandListener,
    CommandStartedEvent,
    CommandSucceededEvent,
)

from headrace.testing.mongodb import MongoServer

Document = dict[str, Any]

# An oplog of one megabyte that is cut every second; it loses what is older than some 20 megabytes.
SMALL_OPLOG = {"oplogSize": "1", "syncdelay": "1"}
# Where nothing is written, the oplog goes on every second, and not every ten: what waits for the
# next entry waits less, and what compares with the last one more often.
TICKING = ("periodicNoopIntervalSecs=1",)

_numbers = itertools.count(1)
_SECONDS = 120.0


@dataclass(frozen=True)
class MongoDatabase:
    """A database name on a running server, with the usual ways to use it."""

    server: MongoServer
    name: str
    client: pymongo.MongoClient[Document]

    @classmethod
    def create(cls, server: MongoServer) -> MongoDatabase:
        name = f"test_{os.getpid()}_{next(_numbers)}"
        return cls(server, name, server.connect())

    def drop(self) -> None:
        self.client.drop_database(self.name)
        self.client.close()

    @property
    def collections(self) -> Database[Document]:
        return self.client[self.name]

    def properties(self, **more: str) -> dict[str, str]:
        """Debezium's connection properties, capturing this database; `more` uses `_` for `.`."""
        return {
            "connector.class": "io.debezium.connector.mongodb.MongoDbConnector",
            "topic.prefix": "headrace",
            "mongodb.connection.string": self.server.uri,
            "database.include.list": self.name,
            "cursor.max.await.time.ms": "50",  # a reader that ends waits for an answer
        } | {name.replace("_", "."): value for name, value in more.items()}


def create_with_images(database: Database[Document], name: str) -> None:
    """A collection that keeps the images of documents from before and after their changes."""
    database.create_collection(name, changeStreamPreAndPostImages={"enabled": True})


def step_down(server: MongoServer) -> None:
    """The primary steps down, its connections are closed, and an election follows."""
    with server.connect_to_member() as client:
        before = client.admin.command("replSetGetStatus")["term"]
        client.admin.command("replSetStepDown", 1, secondaryCatchUpPeriodSecs=0, force=True)

        def elected() -> bool:
            hello = client.admin.command("hello")
            return bool(hello["isWritablePrimary"]) and (
                client.admin.command("replSetGetStatus")["term"] > before
            )

        wait_until(elected, "no member became primary after the step-down")


def kill_cursors(server: MongoServer) -> int:
    """Kills every change stream on the server; how many there were."""
    with server.connect_to_member() as client:
        stages: list[Document] = [
            {"$currentOp": {"allUsers": True, "idleCursors": True}},
            {"$match": {"cursor.tailable": True}},
        ]
        cursors = list(client.admin.aggregate(stages))
        for cursor in cursors:
            database, _, collection = cursor["ns"].partition(".")
            client[database].command(
                "killCursors", collection, cursors=[cursor["cursor"]["cursorId"]]
            )
        return len(cursors)


class _ReadListener(CommandListener):  # type: ignore[misc]
    """Counts and meets the finds that read a range of `_id`."""

    def __init__(self, collection: str, act: Callable[[], object], times: int) -> None:
        self._collection, self._act, self._times = collection, act, times
        self.acts: list[object] = []

    def started(self, event: CommandStartedEvent) -> None:
        command = event.command
        if len(self.acts) == self._times or command.get("find") != self._collection:
            return
        if "max" in command and "projection" not in command:
            self.acts.append(None)
            self.acts[-1] = self._act()

    def succeeded(self, event: CommandSucceededEvent) -> None:
        """Does nothing."""

    def failed(self, event: CommandFailedEvent) -> None:
        """Does nothing."""

    def end(self) -> None:
        self._times = len(self.acts)


@contextmanager
def during_reads(collection: str, act: Callable[[], object], times: int) -> Iterator[list[object]]:
    """Calls `act` when clients that are made from now on read a range of `_id` of a collection,
    just before the server gets the query: the first `times` times. Yields the results."""
    listener = _ReadListener(collection, act, times)
    monitoring.register(listener)  # for ever: there is no way back
    try:
        yield listener.acts
    finally:
        listener.end()


def is_streamed(server: MongoServer) -> bool:
    """Whether headrace waits for changes at this moment."""
    stages: list[Document] = [
        {"$currentOp": {"allUsers": True}},
        {"$match": {"appName": "headrace", "op": "getmore", "cursor.tailable": True}},
    ]
    with server.connect_to_member() as client:
        return bool(list(client.admin.aggregate(stages)))


def lose_history(server: MongoServer) -> None:
    """Writes to a server with SMALL_OPLOG until its oplog has lost what it held before."""
    with server.connect() as client:
        oplog = client.local["oplog.rs"]
        first = oplog.find_one(sort=[("$natural", pymongo.DESCENDING)])
        assert first is not None
        filler = client["filler"]["filler"]
        block = [{"text": "x" * 1000} for _ in range(1000)]

        def lost() -> bool:
            filler.insert_many([dict(document) for document in block], ordered=False)
            oldest = oplog.find_one(sort=[("$natural", pymongo.ASCENDING)])
            assert oldest is not None
            return bool(oldest["ts"] > first["ts"])

        wait_until(lost, "the oplog keeps its oldest entries")
        client.drop_database("filler")


def wait_until(condition: Callable[[], object], otherwise: str, seconds: float = _SECONDS) -> None:
    """Waits for the condition, also over what a server says while it changes its state."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if condition():
                return
        except PyMongoError:
            if time.monotonic() > deadline:
                raise
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.02)
