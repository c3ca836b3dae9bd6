"""Places between the log's rows; see headrace.offsets.ordinals for the numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class InsertionPoint:
    """The place at which records are inserted; `part` is that of the next one. `shown` (in 64 bits)
    is the place of the log that their `source` shows: that of the next row of the log, or
    `Position.shown`."""

    position: int
    kind: int
    ordinal: int
    part: int
    shown: int
    last_commit: int | None
    row: int = 0  # ordinal of the next row of the log
    xid: int | None = None  # transaction of that row

    def take(self, count: int) -> tuple[int, int, int, int]:
        """Return the place of the first of `count` records, and reserve their parts."""
        at = (self.position, self.kind, self.ordinal, self.part)
        self.part += count
        return at

    def is_at(self, other: InsertionPoint) -> bool:
        """Whether both are before the same row of the log."""
        place = (self.position, self.kind, self.ordinal, self.row)
        return place == (other.position, other.kind, other.ordinal, other.row)
