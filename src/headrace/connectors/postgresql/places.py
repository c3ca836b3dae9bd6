"""Places between the log's rows, and stretches of these rows as signals see them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headrace.connectors.postgresql.events import RelationFacts
from headrace.connectors.postgresql.images import Buffer


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


@dataclass(frozen=True)
class Stretch:
    """Rows of the log that come next, with what it takes to understand them."""

    rows: np.ndarray
    transactions: np.ndarray
    facts: Callable[[int], RelationFacts]
    image: Callable[[int], Buffer]
