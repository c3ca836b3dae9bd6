"""Redo that is read once more, and redo that is left out."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headrace.connectors.oracle.scn import place_of
from headrace.connectors.oracle.streaming import redo_rows

_HALF = (1 << 64) - 1
_SEQUENCE = 0xFFFFFFFF
"""The last half of a transaction's id: all bits are set if LogMiner does not know it."""
_ENDS = (redo_rows.COMMIT, redo_rows.ROLLED_BACK)


@dataclass(frozen=True)
class Remined:
    """Open transactions with large values, whose redo is read again from their beginning, after
    the SCN `start`: LogMiner returns these values only if it reads all of them. Other
    transactions stay as they were read, up to the SCN `up_to`. `xids` are their ids (int64)."""

    start: int
    up_to: int
    xids: np.ndarray

    def __contains__(self, xid: int) -> bool:
        return bool(np.any(self.xids.view(np.uint64) == np.uint64(xid)))

    def rest(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of a batch without those that were read before and are held."""
        before = redo_rows.numbers(batch, redo_rows.SCN) <= self.up_to
        if not before.any():
            return batch
        return _without(batch, before & ~_are_of(batch, self.xids))


class GivenUp:
    """Transactions that are given up: their rows are left out, whenever they are read. The
    receiver's thread reports them, another thread gets those of an offset."""

    def __init__(self, xids: Iterable[int]) -> None:
        self._lock = threading.Lock()
        self._ends: dict[int, int | None] = dict.fromkeys(xids)
        """The place where each was committed or rolled back, by id; None: it is open."""
        self._ids = np.zeros(0, np.int64)
        self._is_known()

    def add(self, xids: Iterable[int]) -> None:
        """Add transactions."""
        with self._lock:
            for xid in xids:
                self._ends.setdefault(xid, None)
            self._is_known()

    def rest(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of a batch without those of these transactions; rows that end them
        stay."""
        if not len(self._ids):
            return batch
        theirs = _are_of(batch, self._ids)
        if not theirs.any():
            return batch
        ends = theirs & np.isin(redo_rows.numbers(batch, redo_rows.OPERATION_CODE), _ENDS)
        if ends.any():
            scns, xids = redo_rows.numbers(batch, redo_rows.SCN), redo_rows.transaction_ids(batch)
            with self._lock:
                for row in np.flatnonzero(ends):
                    xid = int(xids[row]) & _HALF
                    if xid in self._ends:
                        self._ends[xid] = place_of(int(scns[row]), xid)
        return _without(batch, theirs & ~ends)

    def at(self, committed: int) -> tuple[int, ...]:
        """Return the ids of the transactions at a position that has delivered everything below the
        place `committed`, without those that ended before it."""
        with self._lock:
            return tuple(
                sorted(x for x, end in self._ends.items() if end is None or end >= committed)
            )

    def forget(self, committed: int) -> None:
        """Forget transactions that were committed below a place: they are not read again."""
        with self._lock:
            gone = [x for x, end in self._ends.items() if end is not None and end < committed]
            for xid in gone:
                del self._ends[xid]
            if gone:
                self._is_known()

    def _is_known(self) -> None:
        self._ids = np.array([*self._ends], np.uint64).view(np.int64)


def _are_of(batch: pa.RecordBatch, xids: np.ndarray) -> np.ndarray:
    """Return a mask of the rows of transactions, also of those whose sequence LogMiner does not
    know."""
    row_xids = redo_rows.transaction_ids(batch)
    theirs = np.isin(row_xids, xids)
    unknown = (row_xids & _SEQUENCE) == _SEQUENCE
    if unknown.any():
        theirs |= unknown & np.isin(row_xids >> 32, xids >> 32)
    return np.asarray(theirs)


def _without(batch: pa.RecordBatch, left_out: np.ndarray) -> pa.RecordBatch:
    return batch.filter(pa.array(~left_out)) if left_out.any() else batch
