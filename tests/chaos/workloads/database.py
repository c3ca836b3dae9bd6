"""The interface of databases to random workloads, and their changes."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from tests.chaos.workloads.signals import Signals

Row = dict[str, Any]
KEY, MARK = "ID", "V"
"""Columns of every table: the key, and a number that no other change has."""


class RolledBack(Exception):
    """The database undid a transaction, so that others could go on."""


class Change(NamedTuple):
    """The change of one event: an operation (`c`, `u`, `d`, `t`), the key of a row, and by which
    change the row has what it has afterwards, or had what is deleted. 0: of no row."""

    table: str
    op: str
    key: int
    mark: int


def change_of(table: str, value: Mapping[str, Any]) -> Change:
    """The change that the value of an event shows."""
    row = value["before" if value["op"] == "d" else "after"] or {}
    return Change(table, value["op"], int(row.get(KEY) or 0), int(row.get(MARK) or 0))


@dataclass(frozen=True)
class Place:
    """The place where a transaction was committed; places have an order."""

    number: int
    second: str = ""


class RandomDatabase(ABC):
    """A database with tables of rows that have KEY and MARK, and columns of its own."""

    name: ClassVar[str]
    tables: tuple[str, ...]
    prepare: Callable[[], None]
    """The first call in each process of the reader; it can be pickled."""
    most_savepoints: int = 9
    """Savepoints of a transaction at one time, at most."""
    large: int = 1500
    """Rows of a large transaction, at most: more than a range has."""
    reads_rows: bool = True
    """Whether the reader reads the rows that are there at first."""
    reads_ahead: bool = False
    """Whether rows of the first snapshot may be newer than the place where the log begins, so that
    changes which they show already come after them."""
    merged: frozenset[str] = frozenset()
    """Tables of which a transaction's changes of one row may become one event, and may come later
    than those of other tables; large values may be read beside the log."""
    described_now: bool = False
    """Whether changes have the columns that their tables have when they are read."""
    most_clients: int = 6
    """Transactions that may be open at one time."""
    signals: Signals
    """The snapshots that signals asked for."""
    happened: Counter[str]
    """Counts of events other than transactions, by kind."""

    @abstractmethod
    def properties(self) -> dict[str, str]:
        """The connector's; topics end in a table's name."""

    @abstractmethod
    def values(
        self, table: str, chance: random.Random, *, is_new: bool = False, is_own: bool = False
    ) -> Row:
        """Values of columns beside KEY and MARK: of a row that is inserted, or of those that an
        update changes. `is_own`: the transaction has changed the row before."""

    @abstractmethod
    def begin(self, chance: random.Random) -> Any:
        """A transaction. It has `insert_all`, `update`, `delete`, `savepoint`, `rollback_to` and
        `rollback` as `headrace_demo.oracle.server.Transaction`."""

    @abstractmethod
    def commit(self, transactions: list[Any], chance: random.Random) -> list[Place]:
        """Commits transactions, at one place where the database can."""

    @abstractmethod
    def happen(
        self, chance: random.Random, busy: Collection[str], offset: Mapping[str, Any] | None
    ) -> list[tuple[Place, list[Change]]]:
        """Does something other than a transaction; returns its changes of tables that are not
        `busy`. `offset` is the end of the last range that is done, and None while the reader takes
        a snapshot."""

    @property
    def is_free(self) -> bool:
        """Whether something else may happen now; if not, it will as soon as it may."""
        return True

    @abstractmethod
    def now(self) -> int:
        """The number of a place: everything up to it is committed, and nothing after it."""

    @abstractmethod
    def place_of(self, source: Mapping[str, Any]) -> int:
        """The number of the place that `source` of an event shows."""

    def logged(self, changes: list[Change]) -> list[Change]:
        """A transaction's changes as the log has them."""
        return changes

    @abstractmethod
    def settle(self) -> None:
        """Opens everything that was shut, so that all committed changes will be read."""

    @abstractmethod
    def rows(self, table: str) -> dict[int, Row]:
        """The rows, as the events say them."""

    @abstractmethod
    def begins_after(self, reads: list[Mapping[str, Any]], first: Mapping[str, Any]) -> int:
        """The number of a place: what was committed up to it is in the rows that were read, or was
        before the reader. `reads` are `source` of their events, `first` is the first offset."""

    def check_source(self, source: Mapping[str, Any]) -> None:  # noqa: B027 - nothing need hold
        """Checks `source` of an event of the log."""

    def close(self) -> None:  # noqa: B027 - nothing runs, where it is not overridden
        """Stops everything that runs."""
