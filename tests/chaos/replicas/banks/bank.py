"""The interface of databases to replicas, besides that to the kills."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Iterator
from enum import StrEnum
from typing import ClassVar

from tests.chaos.databases.database import ChaosDatabase, Row, Transfer

TABLES = ("accounts", "ledger", "cards", "visits")
"""Tables of a bank. Cards have a large picture that updates do not carry; keys of cards change.
Visits are truncated now and then, where the database can."""
FIRST_CARDS = 60


class Step(StrEnum):
    """Statements of a transaction besides its transfer."""

    ISSUE = "a card is inserted"
    RENAME = "a card's holder changes"
    MOVE = "a card's number changes"
    RENAME_AND_MOVE = "both"
    REDRAW = "a card's picture changes"
    RETURN = "a card is deleted"
    VISIT = "a visit is inserted"
    CLEAR = "visits are truncated, and one is inserted"


_WEIGHTS = {
    Step.ISSUE: 4,
    Step.RENAME: 6,
    Step.MOVE: 2,
    Step.RENAME_AND_MOVE: 2,
    Step.REDRAW: 1,
    Step.RETURN: 3,
    Step.VISIT: 8,
    Step.CLEAR: 0.03,
}
_BEFORE = {
    Step.MOVE: Step.RENAME,
    Step.RENAME_AND_MOVE: Step.RENAME,
    Step.CLEAR: Step.VISIT,
}
"""Steps while the first copy goes on, in place of others."""


class Bank(ChaosDatabase):
    """A database with TABLES; `commit` takes `steps` in the transaction of a transfer, too."""

    namespace: ClassVar[str]
    """Namespace of the tables in a lake."""
    is_copied = False
    """Whether the first copy is over. Before, numbers of cards do not change: where several
    snapshots read a copy, the picture of a card that moves may be in none of them, and the table
    stops. And nothing is truncated: each TRUNCATE makes a snapshot begin again."""

    def steps(self, transfer: Transfer) -> Iterator[tuple[Step, random.Random]]:
        """Further steps of a transfer's transaction, and a random generator of its own: the
        same for the same transfer."""
        chance = random.Random(repr(transfer))
        for step in chance.choices([*_WEIGHTS], [*_WEIGHTS.values()], k=chance.randint(0, 3)):
            yield (step if self.is_copied else _BEFORE.get(step, step)), chance

    @abstractmethod
    def expected(self, table: str) -> list[Row]:
        """The rows that a replica has to have now."""

    def commit_last(self) -> None:
        """Commit a last change, after which there is a consistent cut."""

    def shown(self, row: Row) -> Row:
        """A row of a replica as `expected` has it."""
        return row


def picture(chance: random.Random) -> str:
    """A text that takes a page of its own, and does not compress."""
    return "".join(chance.choices("0123456789abcdef", k=3000))
