"""Visibility of transactions: in a `txid_current_snapshot()`, and of delivered transactions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headrace.connect.rows import NULL

_WRAP = 1 << 32
_SETTLES_AT = 1 << 16
"""Number of kept ids at which those that every snapshot sees are removed."""


class VisibleTransactions:
    """A `txid_current_snapshot()`: `xmin:xmax:running`, in 64-bit ids. The log has their lower 32
    bits, which stand for the nearest 64-bit ids."""

    def __init__(self, text: str) -> None:
        low, high, running = text.split(":")
        self.xmin, self.xmax = int(low), int(high)
        self.running = frozenset(int(xid) for xid in running.split(",") if xid)
        self._running = np.array(sorted(self.running), np.int64)

    def hides(self, rows: np.ndarray, transactions: np.ndarray) -> np.ndarray:
        """A mask of the rows of the log whose transactions the snapshot does not see: see
        `snapshots.incremental.visibility.Visibility`."""
        return self.hides_ids(transactions["xid"][rows["transaction"]])

    def hides_ids(self, xids: np.ndarray) -> np.ndarray:
        """A mask of the transactions (ids of the log) that the snapshot does not see."""
        wide = self.widen(xids)
        return np.asarray((wide >= self.xmax) | np.isin(wide, self._running))

    def widen(self, xids: np.ndarray) -> np.ndarray:
        """The 64-bit ids of transactions, from ids of the log."""
        base = self.xmax & ~(_WRAP - 1)
        wide = base | (xids & (_WRAP - 1))
        wide = np.where(wide >= self.xmax + _WRAP // 2, wide - _WRAP, wide)
        return np.asarray(np.where(wide < self.xmax - _WRAP // 2, wide + _WRAP, wide))

    def sees(self, xid: int) -> bool:
        """Whether the snapshot sees the transaction with this id of the log."""
        return not self.hides_ids(np.array([xid], np.int64))[0]

    def covers(self, older: VisibleTransactions) -> bool:
        """Whether the snapshot sees every transaction that `older` sees.

        A transaction that `older` sees was committed before its log position and is not streamed,
        so it would be lost if this snapshot did not see it. WAL order is not visibility order, so a
        later snapshot can miss transactions.
        """
        if self.xmax < older.xmax:
            return False
        return all(xid >= older.xmax or xid in older.running for xid in self.running)


class DeliveredTransactions:
    """Transactions that were delivered and may still be invisible, for example because they are in
    the log, but wait for a standby. See `snapshots.incremental.visibility.DeliveredChanges`.

    `next_xid` returns an id that is larger than that of every transaction so far, `visible` the
    transactions that a snapshot sees now.
    """

    def __init__(
        self, next_xid: Callable[[], int], visible: Callable[[], VisibleTransactions]
    ) -> None:
        self._next_xid, self._visible = next_xid, visible
        self._xids = np.zeros(0, np.int64)
        self._first: int | None = None
        self._settled = False

    def begin(self) -> None:
        """Note that this process delivers from now on."""
        if self._first is None:
            self._first = self._next_xid()

    def add(self, rows: np.ndarray, transactions: np.ndarray) -> None:
        """Note that rows of the log were delivered, with the transactions that they refer to."""
        self.add_ids(transactions["xid"][rows["transaction"]])

    def add_ids(self, xids: np.ndarray) -> None:
        """Note that transactions (ids of the log) were delivered."""
        distinct = np.unique(xids)
        self._xids = np.union1d(self._xids, distinct[distinct != NULL])
        if len(self._xids) > _SETTLES_AT:
            self.are_visible()

    def forget(self) -> None:
        """Note that another process delivered transactions, which are unknown, but older than the
        next `begin`."""
        self._xids = np.zeros(0, np.int64)
        self._first, self._settled = None, False

    def are_visible(self) -> bool:
        """Whether a snapshot that is taken now sees all delivered transactions."""
        snapshot = self._visible()
        if not self._settled:
            # The transactions that an earlier process delivered are unknown: all of that time must
            # have ended.
            self.begin()
            assert self._first is not None
            self._settled = snapshot.xmin >= self._first
            if not self._settled:
                return False
        hidden = snapshot.hides_ids(self._xids)
        wide = snapshot.widen(self._xids)
        self._xids = self._xids[hidden | (wide >= snapshot.xmin)]
        return not hidden.any()
