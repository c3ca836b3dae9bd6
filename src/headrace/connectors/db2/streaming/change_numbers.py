"""The number of the last change of a range that ends inside of a transaction, and how the next
reader continues after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from headrace.connect.rows import low_half
from headrace.connectors.db2.lsn import ORDER_BYTES, place_of
from headrace.connectors.db2.position import Db2Offset, Db2Position, DeliveredChange
from headrace.connectors.db2.streaming import frames
from headrace.offsets.position import Position
from headrace.streaming.log_reader import Received
from headrace.streaming.streaming import EndMarks


class ChangeNumbers(EndMarks[Db2Position]):
    """See headrace.streaming.streaming.EndMarks. `lsn_bytes` returns the size of the server's
    numbers, which a position before the first of them does not have."""

    def __init__(self, lsn_bytes: Callable[[], int]) -> None:
        self._lsn_bytes = lsn_bytes

    def shown(
        self, start: Db2Offset, end: Db2Offset, memory: Callable[[int], memoryview]
    ) -> Db2Offset:
        """Return `end` with the whole number of its change, and numbers of the server's size."""
        if end is start:
            return end
        size, change = self._lsn_bytes(), end.position.change
        if change is not None and change.unread:
            place = place_of(bytes(memory(change.unread)[:ORDER_BYTES]))
            change = DeliveredChange(place, change.serial, size)
        return replace(end, position=replace(end.position, lsn_bytes=size, change=change))

    def write(self, transactions: np.ndarray, end: Db2Position) -> None:
        """Do nothing: records do not show the number."""


@dataclass(frozen=True)
class ReceivedChanges(Received):
    """The place up to which change tables were received. `change` is the lower half of the number
    of the last change of the open transaction; None: none of its changes was received yet."""

    change: int | None = None

    def reaches(self, position: Position) -> bool:
        """See Received. Inside of a transaction, a change after the position's must have come."""
        assert isinstance(position, Db2Position)
        if position.change is None or self.transaction != position.transaction:
            return super().reaches(position)
        return self.change is not None and position.change.is_before(self.change)


def resume(start: Db2Position, state: np.ndarray) -> tuple[int, int] | None:
    """Set a reader's state so that it numbers the changes of the transaction that `start` is inside
    of after the delivered ones. Returns the places of the transaction and of the last delivered
    change; None: `start` is not inside of a transaction, or has no change."""
    if start.transaction is None or start.change is None:
        return None
    state[frames.RESUMES] = 1
    state[frames.RESUMED_HIGH] = low_half(start.transaction >> 64)
    state[frames.RESUMED_LOW] = low_half(start.transaction)
    state[frames.RESUMED_CHANGE] = low_half(start.change.place)
    state[frames.RESUMED_ORDINAL] = start.messages + 1
    return start.transaction, start.change.place
