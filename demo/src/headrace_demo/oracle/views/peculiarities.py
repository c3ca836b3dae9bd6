"""What servers show and a database that was just made does not: unwritten groups, copies of logs,
logs that are archived late, SCNs that several changes have. A seed draws a set of them."""

from __future__ import annotations

import random
from dataclasses import dataclass

from headrace_demo.oracle.texts import MOST_BYTES
from headrace_demo.peculiarities import coin_of, shown


@dataclass(frozen=True)
class Peculiarities:
    """Those of a database; by default it has none. What differs from log to log or from row to
    row is drawn by `seed`, so it is the same whenever it is looked at."""

    seed: int = 0
    largest_step: int = 1
    """Each look moves the SCN on by 1 to so many, where it advances at all."""
    unused_groups: int = 0
    """Groups of V$LOG that were never written: FIRST_CHANGE# is 0."""
    unknown_starts: int = 0
    """How many open transactions V$TRANSACTION shows with START_SCN 0."""
    archiving: int = 0
    """Statements of sessions until a log that was switched is archived, at most; it is ACTIVE."""
    idle_destinations: int = 0
    """Rows of V$ARCHIVE_DEST_STATUS of destinations that nobody set."""
    second_destination: str = ""
    """TYPE of a destination that has a copy of each archived log: LOCAL, or that of a standby."""
    lost_copies: float = 0.0
    """The share of copies at the second destination whose files are gone, and STATUS is 'A'."""
    restored: float = 0.0
    """The share of archived logs that were deleted and restored: DEST_ID is 0."""
    nameless: float = 0.0
    """The share of archived logs that have another row, whose NAME is null."""
    knows_last_redo: bool = True
    """Whether LAST_REDO_CHANGE# of V$THREAD is known; it is null otherwise."""
    most_bytes: int = MOST_BYTES
    """Of SQL_REDO in one row."""
    cuts_characters: bool = False
    """Whether SQL_REDO is cut wherever these bytes end, inside of a character, too."""
    shared_scns: float = 0.0
    """The share of changes that have the SCN of the redo before them."""
    has_invalid_members: bool = False
    """Whether each group of logs has a member, too, that cannot be opened; its name comes first."""
    lateness: int = 0
    """LogMiner gives the rows of a transaction up to so many SCNs late. A database of which it is
    true leaves as many SCNs out before DDL, which no other transaction crosses."""

    @classmethod
    def drawn(cls, seed: int) -> Peculiarities:
        """Each is there or not, by the seed."""
        chance = random.Random(seed)  # noqa: S311 - draws of a seed
        maybe = coin_of(chance)

        return cls(
            seed=seed,
            largest_step=maybe(chance.choice((2, 5, 40)), 1),
            unused_groups=maybe(chance.randint(1, 3), 0),
            unknown_starts=maybe(chance.randint(1, 3), 0),
            archiving=maybe(chance.choice((5, 20, 60)), 0),
            idle_destinations=maybe(29, 0),
            second_destination=maybe(chance.choice(("LOCAL", "PHYSICAL")), ""),
            lost_copies=maybe(chance.random(), 0.0),
            restored=maybe(chance.random(), 0.0),
            nameless=maybe(chance.random(), 0.0),
            knows_last_redo=maybe(False, True),
            most_bytes=maybe(chance.choice((101, 1000, 3999)), MOST_BYTES),
            cuts_characters=maybe(True, False),
            shared_scns=maybe(chance.choice((0.2, 0.9)), 0.0),
            lateness=maybe(chance.choice((1, 4, 12)), 0),
            has_invalid_members=maybe(True, False),
        )

    @property
    def harmless(self) -> Peculiarities:
        """Those of them that change neither the SCNs of a script nor what its events say."""
        return Peculiarities(
            **{name: getattr(self, name) for name in _HARMLESS},
        )

    def of(self, *what: object) -> random.Random:
        """The draws about one thing, which are the same each time."""
        return random.Random(f"{self.seed} {what}")  # noqa: S311 - draws of a seed

    def __str__(self) -> str:
        """Those that are there."""
        return shown(self)


_HARMLESS = (
    "seed", "unused_groups", "unknown_starts", "archiving", "idle_destinations",
    "second_destination", "lost_copies", "restored", "nameless", "most_bytes", "cuts_characters",
    "has_invalid_members",
)  # fmt: skip
