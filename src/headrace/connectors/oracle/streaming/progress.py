"""Where mining begins again for each position of the stream, and what is measured of it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from headrace.connectors.oracle.position import (
    OracleOffset,
    OraclePosition,
    ThreadCommit,
    record_commits,
)
from headrace.connectors.oracle.scn import place_of, scn_of
from headrace.connectors.oracle.streaming.remining import GivenUp
from headrace.connectors.oracle.streaming.transactions.buffer import Commits


class _Released(NamedTuple):
    """What was released at once: everything below the place `upto`; for positions before it,
    mining begins at `mined`."""

    upto: int
    mined: int
    commits: Commits


class MinedPlaces:
    """Writes into offsets where mining begins again: see
    headrace.streaming.streaming.EndMarks. The receiver's thread tells what it releases, another one
    asks."""

    def __init__(self, start: OraclePosition, given_up: GivenUp | None = None) -> None:
        self._lock = threading.Lock()
        self._given_up = given_up or GivenUp(start.given_up)
        self.system: str | None = None
        """Which of the database's lives offsets are of; None: the same as before."""
        self._released: deque[_Released] = deque()
        self._mined = start.mined_from
        self._threads = {one.thread: one for one in start.threads}

    def released(self, upto: int, mined: int, commits: Commits, following: int) -> None:
        """`commits` are released, and everything below `upto` with them. Positions before `upto`
        are mined from `mined` on, those from there on from `following`."""
        with self._lock:
            self._released.append(_Released(upto, mined, commits))
            self._mined = following

    def shown(
        self,
        start: OracleOffset,
        end: OracleOffset,
        memory: Callable[[int], memoryview],  # noqa: ARG002
    ) -> OracleOffset:
        """See EndMarks."""
        after, position = start.position, end.position
        if position.is_at(after):
            return replace(end, position=after)
        with self._lock:
            mined = self._mined
            for one in self._released:
                if position.committed < one.upto:
                    mined = one.mined
                    break
            threads = dict(self._threads)
            for one in self._released:
                _pass(threads, one.commits, position.committed)
            while self._released and self._released[0].upto <= after.committed:
                _pass(self._threads, self._released[0].commits, after.committed)
                self._released.popleft()
        self._given_up.forget(after.committed)
        position = replace(
            position,
            mined=mined,
            threads=tuple(threads[thread] for thread in sorted(threads)),
            given_up=self._given_up.at(position.committed),
        )
        return replace(end, position=position, system=self.system or end.system)

    def write(self, transactions: np.ndarray, end: OraclePosition) -> None:
        """See EndMarks: nothing of it is shown."""


def _pass(threads: dict[int, ThreadCommit], commits: Commits, committed: int) -> None:
    """The last commits of each thread below a place."""
    delivered = len(commits)
    if delivered and place_of(int(commits.scns[-1]), int(commits.xids[-1])) >= committed:
        scn, xid = scn_of(committed), np.uint64(committed & ((1 << 64) - 1))
        below = (commits.scns < scn) | ((commits.scns == scn) & (commits.xids < xid))
        delivered = int(np.count_nonzero(below))
    columns = (commits.threads, commits.scns, commits.xids)
    record_commits(threads, *(column[:delivered] for column in columns))


@dataclass
class MiningProgress:
    """Figures of the redo, by the receiver's thread; other threads read. Times are in milliseconds,
    SCNs 0 where they are not known."""

    current_scn: int = 0
    offset_scn: int = 0
    oldest_scn: int = 0
    oldest_us: int = 0
    active_transactions: int = 0
    rolled_back: int = 0
    abandoned: int = 0
    committed: int = 0
    held_bytes: int = 0
    disk_bytes: int = 0
    windows: int = 0
    rows: int = 0
    log_switches: int = 0
    inconsistent_logs: int = 0
    waited_ms: int = 0
    """For logs that are switched or archived."""
    last_query_ms: int = 0
    most_query_ms: int = 0
    last_batch_rows: int = 0
    unmatched: int = 0

    def queried(self, seconds: float, rows: int) -> None:
        """A window was read."""
        self.windows += 1
        self.rows += rows
        self.last_batch_rows = rows
        self.last_query_ms = int(seconds * 1000)
        self.most_query_ms = max(self.most_query_ms, self.last_query_ms)

    def to_json(self) -> dict[str, Any]:
        """By Debezium's names."""
        return {
            "CurrentScn": str(self.current_scn),
            "OffsetScn": str(self.offset_scn),
            "ScnGap": max(self.current_scn - self.offset_scn, 0),
            "OldestScn": str(self.oldest_scn),
            "OldestScnTime": self.oldest_us // 1000 or None,
            "NumberOfActiveTransactions": self.active_transactions,
            "NumberOfRolledBackTransactions": self.rolled_back,
            "NumberOfOversizedTransactions": self.abandoned,
            "NumberOfCommittedTransactions": self.committed,
            "NumberOfPartialRollbackCount": self.unmatched,
            "BufferedBytes": self.held_bytes,
            "SpilledBytes": self.disk_bytes,
            "FetchQueryCount": self.windows,
            "TotalProcessedRows": self.rows,
            "SwitchCounter": self.log_switches,
            "InconsistentLogs": self.inconsistent_logs,
            "LogWaitTimeInMilliseconds": self.waited_ms,
            "LastDurationOfFetchQueryInMilliseconds": self.last_query_ms,
            "MaxDurationOfFetchQueryInMilliseconds": self.most_query_ms,
            "LastCapturedDmlCount": self.last_batch_rows,
        }
