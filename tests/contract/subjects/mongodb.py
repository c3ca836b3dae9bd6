"""MongoDB as a subject of the conformance suite."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pymongo.client_session import ClientSession

from headrace.connectors.connector import OffsetObject
from tests.contract.changes import Change, Delete, Event, Fill, Insert, Move, Update
from tests.contract.subject import Feature, Subject
from tests.servers.mongodb import MongoDatabase, create_with_images, lose_history

_SELECTION_MS = 1500
"""The time in milliseconds that the driver looks for a server that is stopped."""


class MongoSubject(Subject):
    """Two collections of a fresh database, which keep images: an update's event shows the document
    as it was then."""

    unwrapping = {  # noqa: RUF012 - constant
        "type": "io.debezium.connector.mongodb.transforms.ExtractNewDocumentState",
        "delete.tombstone.handling.mode.rewrite-with-id": "true",
    }
    identity = "_id"
    features = frozenset({Feature.ROLLBACKS, Feature.LOSES, Feature.SNAPSHOTS, Feature.SIGNALS})

    def __init__(self, database: MongoDatabase) -> None:
        self._database = database
        for collection in ("things", "marks"):
            create_with_images(database.collections, collection)

    def properties(self, reader: str) -> dict[str, str]:
        properties = self._database.properties(
            capture_mode_full_update_type="post_image", errors_max_retries="0"
        )
        uri = properties["mongodb.connection.string"]
        limit = f"&serverSelectionTimeoutMS={_SELECTION_MS}"
        return properties | {"mongodb.connection.string": uri + limit}

    def apply(
        self, collection: str, changes: Sequence[Change], *, rolled_back: bool = False
    ) -> None:
        with self._database.client.start_session() as session:
            session.start_transaction()
            for change in changes:
                self._apply(collection, change, session)
            if rolled_back:
                session.abort_transaction()
            else:
                session.commit_transaction()

    def _apply(self, name: str, change: Change, session: ClientSession) -> None:
        collection = self._database.collections[name]
        match change:
            case Insert(key, text):
                collection.insert_one({"_id": key, "text": text}, session=session)
            case Update(key, text):
                # What is as it was makes no event.
                collection.replace_one({"_id": key}, {"text": text, "n": 1}, session=session)
            case Delete(key):
                collection.delete_one({"_id": key}, session=session)
            case Fill(first, last, _):
                rows = [{"_id": key, "text": change.text} for key in range(first, last + 1)]
                collection.insert_many(rows, session=session)
            case Move():
                raise AssertionError("an _id never changes")

    def rows(self, collection: str) -> dict[int, str]:
        documents = self._database.collections[collection].find()
        return {row["_id"]: row["text"] for row in documents}

    def identifier(self, collection: str) -> str:
        return f"{self._database.name}.{collection}"

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        self._database.server.kill()
        try:
            yield
        finally:
            self._database.server.start()

    def forget(self, reader: str) -> None:
        """The server keeps no place for readers."""

    def lose(self, reader: str) -> None:
        lose_history(self._database.server)

    def place(self, offset: OffsetObject) -> Any:
        return tuple(offset[name] for name in ("sec", "ord", "ordinal"))

    def event(self, record: Mapping[str, Any]) -> Event:
        key = int(json.loads(record["key"])["id"])
        if record["value"] is None:
            return Event(None, key, None)
        value = json.loads(record["value"])
        after = value["after"]
        return Event(value["op"], key, None if after is None else json.loads(after)["text"])
