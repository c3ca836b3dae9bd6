"""The order in which LogMiner returns the rows of a window. Pure: no connection."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headrace.connectors.oracle.scn import format_xid, scn_of
from headrace.connectors.oracle.streaming import redo_rows
from headrace.errors import HeadraceError

_OUT_OF_ORDER = "oracle.redo_out_of_order"
_ADJUSTMENT = "internal.log.mining.redo.thread.scn.adjustment"


class RowOrder:
    """Rows come by their SCNs. A row with a smaller SCN than the one before is tolerated as long as
    the commits at its SCN are not released: a fetch is released when the next one has come. One
    thread uses it."""

    def __init__(self) -> None:
        self.steps = 0
        """Rows with a smaller SCN than the one before, in all windows."""
        self._last = self._highest = 0

    def begin(self) -> None:
        """Begin another window."""
        self._last = self._highest = 0

    def add(self, scns: np.ndarray) -> int:
        """Add the SCNs of a fetch; returns the SCN below which commits may be released."""
        self.steps += int(np.count_nonzero(np.diff(scns, prepend=self._last) < 0))
        released = min(self._highest, int(scns.min()))
        self._last, self._highest = int(scns[-1]), max(self._highest, int(scns.max()))
        return released


class LastFetch:
    """The rows that were fetched last. They are held when the next fetch has come, because it may
    have more rows of their last SCN. One thread uses it."""

    def __init__(self) -> None:
        self._batches: list[pa.RecordBatch] = []

    def exchange(self, batch: pa.RecordBatch, up_to: int) -> tuple[list[pa.RecordBatch], int]:
        """Keep a batch, and return the rows before it whose SCNs are complete, and the last of
        these SCNs; `up_to` if nothing is complete."""
        before, self._batches = self._batches, [batch]
        if not before:
            return [], up_to
        scns = redo_rows.numbers(before[-1], redo_rows.SCN)
        last = int(scns[-1])
        if redo_rows.numbers(batch, redo_rows.SCN)[0] != last:
            return before, last
        first = int(np.flatnonzero(np.append(True, scns != last))[-1])
        if first == 0:
            self._batches = [*before, batch]
            return [], up_to
        *earlier, newest = before
        self._batches = [newest.slice(first), batch]
        return [*earlier, newest.slice(0, first)], last - 1

    def rest(self) -> list[pa.RecordBatch]:
        """Return the kept rows: the window ended, so no more rows of their last SCN follow."""
        rest, self._batches = self._batches, []
        return rest


@dataclass(frozen=True)
class LateCommit:
    """A commit with a smaller SCN than what was released."""

    xid: int
    scn: int

    def error(self, released: int) -> HeadraceError:
        """Return the error of this commit, if everything below an SCN was released."""
        return HeadraceError(
            _OUT_OF_ORDER,
            f"LogMiner gave the commit of transaction {format_xid(self.xid)} at SCN {self.scn} "
            f"after redo of SCN {released}",
            f"The redo is read again from the checkpoint; if it happens again, set {_ADJUSTMENT} "
            "to a larger number.",
            retriable=True,
        )

    def judged(self, error: HeadraceError, place: int) -> HeadraceError:
        """Return `error`, or another error if it is that of this commit and everything up to a
        place at or after it was delivered: reading on from the checkpoint would leave the changes
        out."""
        if error.code != _OUT_OF_ORDER or (self.scn << 64 | self.xid) > place:
            return error
        return HeadraceError(
            "oracle.commit_left_out",
            f"LogMiner gave the commit of transaction {format_xid(self.xid)} at SCN {self.scn} "
            f"after the events up to SCN {scn_of(place)} were delivered, so its changes are not "
            "among them",
            f"Set {_ADJUSTMENT} to a larger number, start again, and read the tables that the "
            "transaction changed by an incremental snapshot.",
        )


def commit_order(batch: pa.RecordBatch) -> np.ndarray:
    """Return the SCNs that order rows if LogMiner holds transactions: those of their commits."""
    scns = redo_rows.numbers(batch, redo_rows.SCN)
    commits = redo_rows.numbers(batch, redo_rows.COMMIT_SCN)
    return np.where(commits > 0, commits, scns)
