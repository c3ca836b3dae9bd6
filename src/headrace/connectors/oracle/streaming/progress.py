"""The SCN from which redo is mined again for each position of the stream, and the metrics of
mining."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
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
from headrace.connectors.oracle.streaming.transactions.buffer import Commits, TransactionBuffer

_MEMORY = {
    "MiningSessionUserGlobalAreaMemoryInBytes": "session uga memory",
    "MiningSessionUserGlobalAreaMaxMemoryInBytes": "session uga memory max",
    "MiningSessionProcessGlobalAreaMemoryInBytes": "session pga memory",
    "MiningSessionProcessGlobalAreaMaxMemoryInBytes": "session pga memory max",
}


class _Released(NamedTuple):
    """Transactions that were released together: all that were committed below the place `up_to`.
    For positions before it, redo is mined again from `mined` on."""

    up_to: int
    mined: int
    commits: Commits


class MinedPlaces:
    """Adds to each offset the SCN from which redo is mined again after a restart: see
    headrace.streaming.streaming.EndMarks. The receiver's thread calls `released`, another thread
    `shown`."""

    def __init__(self, start: OraclePosition, given_up: GivenUp | None = None) -> None:
        self._lock = threading.Lock()
        self._given_up = given_up or GivenUp(start.given_up)
        self.system: str | None = None
        """The database's incarnation, for offsets; None: the same as before."""
        self._released: deque[_Released] = deque()
        self._mined = start.mined_from
        self._threads = {commit.thread: commit for commit in start.threads}

    def released(self, up_to: int, mined: int, commits: Commits, following: int) -> None:
        """Record that `commits` are released, and everything below `up_to` with them. Positions
        before `up_to` are mined from `mined` on, those from there on from `following`."""
        with self._lock:
            self._released.append(_Released(up_to, mined, commits))
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
            for released in self._released:
                if position.committed < released.up_to:
                    mined = released.mined
                    break
            threads = dict(self._threads)
            for released in self._released:
                _add_commits_below(threads, released.commits, position.committed)
            while self._released and self._released[0].up_to <= after.committed:
                _add_commits_below(self._threads, self._released[0].commits, after.committed)
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
        """See EndMarks. There is nothing to write: no record depends on the end of its range."""


def _add_commits_below(threads: dict[int, ThreadCommit], commits: Commits, committed: int) -> None:
    """Update `threads` with the last commit of each thread below the place `committed`."""
    delivered = len(commits)
    if delivered and place_of(int(commits.scns[-1]), int(commits.xids[-1])) >= committed:
        scn, xid = scn_of(committed), np.uint64(committed & ((1 << 64) - 1))
        below = (commits.scns < scn) | ((commits.scns == scn) & (commits.xids < xid))
        delivered = int(np.count_nonzero(below))
    columns = (commits.threads, commits.scns, commits.xids)
    record_commits(threads, *(column[:delivered] for column in columns))


@dataclass
class Durations:
    """Durations of repeated work."""

    count: int = 0
    last_ms: int = 0
    max_ms: int = 0
    total_s: float = 0.0

    def add(self, seconds: float) -> None:
        """Add one duration."""
        self.count += 1
        self.last_ms = int(seconds * 1000)
        self.max_ms = max(self.max_ms, self.last_ms)
        self.total_s += seconds

    @property
    def total_ms(self) -> int:
        """The sum of all durations."""
        return int(self.total_s * 1000)


@dataclass
class MiningProgress:
    """Metrics of the redo, written by the receiver's thread and read by others. SCNs are 0 if they
    are not known."""

    current_scn: int = 0
    offset_scn: int = 0
    committed_scn: int = 0
    oldest_scn: int = 0
    oldest_us: int = 0
    active_transactions: int = 0
    rolled_back: int = 0
    abandoned: int = 0
    """Transactions that are given up, without the oversized ones."""
    given_up: int = 0
    committed: int = 0
    held_bytes: int = 0
    disk_bytes: int = 0
    partial_rollbacks: int = 0
    unmatched: int = 0
    backward_steps: int = 0
    """Rows whose SCN is smaller than that of the row before."""
    rows: int = 0
    log_switches: int = 0
    waits: int = 0
    starting: Durations = field(default_factory=Durations)
    """Starts of LogMiner's sessions."""
    querying: Durations = field(default_factory=Durations)
    """Queries of windows until their first rows."""
    fetching: Durations = field(default_factory=Durations)
    """Fetches of the rows after the first ones."""
    processing: Durations = field(default_factory=Durations)
    """Windows, from the query until all of their rows are held."""
    memory: Mapping[str, int] = field(default_factory=dict)
    """Bytes of memory of LogMiner's session, by the names of V$STATNAME."""
    _waited_s: float = 0.0
    _waits_since: float | None = None

    def begin_wait(self) -> None:
        """Count a wait for redo logs that do not fit together, or were switched while they were
        mined."""
        self.waits += 1
        if self._waits_since is None:
            self._waits_since = time.monotonic()

    def end_wait(self) -> None:
        """End the wait: the redo logs fit together."""
        if self._waits_since is not None:
            self._waited_s += time.monotonic() - self._waits_since
            self._waits_since = None

    def measure(self, buffer: TransactionBuffer, mined: int) -> None:
        """Measure the contents of the buffer; redo is mined again from `mined` on."""
        self.offset_scn = mined
        self.oldest_scn, self.oldest_us = buffer.oldest() or 0, buffer.oldest_us()
        self.active_transactions, self.rolled_back = buffer.open_count, buffer.rolled_back
        self.given_up = buffer.abandoned
        self.held_bytes, self.disk_bytes = buffer.held_bytes, buffer.disk_bytes
        self.partial_rollbacks, self.unmatched = buffer.partial_rollbacks, buffer.unmatched

    def to_json(self) -> dict[str, Any]:
        """Return the metrics by Debezium's names; the guide describes those without a name in
        Debezium."""
        age_us = time.time_ns() // 1000 - self.oldest_us if self.oldest_us else 0
        since = self._waits_since
        waited_s = self._waited_s + (0.0 if since is None else time.monotonic() - since)
        return {
            "CurrentScn": str(self.current_scn),
            "OffsetScn": str(self.offset_scn),
            "CommittedScn": str(self.committed_scn),
            "ScnGap": max(self.current_scn - self.offset_scn, 0),
            "OldestScn": str(self.oldest_scn),
            "OldestScnAgeInMilliseconds": abs(age_us) // 1000,
            "NumberOfActiveTransactions": self.active_transactions,
            "NumberOfRolledBackTransactions": self.rolled_back,
            "NumberOfOversizedTransactions": self.given_up - self.abandoned,
            "AbandonedTransactionCount": self.abandoned,
            "NumberOfCommittedTransactions": self.committed,
            "NumberOfPartialRollbackCount": self.partial_rollbacks,
            "NumberOfUnmatchedRollbacks": self.unmatched,
            "NumberOfBackwardScnSteps": self.backward_steps,
            "BufferedBytes": self.held_bytes,
            "SpilledBytes": self.disk_bytes,
            "FetchQueryCount": self.querying.count,
            "TotalProcessedRows": self.rows,
            "LogSwitchCount": self.log_switches,
            "LogWaitCount": self.waits,
            "LogWaitTimeInMilliseconds": int(waited_s * 1000),
            "LastMiningSessionStartTimeInMilliseconds": self.starting.last_ms,
            "MaxMiningSessionStartTimeInMilliseconds": self.starting.max_ms,
            "TotalMiningSessionStartTimeInMilliseconds": self.starting.total_ms,
            "LastDurationOfFetchQueryInMilliseconds": self.querying.last_ms,
            "MaxDurationOfFetchQueryInMilliseconds": self.querying.max_ms,
            "TotalResultSetNextTimeInMilliseconds": self.fetching.total_ms,
            "LastBatchProcessingTimeInMilliseconds": self.processing.last_ms,
            "MaxBatchProcessingTimeInMilliseconds": self.processing.max_ms,
            "TotalBatchProcessingTimeInMilliseconds": self.processing.total_ms,
            **{
                name: self.memory[member]
                for name, member in _MEMORY.items()
                if member in self.memory
            },
        }
