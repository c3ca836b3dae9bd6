"""The signal collection: reads signals from the change stream's documents, and writes signals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from pymongo.collection import Collection
from pymongo.errors import PyMongoError

from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.mongodb.connection import Client, connect, diagnose
from headrace.connectors.mongodb.events import DOCUMENT, ID
from headrace.connectors.mongodb.extended_json import read_extended_json
from headrace.documents.bson import Kind
from headrace.documents.dialects import Dialect
from headrace.documents.elements import elements
from headrace.documents.extended_json import value_to_extended_json
from headrace.errors import HeadraceError
from headrace.signals.collection import Cells
from headrace.signals.signal import Signal

_MARKS = "snapshot-window-"


def signal_texts(cells: Cells) -> list[str | None]:
    """See headrace.signals.collection.SignalTexts: the first three members of a document. An
    embedded document becomes relaxed Extended JSON."""
    document = cells[DOCUMENT] if len(cells) > DOCUMENT else None
    if document is None:
        identity = cells[ID]
        return [None if identity is None else _text(identity[0], identity[1:])]
    try:
        members = list(elements(document[1:]))[:3]
        return [_text(kind, value) for kind, _, value in members]
    except HeadraceError:
        return []


def _text(kind: int, value: bytes) -> str | None:
    if kind in (Kind.STRING, Kind.SYMBOL):
        return value[4:-1].decode(errors="replace")
    if kind == Kind.OBJECT_ID:
        return value.hex()
    if kind == Kind.NULL:
        return None
    return value_to_extended_json(bytes([kind]) + value, Dialect.RELAXED)


class SignalDocuments:
    """See `headrace.signals.collection.SignalCollection`: one client, which connects at its first
    use. `doing` is the purpose of writing in error messages."""

    def __init__(
        self, config: MongoConfig, name: str, *, doing: str = "Writing a watermark"
    ) -> None:
        self.name = name
        self._config, self._doing = config, doing
        self._client: Client | None = None

    @property
    def _documents(self) -> Collection[dict[str, Any]]:
        if self._client is None:
            self._client = connect(self._config)
        database, _, collection = self.name.partition(".")
        return self._client[database][collection]

    def close(self) -> None:
        """Close the client; the next use opens another one."""
        if self._client is not None:
            self._client.close()
            self._client = None

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Translate errors; closes the client, so that the next use logs in again with a changed
        password."""
        try:
            yield
        except PyMongoError as error:
            failure = diagnose(error, self._config, self._doing)
            self.close()
            raise failure from None

    def exist(self) -> bool:
        """Whether the collection exists, as far as the user may know. Raises HeadraceError."""
        database = self._documents.database
        with self._translated():
            listed = database.list_collections(
                filter={"name": self._documents.name}, nameOnly=True, authorizedCollections=True
            )
            return bool(list(listed))

    def insert(self, signal: Signal) -> None:
        """Write a signal as Debezium reads it: three members, whose order matters. Its data is a
        document, or a string if it is not JSON. A watermark of a window is the document that
        Debezium writes. Raises HeadraceError."""
        document: dict[str, object] = {"_id": signal.id, "type": signal.type}
        if signal.type.startswith(_MARKS):
            document["payload"] = ""
        else:
            document["data"] = _data(signal.data)
        with self._translated():
            self._documents.insert_one(document)

    def delete(self, identity: str) -> None:
        """Delete the signal with this id. Raises HeadraceError."""
        with self._translated():
            self._documents.delete_one({"_id": identity})


def insert_signal(config: MongoConfig, name: str, signal: Signal) -> None:
    """Write a signal into the collection `database.collection`, as any user may. Raises
    HeadraceError; `mongodb.signal_collection` if the collection does not exist, because a write
    would create it."""
    documents = SignalDocuments(config, name, doing="Sending a signal")
    with closing(documents):
        if not documents.exist():
            raise HeadraceError(
                "mongodb.signal_collection",
                f"The signal collection {name} does not exist",
                f"{create_command(name)} in mongosh, or correct signal.data.collection.",
            )
        documents.insert(signal)


def create_command(name: str) -> str:
    """The mongosh command that creates the collection `database.collection`."""
    database, _, collection = name.partition(".")
    return f"db.getSiblingDB({json.dumps(database)}).createCollection({json.dumps(collection)})"


def _data(text: str | None) -> object:
    try:
        data = json.loads(text or "")
        return read_extended_json(json.dumps(data)) if isinstance(data, dict) else text
    except ValueError:
        return text or ""
