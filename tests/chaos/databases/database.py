"""The interface of databases to the kills."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from headrace.testing.server import Server

Row = dict[str, Any]

ACCOUNTS = 100
START_BALANCE = 1000
LEDGER_ROWS = 25_000


@dataclass(frozen=True)
class Transfer:
    """One transaction: `moves` are accounts, what is added to their balance, and a note; a ledger
    gets `entries` rows from `source` to `target`, and loses the row `victim`."""

    moves: tuple[tuple[int, int, str], ...]
    source: int
    target: int
    entries: int
    victim: int | None


MARKS = {
    "postgresql": pytest.mark.postgres,
    "mongodb": pytest.mark.mongodb,
    "db2": pytest.mark.db2,
    "oracle": pytest.mark.oracle,
}
"""The databases, and the marker of tests with each."""


@dataclass(frozen=True)
class Change:
    """An event of an account or of a row of the ledger. `place` says, with `op`, which change of
    the log it is; `position` is where in the log, `commit` where its transaction ends."""

    collection: str
    id: int
    op: str
    before: Row | None
    after: Row | None
    transaction: Hashable
    place: Hashable
    position: int
    commit: int


class ChaosDatabase(ABC):
    """A server with accounts, the ledger, and a connector that reads both."""

    name: ClassVar[str]
    errors: ClassVar[tuple[type[Exception], ...]]
    """Errors that the driver raises while the server is gone."""
    collection_member: ClassVar[str]
    """Member of `source` that names an event's collection."""
    unwrapping: ClassVar[str]
    """The transform that puts rows in place of events."""
    source_members: ClassVar[tuple[str, ...]]
    """Members of `source` that `change` needs."""
    is_exclusive: ClassVar[bool]
    """Whether only one may read the log at a time."""
    server: Server

    @abstractmethod
    def properties(self) -> dict[str, str]:
        """The connector's; topics begin with "chaos"."""

    @abstractmethod
    def create(self) -> None:
        """Accounts with START_BALANCE each and the ledger with LEDGER_ROWS, by numbers from 1 on,
        and what remembers every change since then."""

    @abstractmethod
    def connect(self) -> AbstractContextManager[Any]:
        """The connection that `commit` needs."""

    @abstractmethod
    def commit(self, connection: Any, transfer: Transfer) -> None:
        """Do it in one transaction."""

    @abstractmethod
    def head(self) -> int:
        """The place of the log's current end."""

    @abstractmethod
    def stir(self) -> None:
        """Write something that moves the log, and is not captured."""

    @abstractmethod
    def place(self, offset: dict[str, object]) -> int:
        """The position of the log where an offset is."""

    @abstractmethod
    def consistent(self, offset: dict[str, object]) -> int:
        """The position from which on rows that a snapshot read agree with the log; 0: the first."""

    @abstractmethod
    def has_position(self, planned: int) -> bool:
        """Whether the connector has a position in the log, the newest micro-batch with an offset
        being `planned` (-1: none)."""

    @abstractmethod
    def readers(self) -> AbstractContextManager[Callable[[], bool]]:
        """Tells whether somebody reads the log, on one connection."""

    @abstractmethod
    def identifier(self, collection: str) -> str:
        """The name of a collection in signals and in lists of names: accounts or ledger."""

    @abstractmethod
    def create_signals(self) -> str:
        """A collection for signals; its name, as signal.data.collection takes it."""

    @abstractmethod
    def signal(self, identity: str, kind: str, data: Row) -> None:
        """Write a signal to that collection."""

    @abstractmethod
    def change(self, value: Row) -> Change:
        """The change that an event shows."""

    @abstractmethod
    def image(self, row: Row) -> object:
        """A row as `before` and `after` of events have it."""

    @abstractmethod
    def history(self, first: int) -> Iterator[tuple[Hashable, str]]:
        """Place and operation of each change that was committed from the position `first` on, as
        the server remembers them."""

    def rows_before(self, first: int) -> dict[str, dict[int, Row]]:
        """The rows, by collection and id, that existed at the position `first` and that no snapshot
        reads."""
        return {}

    @abstractmethod
    def rows(self, collection: str) -> dict[int, Row]:
        """The present rows."""
