"""The transactions that a `txid_current_snapshot()` sees, and whether it sees delivered ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headrace.connect.rows import NULL

_WRAP = 1 << 32
_SETTLES_AT = 1 << 16
"""So many ids are kept before those that every snapshot sees are forgotten."""


class VisibleTransactions:
    """A `txid_current_snapshot()`: `xmin:xmax:running`, in 64-bit ids. The log's ids are their
    lower 32 bits; they are those of the nearest 64-bit ids."""

    def __init__(self, text: str) -> None:
        low, high, running = text.split(":")
        self.xmin, self.xmax = int(low), int(high)
        self.running = frozenset(int(xid) for xid in running.split(",") if xid)
        self._running = np.array(sorted(self.running), np.int64)

    def hides(self, rows: np.ndarray, transactions: np.ndarray) -> np.ndarray:
        """Mask of the log's rows whose transactions it does not see: see
        `snapshots.incremental.visibility.Visibility`."""
        return self.hides_ids(transactions["xid"][rows["transaction"]])

    def hides_ids(self, xids: np.ndarray) -> np.ndarray:
        """Mask of the transactions (ids of the log) that it does not see."""
        wide = self.widen(xids)
        return np.asarray((wide >= self.xmax) | np.isin(wide, self._running))

    def widen(self, xids: np.ndarray) -> np.ndarray:
        """64-bit ids of the log's."""
        base = self.xmax & ~(_WRAP - 1)
        wide = base | (xids & (_WRAP - 1))
        wide = np.where(wide >= self.xmax + _WRAP // 2, wide - _WRAP, wide)
        return np.asarray(np.where(wide < self.xmax - _WRAP // 2, wide + _WRAP, wide))

    def sees(self, xid: int) -> bool:
        """Whether it sees the transaction with this id of the log."""
        return not self.hides_ids(np.array([xid], np.int64))[0]

    def covers(self, older: VisibleTransactions) -> bool:
        """Whether it sees every transaction that `older` sees.

        What `older` sees committed before its log position and is not streamed; what this one
        misses of it would be lost. WAL order is not visibility order, so a later snapshot can miss
        some.
        """
        if self.xmax < older.xmax:
            return False
        return all(xid >= older.xmax or xid in older.running for xid in self.running)


class DeliveredTransactions:
    """Transactions that were delivered and may still be invisible: in the log, but waiting for a
    standby, for example. See `snapshots.incremental.visibility.Delivered`.

    `next_xid` asks the server for an id that is larger than that of every transaction so far,
    `visible` for what a snapshot sees now."""

    def __init__(
        self, next_xid: Callable[[], int], visible: Callable[[], VisibleTransactions]
    ) -> None:
        self._next_xid, self._visible = next_xid, visible
        self._xids = np.zeros(0, np.int64)
        self._first: int | None = None
        self._settled = False

    def begin(self) -> None:
        """This process delivers from now on."""
        if self._first is None:
            self._first = self._next_xid()

    def add(self, rows: np.ndarray, transactions: np.ndarray) -> None:
        """Rows of the log were delivered, with the transactions that they refer to."""
        self.add_ids(transactions["xid"][rows["transaction"]])

    def add_ids(self, xids: np.ndarray) -> None:
        """Transactions (ids of the log) were delivered."""
        distinct = np.unique(xids)
        self._xids = np.union1d(self._xids, distinct[distinct != NULL])
        if len(self._xids) > _SETTLES_AT:
            self.are_visible()

    def forget(self) -> None:
        """Somebody else delivered; nothing is known of it but that it was before `begin`."""
        self._xids = np.zeros(0, np.int64)
        self._first, self._settled = None, False

    def are_visible(self) -> bool:
        """Whether a snapshot that is taken now sees all of them."""
        seen = self._visible()
        if not self._settled:
            # What an earlier process delivered is not known: all of that time must have ended.
            self.begin()
            assert self._first is not None
            self._settled = seen.xmin >= self._first
            if not self._settled:
                return False
        hidden = seen.hides_ids(self._xids)
        wide = seen.widen(self._xids)
        self._xids = self._xids[hidden | (wide >= seen.xmin)]
        return not hidden.any()
