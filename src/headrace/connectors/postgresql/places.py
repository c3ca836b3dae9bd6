"""Places between the log's rows, and stretches of these rows as signals see them.

Between two transactions, heartbeats, notifications and chunks have ordinals of one numbering: each
takes the next one, so that nothing stands before what was delivered earlier. Behind a message of a
transaction come its own parts, then heartbeats, then what is inserted before the next message.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headrace.connect.images import Buffer
from headrace.streaming.facts import Facts

_HEARTBEAT_PARTS = 1 << 31
_HEARTBEATS = 1 << 30
INSERT_PARTS = _HEARTBEAT_PARTS + _HEARTBEATS
"""First `part` of what is inserted behind a message of a transaction."""


def ordinals_used(heartbeats: int, inserts: int) -> int:
    """The last ordinal between transactions that was given away. Both counts only rise, so the
    ordinal does, whichever of them takes the next one."""
    return heartbeats + inserts


def heartbeat_part(heartbeats: int) -> int:
    """`part` of a heartbeat behind a message of a transaction."""
    return _HEARTBEAT_PARTS + heartbeats % _HEARTBEATS


@dataclass
class Place:
    """Where records are inserted; `part` counts on."""

    position: int
    kind: int
    ordinal: int
    part: int
    lsn: int
    last_commit: int | None
    row: int = 0  # ordinal of the row of the log that comes next
    xid: int | None = None  # and its transaction

    def take(self, count: int) -> tuple[int, int, int, int]:
        """Room for `count` records."""
        at = (self.position, self.kind, self.ordinal, self.part)
        self.part += count
        return at

    def is_at(self, other: Place) -> bool:
        """Whether both stand before the same row of the log."""
        mine = (self.position, self.kind, self.ordinal, self.row)
        return mine == (other.position, other.kind, other.ordinal, other.row)


@dataclass(frozen=True)
class Stretch:
    """Rows of the log that come next, with what it takes to understand them."""

    rows: np.ndarray
    transactions: np.ndarray
    facts: Callable[[int], Facts]
    image: Callable[[int], Buffer]
