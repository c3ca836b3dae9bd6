"""Log sequence numbers of many rows, as two columns of 64 bits that compare as the numbers do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from headrace.connectors.db2.lsn import LSN_BYTES


class LsnColumn(NamedTuple):
    """The upper and lower halves of numbers (uint64 each)."""

    high: np.ndarray
    low: np.ndarray

    @staticmethod
    def of(lsns: Sequence[bytes]) -> LsnColumn:
        """Return a column of numbers from their bytes; shorter ones are padded with zeros in
        front."""
        size = len(lsns[0]) if lsns else LSN_BYTES
        joined = b"".join(lsns)
        if len(joined) != size * len(lsns) or size != LSN_BYTES:
            joined = b"".join(lsn.rjust(LSN_BYTES, b"\0") for lsn in lsns)
        halves = np.frombuffer(joined, ">u8").astype(np.uint64).reshape(-1, 2)
        return LsnColumn(np.ascontiguousarray(halves[:, 0]), np.ascontiguousarray(halves[:, 1]))

    @staticmethod
    def joined(columns: Sequence[LsnColumn]) -> LsnColumn:
        """Concatenate columns."""
        return LsnColumn(
            np.concatenate([column.high for column in columns]),
            np.concatenate([column.low for column in columns]),
        )

    def take(self, rows: np.ndarray | slice) -> LsnColumn:
        """Return the numbers of these rows."""
        return LsnColumn(self.high[rows], self.low[rows])

    def same_as_before(self) -> np.ndarray:
        """Return a mask of the rows after the first one: whether the number is that of the row
        before."""
        same = self.low[1:] == self.low[:-1]
        return np.asarray(same & (self.high[1:] == self.high[:-1]))

    def up_to(self, high: int, low: int) -> np.ndarray:
        """Return a mask of the numbers that are not above this one."""
        above = self.high > np.uint64(high)
        return np.asarray(~(above | ((self.high == np.uint64(high)) & (self.low > np.uint64(low)))))

    def place(self, row: int) -> int:
        """Return the number of a row as a place in the log."""
        return int(self.high[row]) << 64 | int(self.low[row])


NO_LSNS = LsnColumn(np.zeros(0, np.uint64), np.zeros(0, np.uint64))
