"""The captured databases and collections."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.config.filters import NameFilter
from headrace.connectors.mongodb.config import MongoConfig

SYSTEM_DATABASES = ("admin", "config", "local")
"""Databases that are never captured."""


class Namespaces:
    """The lists of databases and collections, and the signal collection, which is always captured.
    `filters.match.mode` selects the comparison: expressions match the whole name in any case,
    literal names are equal to it."""

    def __init__(self, config: MongoConfig) -> None:
        self._databases = _accepting(config, "database")
        self._collections = _accepting(config, "collection")
        self._signals = config.signal_data_collection
        self._target = config.target()

    def takes(self, database: str, collection: str) -> bool:
        """Whether events of a collection are captured; its name may contain dots."""
        if f"{database}.{collection}" == self._signals:
            return True
        return self.takes_database(database) and self._collections(f"{database}.{collection}")

    def takes_database(self, database: str) -> bool:
        """Whether collections of this database may be captured."""
        return database not in SYSTEM_DATABASES and self._databases(database)

    def in_scope(self, database: str, collection: str) -> bool:
        """Whether the change stream, whose scope is `capture.scope`, includes the collection."""
        scope_database, scope_collection = self._target
        if scope_database not in (None, database):
            return False
        return scope_collection in (None, collection)


def _accepting(config: MongoConfig, kind: str) -> Callable[[str], bool]:
    include = config.names_in(f"{kind}.include.list")
    exclude = config.names_in(f"{kind}.exclude.list")
    if config.namespaces_are_literal:
        return _Literal(include, exclude)
    return NameFilter(include, exclude).accepts


class _Literal:
    """A filter of literal names."""

    def __init__(self, include: Sequence[str], exclude: Sequence[str]) -> None:
        self._include = frozenset(include)
        self._exclude = frozenset(exclude)

    def __call__(self, name: str) -> bool:
        return name not in self._exclude and (not self._include or name in self._include)
