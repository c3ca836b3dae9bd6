"""The interface of databases to the suite, with which any connector can be tested."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from enum import Enum
from typing import Any

from headrace.connectors.connector import OffsetObject
from tests.contract.changes import Change, Event, Fill, Transaction, apply


class Feature(Enum):
    """Features that not every database has."""

    KEY_CHANGES = "a row's key can change"
    ROLLBACKS = "transactions can be rolled back"
    ACKNOWLEDGES = "the database keeps its log until it is acknowledged"
    SNAPSHOTS = "existing rows are read"
    SIGNALS = "signals are applied"
    LOSES = "the log before a reader's position can be given up"


class Subject(ABC):
    """A running database with the collections `things` and `marks`, whose rows have a key `id` and
    a `text`, and how its connector is configured.

    Readers have names; each has its own place in the database (a slot, a file of its own).
    """

    features: frozenset[Feature]
    unwrapping: Mapping[str, str] = {"type": "io.debezium.transforms.ExtractNewRecordState"}
    """The transform that puts rows in place of envelopes, and options of its own."""
    identity = "id"
    """The field of an unwrapped row that has its key."""
    slices: tuple[Fill, Fill] = (Fill(100, 2100, 3000), Fill(7000, 7700, 3000))
    """New rows of which the first ones make a range of several slices."""
    ranges = Fill(1, 7000, 1900)
    """New rows that make more than six ranges of 2 MB."""

    @abstractmethod
    def properties(self, reader: str) -> dict[str, str]:
        """A configuration that captures both collections. The suite adds to it what all
        connectors share."""

    @abstractmethod
    def apply(
        self, collection: str, changes: Sequence[Change], *, rolled_back: bool = False
    ) -> None:
        """Make these changes in one transaction."""

    @abstractmethod
    def rows(self, collection: str) -> dict[int, str]:
        """The collection's rows as they are now: texts by key."""

    @abstractmethod
    def identifier(self, collection: str) -> str:
        """The collection's name in `data-collections` of a signal."""

    @abstractmethod
    def stopped(self) -> AbstractContextManager[None]:
        """The database does not answer inside of this context, and connections to it break."""

    @abstractmethod
    def forget(self, reader: str) -> None:
        """The reader's place in the database is given up; it may never have had one."""

    def acknowledged(self, reader: str) -> Any:
        """The place up to which the database may delete its log: a value with an order, of the form
        of `place`."""
        raise NotImplementedError

    def place(self, offset: OffsetObject) -> Any:
        """The position of an offset of this connector, in the form of `acknowledged`."""
        raise NotImplementedError

    def lose(self, reader: str) -> None:
        """The log that this reader has not read yet is gone; it does not read now."""
        raise NotImplementedError

    def events_of(self, workload: Sequence[Transaction]) -> list[Event]:
        """The records of a workload on an empty collection, in total order."""
        rows: dict[int, str] = {}
        return [
            event
            for transaction in workload
            if not transaction.rolled_back
            for event in self.logged(apply(rows, transaction.changes))
        ]

    def logged(self, events: list[Event]) -> list[Event]:
        """The records of one transaction as the database's log has them."""
        return events

    def event(self, record: Mapping[str, Any]) -> Event:
        """The event of a record with JSON values."""
        key = json.loads(record["key"])["id"]
        if record["value"] is None:
            return Event(None, key, None)
        value = json.loads(record["value"])
        after = value["after"]
        return Event(value["op"], key, None if after is None else self.text(after["text"]))

    def text(self, value: str | None) -> str | None:
        """The text that a change gave to a row, of which a record has this value."""
        return value
