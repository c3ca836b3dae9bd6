"""The MongoDB server of the benchmark."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pymongo
from pymongo.collection import Collection

from benchmarks.mongodb.workload import DATABASE, Document
from benchmarks.server import BenchServer, Writer
from headrace.testing.mongodb import MongoServer


@dataclass(frozen=True)
class _Inserts:
    collection: Collection[Document]

    def insert(self, key: int) -> None:
        self.collection.insert_one({"_id": key, "customer": 1, "name": "a name"})


class Server(BenchServer):
    """The database `bench`; a reader begins at a place in the oplog."""

    key = re.compile(rb'"after":"\{\\"_id\\": (\d+)')

    def __init__(self, server: MongoServer) -> None:
        self.server = server
        self.client = server.connect()
        self.database = self.client[DATABASE]

    def properties(self) -> dict[str, str]:
        return {
            "connector.class": "io.debezium.connector.mongodb.MongoDbConnector",
            "mongodb.connection.string": self.server.uri,
            "capture.scope": "database",
            "capture.target": DATABASE,
            "filters.match.mode": "literal",
        }

    def from_now_on(self, collection: str, reader: str) -> dict[str, str]:  # noqa: ARG002
        time = self.client.admin.command("ping")["operationTime"]
        return {
            "collection.include.list": f"{DATABASE}.{collection}",
            "snapshot.mode": "no_data",
            # Inclusive, and the place is that of something that happened before.
            "capture.start.op.time": str((time.time << 32) + time.inc + 1),
        }

    def forget_readers(self) -> None:
        """A stream whose reader was killed lives on until it is noticed."""
        for operation in self._operations(self.client):
            if operation.get("cursor", {}).get("tailable"):
                cursor = operation["cursor"]["cursorId"]
                database, _, collection = operation["ns"].partition(".")
                self.client[database].command("killCursors", collection, cursors=[cursor])

    @contextmanager
    def watching(self) -> Iterator[Any]:
        with self.server.connect_to_member() as client:
            yield client

    def first_read(self, connection: Any, kind: str) -> float | None:
        begun = [
            at
            for operation in self._operations(connection)
            if (at := _begun(operation, kind)) is not None
        ]
        return min(begun, default=None)

    def streaming(self) -> bool:
        return any(
            operation.get("cursor", {}).get("tailable")
            and operation["cursor"]["nBatchesReturned"] > 1
            for operation in self._operations(self.client)
        )

    def make_empty(self, collection: str) -> None:
        self.database.drop_collection(collection)
        self.database.create_collection(collection)

    @contextmanager
    def writer(self, collection: str) -> Iterator[Writer]:
        yield _Inserts(self.database[collection])

    def _operations(self, client: pymongo.MongoClient[Document]) -> list[Document]:
        stage = {"$currentOp": {"allUsers": True, "idleCursors": True}}
        return list(client.admin.aggregate([stage]))


def _begun(operation: Document, kind: str) -> float | None:
    """When this operation began to read, in seconds since 1970, if it is one of that kind."""
    cursor = operation.get("cursor", {})
    command = cursor.get("originatingCommand") or operation.get("command", {})
    if kind == "snapshot":
        reads = str(operation.get("ns", "")).startswith(f"{DATABASE}.") and (
            "find" in command or ("aggregate" in command and not _is_stream(command))
        )
    else:
        reads = _is_stream(command)
    if not reads:
        return None
    created = cursor.get("createdDate")
    if created is not None:
        return float(created.timestamp())
    return time.time() - float(operation.get("microsecs_running", 0)) / 1e6


def _is_stream(command: Document) -> bool:
    pipeline = command.get("pipeline") or [{}]
    return "$changeStream" in pipeline[0]
