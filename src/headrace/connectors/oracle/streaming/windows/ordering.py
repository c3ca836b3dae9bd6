"""The order in which LogMiner gives the rows of a window. Pure: no connection."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from headrace.connectors.oracle.streaming import redo_rows


class RowOrder:
    """Rows come by their SCNs. A row of a smaller SCN than the one before is tolerated as long as
    what is committed there is not released: a fetch is, when the next one has come. One thread
    uses it."""

    def __init__(self) -> None:
        self.steps = 0
        """Rows of a smaller SCN than the one before, in all windows."""
        self._last = self._highest = 0

    def begin(self) -> None:
        """Another window begins."""
        self._last = self._highest = 0

    def add(self, scns: np.ndarray) -> int:
        """The SCNs of a fetch. What is committed below the SCN that is returned may be released."""
        self.steps += int(np.count_nonzero(np.diff(scns, prepend=self._last) < 0))
        released = min(self._highest, int(scns.min()))
        self._last, self._highest = int(scns[-1]), max(self._highest, int(scns.max()))
        return released


def commit_order(batch: pa.RecordBatch) -> np.ndarray:
    """The SCNs by which rows come where LogMiner holds transactions: those of their commits."""
    scns = redo_rows.numbers(batch, redo_rows.SCN)
    commits = redo_rows.numbers(batch, redo_rows.COMMIT_SCN)
    return np.where(commits > 0, commits, scns)
