"""Redo logs: which ones exist, whether they fit together, and how many of them are mined at once.
Pure: no connection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

from headrace.connectors.oracle.scn import LARGEST_SCN

_ONLINE, _CURRENT = "ONLINE", "CURRENT"
_OPEN, _PRIVATE, _DISABLED = "OPEN", "PRIVATE", "DISABLED"


@dataclass(frozen=True)
class RedoLog:
    """A log: it has the redo of its thread from the SCN `first` on, and up to `following`, which is
    in the next one. `size` is in bytes."""

    name: str
    first: int
    following: int
    thread: int
    sequence: int
    is_archived: bool
    is_current: bool
    size: int = 0

    @staticmethod
    def of(row: Mapping[str, Any]) -> RedoLog:
        """Return the log of a row of sql.LOGS. The SCN after a current log is beyond all."""
        is_current = row["STATUS"] == _CURRENT
        following = LARGEST_SCN if is_current else min(int(row["NEXT_CHANGE"]), LARGEST_SCN)
        return RedoLog(
            str(row["NAME"]),
            int(row["FIRST_CHANGE"]),
            following,
            int(row["THREAD"]),
            int(row["SEQUENCE"]),
            row["KIND"] != _ONLINE,
            is_current,
            int(row["BYTES"] or 0),
        )

    def holds(self, scn: int) -> bool:
        """Whether the redo after an SCN begins in it."""
        return self.first <= scn < self.following


@dataclass(frozen=True)
class RedoThread:
    """A row of V$THREAD. `checkpoint` and `last_change` are SCNs, `enabled_at` is the SCN at which
    the thread was enabled, `sequence` is the number of its current log."""

    number: int
    is_open: bool
    is_private: bool = False
    is_disabled: bool = False
    checkpoint: int = 0
    enabled_at: int = 0
    last_change: int = 0
    sequence: int = 0

    @property
    def logs_state(self) -> tuple[int, bool, bool, bool, int, int]:
        """The state that changes with each switch of the thread's log, and when the thread is
        opened or closed."""
        kind = self.is_open, self.is_private, self.is_disabled
        return (self.number, *kind, self.enabled_at, self.sequence)

    @staticmethod
    def of(row: Sequence[Any]) -> RedoThread:
        """Return the redo thread of a row of sql.THREADS."""
        number, status, enabled, sequence, checkpoint, enabled_at, _, _, last_change, _ = row
        return RedoThread(
            int(number),
            status == _OPEN,
            enabled == _PRIVATE,
            enabled == _DISABLED,
            int(checkpoint or 0),
            int(enabled_at or 0),
            int(last_change or 0),
            int(sequence or 0),
        )


def one_of_each(logs: Iterable[RedoLog]) -> list[RedoLog]:
    """Return each log once, by thread and sequence: the archived one rather than the online log
    that it was copied from, which may be overwritten."""
    chosen: dict[tuple[int, int], RedoLog] = {}
    for log in logs:
        place = (log.thread, log.sequence)
        if place not in chosen or (log.is_archived and not chosen[place].is_archived):
            chosen[place] = log
    return [chosen[place] for place in sorted(chosen)]


def of_threads(logs: Iterable[RedoLog], threads: Iterable[RedoThread]) -> list[RedoLog]:
    """Return the logs of the threads that are mined: logs of private threads are not."""
    private = {thread.number for thread in threads if thread.is_private}
    return [log for log in logs if log.thread not in private]


def archived_until(ends: Mapping[int, int], threads: Iterable[RedoThread]) -> int:
    """Return the SCN below which the redo of all threads is archived; 0: nothing is. `ends` are, by
    thread, the SCNs at which its archived logs end. An open thread holds the others until it
    switches its log; a closed one only until the log with its checkpoint is archived."""
    awaited_ends = []
    for thread in threads:
        if thread.is_private or (thread.is_disabled and not thread.is_open):
            continue
        end = ends.get(thread.number, thread.enabled_at)
        if thread.is_open or end < thread.checkpoint:
            awaited_ends.append(end)
    return min(awaited_ends) if awaited_ends else max(ends.values(), default=0)


class Inconsistency(NamedTuple):
    """The reason why the logs of a redo thread do not fit together."""

    thread: int
    why: str

    def __str__(self) -> str:
        return f"redo thread {self.thread}: {self.why}"


def inconsistency(
    logs: Sequence[RedoLog],
    threads: Iterable[RedoThread],
    scn: int,
    *,
    only_archived: bool = False,
    ends_before: Mapping[int, int] = MappingProxyType({}),
) -> Inconsistency | None:
    """Return why redo cannot be read from an SCN on with these logs (each once); None: it can. An
    open thread needs all logs from that SCN, or from where it was enabled; a closed one, those up
    to its checkpoint. `only_archived`: its current log may be missing. `ends_before` are, by
    thread, the SCNs at which the log before the first of these ended, if that is known."""
    for thread in threads:
        if thread.is_private or (thread.is_disabled and not thread.is_open):
            continue
        of_thread = [log for log in logs if log.thread == thread.number]
        if not thread.is_open and thread.checkpoint <= scn:
            continue
        why = _first_missing(thread, of_thread, scn, ends_before.get(thread.number)) or _gap(
            of_thread
        )
        if why is None and thread.is_open and not only_archived and not of_thread[-1].is_current:
            why = f"the current log after sequence {of_thread[-1].sequence} is not there yet"
        if why is None and not thread.is_open and of_thread[-1].following < thread.checkpoint:
            why = f"the log with its checkpoint {thread.checkpoint} is not there"
        if why is not None:
            return Inconsistency(thread.number, why)
    return None


def first_logs(logs: Sequence[RedoLog], scn: int) -> list[RedoLog]:
    """Return the first log of each thread for which no log contains an SCN."""
    firsts: dict[int, RedoLog] = {}
    threads = {log.thread for log in logs if log.holds(scn)}
    for log in logs:
        if log.thread not in threads:
            firsts.setdefault(log.thread, log)
    return list(firsts.values())


def oldest_scns(logs: Iterable[RedoLog]) -> dict[int, int]:
    """Return the first SCN for which redo still exists, by thread."""
    oldest: dict[int, int] = {}
    for log in logs:
        oldest[log.thread] = min(log.first, oldest.get(log.thread, log.first))
    return oldest


def oldest_scn(logs: Iterable[RedoLog], threads: Iterable[RedoThread]) -> int | None:
    """Return the first SCN from which on the redo of all open threads exists; None: there are no
    logs. A thread all of whose redo exists since it was enabled is ignored."""
    oldest = oldest_scns(logs)
    needed = [
        oldest[thread.number]
        for thread in threads
        if thread.is_open and oldest.get(thread.number, 0) > thread.enabled_at
    ]
    return max(needed, default=min(oldest.values(), default=None))


def _first_missing(
    thread: RedoThread, logs: Sequence[RedoLog], scn: int, end_before: int | None
) -> str | None:
    start = max(scn, thread.enabled_at)
    if any(log.holds(start) for log in logs):
        return None
    if logs and end_before is not None:
        # The thread was closed between two logs that follow each other: no redo is missing.
        is_whole = end_before <= start
        return None if is_whole else f"there is no log before the sequence {logs[0].sequence}"
    if thread.enabled_at > scn and any(log.first >= thread.enabled_at for log in logs[:1]):
        return None
    return f"no log has SCN {start}"


def _gap(logs: Sequence[RedoLog]) -> str | None:
    for before, log in pairwise(logs):
        if log.sequence != before.sequence + 1:
            return f"there is no log between the sequences {before.sequence} and {log.sequence}"
    return None


@dataclass(frozen=True)
class Selection:
    """The logs of a mining session; `last` is the SCN up to which they hold the redo of all threads
    (None: up to the end)."""

    logs: tuple[RedoLog, ...]
    last: int | None

    @property
    def names(self) -> frozenset[str]:
        """The logs' names."""
        return frozenset(log.name for log in self.logs)

    def same_logs(self, other: Selection | None) -> bool:
        """Whether a session with these logs can be used for the other selection."""
        return other is not None and [
            (log.name, log.sequence, log.is_current) for log in self.logs
        ] == [(log.name, log.sequence, log.is_current) for log in other.logs]


def selection(logs: Sequence[RedoLog], largest: int, count: int) -> Selection:
    """Return the first logs of each thread, as many as have `count` times the bytes of the
    `largest` online log; 0: all."""
    if not count:
        return Selection(tuple(logs), None)
    chosen: list[RedoLog] = []
    last: int | None = None
    for thread in sorted({log.thread for log in logs}):
        of_thread = [log for log in logs if log.thread == thread]
        size = 0
        for number, log in enumerate(of_thread, 1):
            chosen.append(log)
            size += log.size
            if size >= count * largest and number < len(of_thread):
                last = log.following - 1 if last is None else min(last, log.following - 1)
                break
    return Selection(tuple(chosen), last)


def selection_beyond(logs: Sequence[RedoLog], largest: int, least: int, beyond: int) -> Selection:
    """Return the first logs of each thread, at least as many as have `least` times the bytes of the
    `largest` online log (0: all), and so many that they reach beyond an SCN: a long transaction may
    hold back the beginning of sessions."""
    chosen = selection(logs, largest, least)
    count = least
    while chosen.last is not None and chosen.last <= beyond:
        count += 1
        chosen = selection(logs, largest, count)
    return chosen
