"""Properties that a Db2 may have, and the stand-in does not have by default: a time zone, a Capture
program that lags, lock waits, a client whose locale has a decimal comma. A seed selects a set of
them."""

from __future__ import annotations

import random
from dataclasses import dataclass

from headrace_demo.db2.bridge import UTC_NAME
from headrace_demo.peculiarities import coin_of, shown

ZONES = (UTC_NAME, "Etc/GMT-2", "Etc/GMT+9")
"""Time zones of the server's clock. All have a fixed offset: otherwise local times could occur
twice."""


@dataclass(frozen=True)
class Peculiarities:
    """The peculiarities of a database and its clients; by default it has none."""

    seed: int = 0
    zone: str = UTC_NAME
    """The zone of the server's clock, which is also that of Capture."""
    width: int = 16
    """Bytes of an LSN: 10 on z/OS."""
    longest_pause: float = 0.0
    """The longest additional pause between two cycles of Capture, in seconds."""
    lag: float = 0.0
    """The share of cycles in which Capture does not reach the last commit."""
    has_views: bool = False
    """Whether tables are also sources of views, with a registration for each view."""
    is_restrictive: bool = False
    """Whether the connector's user may only read what was granted explicitly."""
    has_commas: bool = False
    """Whether the driver writes decimals with the comma of the client's locale."""
    lock_waits: float = 0.0
    """The share of statements and fetches that end with SQL0911N."""

    @classmethod
    def drawn(cls, seed: int) -> Peculiarities:
        """Return the peculiarities that a seed selects."""
        chance = random.Random(seed)  # noqa: S311 - draws of a seed
        maybe = coin_of(chance)

        return cls(
            seed=seed,
            zone=chance.choice(ZONES),
            width=maybe(10, 16),
            longest_pause=maybe(chance.uniform(0.05, 0.5), 0.0),
            lag=maybe(chance.random(), 0.0),
            has_views=maybe(True, False),
            is_restrictive=maybe(True, False),
            has_commas=maybe(True, False),
            lock_waits=maybe(chance.choice((0.002, 0.02)), 0.0),
        )

    def __str__(self) -> str:
        """Return the peculiarities of this database."""
        return shown(self)
