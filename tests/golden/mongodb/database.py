"""The workloads of MongoDB: blocks of commands, as tests/golden/mongodb/commands.py reads them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pymongo import MongoClient

from headrace.testing.mongodb import MongoServer
from tests.golden.database import PREFIX, Database
from tests.golden.mongodb.commands import execute
from tests.golden.mongodb.reader import Reader
from tests.golden.mongodb.varying import normalise
from tests.servers.mongodb import kill_cursors

_OWN = {"admin", "config", "local"}  # databases of the server itself
# Debezium opens a change stream before a snapshot too, and asks that one twice at most.
_BATCHES = 3


class MongoDatabase(Database):
    """A server without databases for each workload, and a client whose sessions are new."""

    folder = Path(__file__).parent
    suffix = ".mongodb"
    artifact = "connector-mongodb"
    normalise = staticmethod(normalise)

    def __init__(self, server: MongoServer | None = None) -> None:
        self._server = MongoServer() if server is None else server
        self._server.start()
        self._client: MongoClient[dict[str, Any]] = self._server.connect()

    def properties(self) -> dict[str, str]:
        return {
            "connector.class": "io.debezium.connector.mongodb.MongoDbConnector",
            **self.connection_properties(),
            "database.include.list": PREFIX,
            # So that a test need not wait long for a stream that has nothing to say.
            "cursor.max.await.time.ms": "100",
        }

    def connection_properties(self) -> dict[str, str]:
        """Where the server is."""
        return {"mongodb.connection.string": self._server.uri}

    def renew(self) -> None:
        self.clean()
        # Older releases leave streams open.
        kill_cursors(self._server)
        self._client.close()
        # Another session has transactions from number one on.
        self._client = self._server.connect()

    def execute(self, block: str) -> None:
        execute(self._client, block)

    def streaming(self) -> bool:
        return any(one["cursor"]["nBatchesReturned"] >= _BATCHES for one in self._streams())

    def end(self) -> Any:
        """How many batches each change stream has had when everything was written."""
        return {
            one["cursor"]["cursorId"]: one["cursor"]["nBatchesReturned"] for one in self._streams()
        }

    def sent(self, end: Any) -> bool:
        # A batch that was begun before may lack what was written meanwhile. Older releases leave a
        # stream open that they no longer read.
        return any(
            one["cursor"]["nBatchesReturned"] >= end.get(one["cursor"]["cursorId"], 0) + 2
            for one in self._streams()
        )

    def reader(self, properties: Mapping[str, str]) -> Reader:
        return Reader(properties)

    def stopped(self) -> None:
        """A reader has no place of its own on the server."""

    def clean(self) -> None:
        for name in set(self._client.list_database_names()) - _OWN:
            self._client.drop_database(name)

    def close(self) -> None:
        self._client.close()
        self._server.close()

    def _streams(self) -> list[dict[str, Any]]:
        """The change streams that clients have open."""
        stages: list[dict[str, Any]] = [
            {"$currentOp": {"allUsers": True, "idleCursors": True}},
            {"$match": {"cursor.tailable": True}},
        ]
        return list(self._client.admin.aggregate(stages))
