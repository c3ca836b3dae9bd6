"""Places between the log's rows, and stretches of these rows as signals see them; see
headrace.offsets.ordinals for the numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headrace.connect.images import Buffer
from headrace.streaming.facts import Facts


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
