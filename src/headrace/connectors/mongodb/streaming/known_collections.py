"""The collections of a change stream: their relation versions, by their names in events."""

from __future__ import annotations

from collections.abc import Callable

import bson
import numpy as np

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.kernels.text import hash_bytes
from headrace.connectors.mongodb.events import CollectionFacts
from headrace.connectors.mongodb.streaming.frames import FIELD_WORDS, NAMESPACE_WORDS
from headrace.documents.fields import FieldRules
from headrace.errors import HeadraceError
from headrace.streaming.changes.key_columns import KeyRendering
from headrace.streaming.relations import RelationVersions

_FIRST_ENTRIES = 256


class KnownCollections(RelationVersions):
    """The relation versions of a stream. `fields` (int64, FIELD_WORDS per version) holds the field
    rules of each, `namespaces` (int64, a hash table with open addressing, NAMESPACE_WORDS per
    entry) the versions of namespaces. Both grow by replacement, as `table` does."""

    def __init__(
        self,
        rendering: KeyRendering,
        captures: Callable[[str, str], bool],
        facts: Callable[[str, str], CollectionFacts],
        fields: Callable[[str, str], FieldRules],
    ) -> None:
        """`captures` says whether a collection (database, collection) makes records, `facts`
        returns its facts, and `fields` its field rules."""
        super().__init__(rendering)
        self.namespaces = np.zeros((_FIRST_ENTRIES, NAMESPACE_WORDS), np.int64)
        self._captures, self._facts_of, self._fields_of = captures, facts, fields
        self.fields = np.zeros((_FIRST_ENTRIES, FIELD_WORDS), np.int64)
        self._rules: list[FieldRules] = []
        self._numbers: dict[tuple[str, str], int] = {}
        self._entries: list[tuple[int, ...]] = []
        self._names: list[np.ndarray] = []

    @property
    def mask(self) -> int:
        """The mask that yields the number of a hash's entry."""
        return len(self.namespaces) - 1

    def add(self, namespace: bytes) -> None:
        """Add a namespace in the form of events, a document of `db` and `coll`."""
        version = self._version(namespace)
        name = np.frombuffer(namespace + bytes(PADDING), np.uint8)
        self._names.append(name)
        address = address_of(name)
        entry = (int(hash_bytes(0, address, len(namespace))), address, len(namespace), version)
        self._entries.append(entry)
        if 2 * len(self._entries) > len(self.namespaces):
            self.namespaces = np.zeros((2 * len(self.namespaces), NAMESPACE_WORDS), np.int64)
            for known in self._entries:
                self._enter(known)
        else:
            self._enter(entry)

    def _enter(self, entry: tuple[int, ...]) -> None:
        place = entry[0] & self.mask
        while self.namespaces[place, 1]:
            place = (place + 1) & self.mask
        self.namespaces[place] = entry

    def _version(self, namespace: bytes) -> int:
        try:
            document = bson.decode(namespace)
            database, collection = document["db"], document["coll"]
        except (bson.errors.InvalidBSON, KeyError) as error:
            raise HeadraceError(
                "mongodb.broken_event",
                f"An event's `ns` does not name a collection: {error!r}",
                "Leave ns in cursor.pipeline as it is.",
            ) from None
        if (database, collection) not in self._numbers:
            captured = self._captures(database, collection)
            facts = CollectionFacts("", database, collection)
            if captured:
                facts = self._facts_of(database, collection)
            number = self._numbers[database, collection] = self.append(facts, captured=captured)
            if captured:
                self._add_fields(number, self._fields_of(database, collection))
        return self._numbers[database, collection]

    def forget(self, database: str, collection: str) -> None:
        """Forget a collection that another one replaces: the next event of its name makes a new
        version."""
        version = self._numbers.pop((database, collection), None)
        if version is None:
            return
        self._entries = [entry for entry in self._entries if entry[3] != version]
        self.namespaces = np.zeros_like(self.namespaces)
        for entry in self._entries:
            self._enter(entry)

    def _add_fields(self, version: int, rules: FieldRules) -> None:
        while version >= len(self.fields):
            self.fields = np.concatenate((self.fields, np.zeros_like(self.fields)))
        self._rules.append(rules)
        self.fields[version] = rules.address, rules.count, rules.longest

    def captured(self) -> list[str]:
        """Names of the captured collections that have had events."""
        numbers = list(self._numbers.values())
        return [self.facts[number].name for number in numbers if self.is_captured(number)]
