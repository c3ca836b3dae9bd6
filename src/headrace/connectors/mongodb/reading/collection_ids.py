"""The UUIDs of a change stream's collections, read from the server at the first event of each.

Events name collections, and a name may stand for several collections in turn: a collection is
dropped and created again, is renamed, or is replaced by `$out`. The answer is as of the moment of
the query, so it may be the UUID of a later collection, but never of an earlier one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pymongo.errors import PyMongoError

from headrace.connectors.mongodb.events import CollectionFacts
from headrace.connectors.mongodb.reading.collections import own_ids
from headrace.connectors.mongodb.starting.run import Run

Path = tuple[str, str]
"""A database and the collection's name in it."""


class CollectionIds:
    """The facts of collections with their UUIDs. One thread uses it."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._known: dict[str, dict[str, str]] = {}
        """UUIDs by collection name, of each database that was queried."""
        self._changed: dict[Path, str] = {}

    def facts(self, database: str, collection: str) -> CollectionFacts:
        """The facts of a captured collection. One that no longer exists has no UUID: the time of
        the event after which the name stood for it is used instead, or an empty text if there was
        no such event. Raises HeadraceError."""
        run, path = self._run, (database, collection)
        if run.identifies and collection not in self._known.get(database, ()):
            try:
                with run.client() as client:
                    self._known[database] = own_ids(client, database)
            except PyMongoError as error:
                raise run.translate(error) from None
        own_id = self._known.get(database, {}).get(collection) or self._changed.get(path, "")
        return run.facts(*path, own_id)

    def note_change(self, event: Mapping[str, Any]) -> Sequence[Path]:
        """Note an event of a collection itself, such as a drop or rename: the UUIDs of its database
        are read again. Returns the names that stand for another collection, or for none, after
        it."""
        paths = [
            (name["db"], name["coll"])
            for name in (event.get("ns"), event.get("to"))
            if isinstance(name, Mapping) and {"db", "coll"} <= name.keys()
        ]
        for database, _ in paths:
            self._known.pop(database, None)
        self._changed |= dict.fromkeys(paths, str(event["clusterTime"]))
        return paths
