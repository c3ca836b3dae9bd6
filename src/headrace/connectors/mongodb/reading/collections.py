"""The captured collections of a server, and their sizes as the server reports them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from pymongo.errors import OperationFailure

from headrace.connectors.mongodb.connection import Client
from headrace.connectors.mongodb.starting.run import Run

log = logging.getLogger(__name__)

_UNKNOWN_DOCUMENT_BYTES = 512
STORED = "collection"
"""The type of collections other than views and time series."""


@dataclass(frozen=True)
class Collection:
    """A collection by its names. `is_stored`: its documents have an index on `_id`, unlike those of
    views and time-series collections. `own_id` is its UUID; empty if it has none."""

    database: str
    short_name: str
    is_stored: bool = True
    own_id: str = ""

    @property
    def name(self) -> str:
        """database.collection"""
        return f"{self.database}.{self.short_name}"


def own_ids(client: Client, database: str) -> dict[str, str]:
    """The UUIDs of a database's collections, by their names in it. Raises the driver's errors."""
    return {entry["name"]: _uuid(entry) for entry in client[database].list_collections()}


def _uuid(entry: Mapping[str, Any]) -> str:
    """The UUID of an entry of listCollections; empty for views."""
    uuid = entry.get("info", {}).get("uuid")
    return "" if uuid is None else bytes(uuid).hex()


class Size(NamedTuple):
    """The documents of a collection, and their bytes, as the server counts them: both may be wrong
    after a crash, and on a sharded cluster."""

    rows: int
    nbytes: int


def captured_collections(client: Client, run: Run) -> list[Collection]:
    """The captured collections, except the signal collection and the server's (`system.`), sorted
    by their names in the database. Raises the driver's errors."""
    signals = run.config.signal_table()
    captured = [collection for collection in _present(client, run) if collection.name != signals]
    return sorted(captured, key=lambda collection: (collection.short_name, collection.database))


def _present(client: Client, run: Run) -> Iterator[Collection]:
    namespaces = run.namespaces
    scope_database, scope_collection = run.config.target()
    databases = client.list_database_names() if scope_database is None else [scope_database]
    for database in filter(namespaces.takes_database, databases):
        filtered = {} if scope_collection is None else {"name": scope_collection}
        for entry in client[database].list_collections(filter=filtered):
            name = entry["name"]
            if not name.startswith("system.") and namespaces.takes(database, name):
                yield Collection(database, name, entry["type"] == STORED, _uuid(entry))


def size_of(client: Client, collection: Collection) -> Size:
    """Return the size of a collection. Raises the driver's errors."""
    if not collection.is_stored:
        return Size(0, 0)
    try:
        stats = client[collection.database].command("collStats", collection.short_name)
    except OperationFailure as error:
        # A user who may only read may still count.
        log.debug("%s has no statistics for us: %s", collection.name, error)
        counted = client[collection.database][collection.short_name].estimated_document_count()
        return Size(counted, counted * _UNKNOWN_DOCUMENT_BYTES)
    return Size(int(stats["count"]), int(stats["size"]))
