"""The UUIDs of a change stream's collections, asked of the server with the first event of each.

Events name collections, and a name may stand for one collection after the other: one is dropped and
made again, is renamed, or `$out` puts another one in its place. The answer is as of when it is
asked, so it may be that of a later collection, and never that of an earlier one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pymongo.errors import PyMongoError

from headrace.connectors.mongodb.events import CollectionFacts
from headrace.connectors.mongodb.reading.collections import own_ids
from headrace.connectors.mongodb.starting.run import Run

Path = tuple[str, str]
"""A database and a collection's own name."""


class CollectionIds:
    """Facts of collections with their UUIDs. One thread uses it."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._known: dict[str, dict[str, str]] = {}
        """Those of a database that was asked, by the names of its collections."""
        self._changed: dict[Path, str] = {}

    def facts(self, database: str, collection: str) -> CollectionFacts:
        """The facts of a captured collection. If it does not exist any more, and was not the first
        with its name, the time when it took the name replaces its UUID. Raises HeadraceError."""
        run, path = self._run, (database, collection)
        if run.identifies and collection not in self._known.get(database, ()):
            try:
                with run.client() as client:
                    self._known[database] = own_ids(client, database)
            except PyMongoError as error:
                raise run.translate(error) from None
        own_id = self._known.get(database, {}).get(collection) or self._changed.get(path, "")
        return run.facts(*path, own_id)

    def changed(self, event: Mapping[str, Any]) -> Sequence[Path]:
        """The names that stand for other collections, or for none, after an event of a collection
        itself."""
        paths = [
            (name["db"], name["coll"])
            for name in (event.get("ns"), event.get("to"))
            if isinstance(name, Mapping) and {"db", "coll"} <= name.keys()
        ]
        for database, _ in paths:
            self._known.pop(database, None)
        self._changed |= dict.fromkeys(paths, str(event["clusterTime"]))
        return paths
