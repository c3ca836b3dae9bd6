"""Properties of real servers that a new database does not have: unwritten groups, copies of logs,
logs that are archived late, SCNs shared by several changes. A seed selects a set of them."""

from __future__ import annotations

import random
from dataclasses import dataclass

from headrace_demo.oracle.texts import MAX_BYTES
from headrace_demo.peculiarities import coin_of, shown


@dataclass(frozen=True)
class Peculiarities:
    """The peculiarities of a database; by default it has none. Values that differ between logs or
    rows depend on `seed`, so they are the same each time they are read."""

    seed: int = 0
    largest_step: int = 1
    """The most by which a read advances the SCN; the least is 1, if it advances at all."""
    unused_groups: int = 0
    """Groups of V$LOG that were never written: FIRST_CHANGE# is 0."""
    unknown_starts: int = 0
    """The number of open transactions that V$TRANSACTION shows with START_SCN 0."""
    archiving: int = 0
    """The most statements of sessions until a switched log is archived; until then it is ACTIVE."""
    idle_destinations: int = 0
    """The number of rows of V$ARCHIVE_DEST_STATUS for destinations that are not configured."""
    second_destination: str = ""
    """TYPE of a destination with a copy of each archived log: LOCAL, or that of a standby."""
    lost_copies: float = 0.0
    """The share of copies at the second destination whose files are missing although STATUS is
    'A'."""
    restored: float = 0.0
    """The share of archived logs that were deleted and restored: DEST_ID is 0."""
    nameless: float = 0.0
    """The share of archived logs that have an additional row, whose NAME is null."""
    knows_last_redo: bool = True
    """Whether LAST_REDO_CHANGE# of V$THREAD is known; otherwise it is null."""
    most_bytes: int = MAX_BYTES
    """The most bytes of SQL_REDO in one row."""
    cuts_characters: bool = False
    """Whether SQL_REDO is cut exactly at this number of bytes, even inside a character."""
    shared_scns: float = 0.0
    """The share of changes that have the SCN of the redo before them."""
    has_invalid_members: bool = False
    """Whether each group of logs has an additional member that cannot be opened, and comes
    first."""
    lateness: int = 0
    """The most SCNs by which LogMiner returns the rows of a transaction late. Such a database skips
    as many SCNs before DDL, so that no other transaction crosses it."""

    @classmethod
    def drawn(cls, seed: int) -> Peculiarities:
        """Return the peculiarities that a seed selects."""
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
            most_bytes=maybe(chance.choice((101, 1000, 3999)), MAX_BYTES),
            cuts_characters=maybe(True, False),
            shared_scns=maybe(chance.choice((0.2, 0.9)), 0.0),
            lateness=maybe(chance.choice((1, 4, 12)), 0),
            has_invalid_members=maybe(True, False),
        )

    @property
    def harmless(self) -> Peculiarities:
        """The peculiarities that change neither the SCNs of a script nor the contents of its
        events."""
        return Peculiarities(
            **{name: getattr(self, name) for name in _HARMLESS},
        )

    def of(self, *what: object) -> random.Random:
        """Return a random generator for a subject, which is the same each time."""
        return random.Random(f"{self.seed} {what}")  # noqa: S311 - draws of a seed

    def __str__(self) -> str:
        """Return the peculiarities of this database."""
        return shown(self)


_HARMLESS = (
    "seed", "unused_groups", "unknown_starts", "archiving", "idle_destinations",
    "second_destination", "lost_copies", "restored", "nameless", "most_bytes", "cuts_characters",
    "has_invalid_members",
)  # fmt: skip
