"""The position of the Oracle connector in the redo."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from headrace.connectors.oracle.scn import (
    after_scn,
    format_xid,
    parse_scn,
    parse_xid,
    place_of,
    scn_of,
    xid_of,
)
from headrace.offsets.offset import Offset
from headrace.offsets.position import PlacePosition
from headrace.signals.stored import number

_OLD_PARTS, _PARTS = 4, 3


class ThreadCommit(NamedTuple):
    """The last delivered commit of a redo thread: its SCN, and the ids of the transactions that
    were committed at it."""

    thread: int
    scn: int
    xids: tuple[int, ...]

    def holds(self, thread: int, scn: int, xid: int) -> bool:
        """Whether a commit is this one, or before it in its thread."""
        return thread == self.thread and (scn < self.scn or (scn == self.scn and xid in self.xids))

    def __str__(self) -> str:
        return f"{self.scn}:{self.thread}:{'-'.join(map(format_xid, self.xids))}"


@dataclass(frozen=True)
class OraclePosition(PlacePosition):
    """A position (architecture, Positions); see headrace.offsets.position.Position.

    A place is that of a commit, its SCN and its transaction's id (see scn.py); `committed` is one
    more than the last delivered one, or the place after an SCN up to which nothing else was
    committed. `mined` is the SCN from which redo is mined again: the first change of each
    transaction that was open at this position has a larger SCN; 0: the SCN of `committed`.
    `threads` are the last commits of each redo thread, as far as they are known. `given_up` are the
    ids of abandoned transactions, whose changes are no longer captured.
    """

    mined: int = 0
    threads: tuple[ThreadCommit, ...] = ()
    given_up: tuple[int, ...] = ()

    @classmethod
    def after_scn(cls, scn: int, mined: int | None = None) -> Self:
        """Return the position after everything that was committed up to an SCN."""
        return cls(after_scn(scn), mined=scn if mined is None else mined)

    @property
    def scn(self) -> int:
        """The SCN up to which commits are delivered, together with the transaction id in
        `committed`."""
        scn, xid = scn_of(self.committed), xid_of(self.committed)
        return scn if xid or not scn else scn - 1

    @property
    def mined_from(self) -> int:
        """The SCN above which redo is read when reading begins here."""
        return self.mined or max(self.scn - 1, 0)

    @property
    def shown(self) -> int:
        """See Position: an SCN."""
        return self.scn

    def after(self, end: np.void) -> Self:
        """See Position; the other members are unchanged, see streaming.progress."""
        position = super().after(end)
        return replace(position, mined=self.mined, threads=self.threads, given_up=self.given_up)

    def is_at(self, other: Self) -> bool:
        """See Position."""
        return (self.committed, self.transaction, self.messages) == (
            other.committed,
            other.transaction,
            other.messages,
        )

    def is_delivered(self, thread: int, scn: int, xid: int) -> bool:
        """Whether a commit is delivered at this position."""
        return place_of(scn, xid) < self.committed or any(
            commit.holds(thread, scn, xid) for commit in self.threads
        )

    def to_json(self) -> dict[str, Any]:
        """Return the members of an offset, by Debezium's names if it has them."""
        scn, xid = scn_of(self.committed), xid_of(self.committed)
        last = f"{scn}:{format_xid(xid - 1)}" if xid else str(max(scn - 1, 0))
        members: dict[str, Any] = {
            "scn": str(self.mined_from),
            "commit_scn": ",".join(map(str, self.threads)) or None,
            "committed": last,
        }
        if self.given_up:
            members["given_up"] = ",".join(map(format_xid, self.given_up))
        if self.transaction is not None:
            members |= {
                "txId": format_xid(xid_of(self.transaction)),
                "txScn": str(scn_of(self.transaction)),
                "txSeq": self.messages,
            }
        return members

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the position in the members of an offset; forms of `commit_scn` that older
        versions of Debezium wrote are read. Raises ValueError, also for an offset of Debezium with
        members that headrace does not take over."""
        for name in ("txId", "snapshot_scn", "snapshot_pending_tx"):
            if name in data and "txScn" not in data:
                raise ValueError(f"{name} comes without txScn, as in Debezium's offsets")
        mined = parse_scn(_text(data, "scn") or "0")
        threads, up_to = thread_commits(_text(data, "commit_scn") or "")
        last = _text(data, "committed")
        if last is None:
            bounds = [commit.scn for commit in threads]
            committed = (min(bounds) if up_to is None and bounds else up_to or mined) << 64
        else:
            scn, _, xid = last.partition(":")
            at = parse_scn(scn)
            committed = place_of(at, parse_xid(xid)) + 1 if xid else (after_scn(at) if at else 0)
        left_out = filter(None, (_text(data, "given_up") or "").split(","))
        given_up = tuple(map(parse_xid, left_out))
        position = cls(committed, mined=mined, threads=threads, given_up=given_up)
        inside, at_scn = _text(data, "txId"), _text(data, "txScn")
        if inside is None or at_scn is None:
            if at_scn is not None:
                raise ValueError("txScn comes without txId")
            return position
        return replace(
            position,
            transaction=place_of(parse_scn(at_scn), parse_xid(inside)),
            messages=number(data, "txSeq", 0),
        )

    def __str__(self) -> str:
        if self.transaction is not None:
            return (
                f"SCN {scn_of(self.transaction)} transaction "
                f"{format_xid(xid_of(self.transaction))} change {self.messages}"
            )
        return f"SCN {self.scn}"


def _text(data: Mapping[str, Any], name: str) -> str | None:
    value = data.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name} is not a text")
    return value


def record_commits(
    threads: dict[int, ThreadCommit], ran: np.ndarray, scns: np.ndarray, xids: np.ndarray
) -> None:
    """Record committed transactions as the last commits of their redo threads, in `threads`. `ran`
    are the threads, `scns` the SCNs of the commits in their order."""
    is_alone = len(ran) > 0 and bool((ran == ran[0]).all())
    for thread in ran[:1] if is_alone else np.unique(ran):
        of_thread = np.flatnonzero(ran == thread)
        scn = int(scns[of_thread[-1]])
        same = tuple(int(xid) for xid in xids[of_thread[scns[of_thread] == scn]])
        before = threads.get(int(thread))
        if before is not None and before.scn == scn:
            same = (*(xid for xid in before.xids if xid not in same), *same)
        if before is None or before.scn <= scn:
            threads[int(thread)] = ThreadCommit(int(thread), scn, same)


def thread_commits(text: str) -> tuple[tuple[ThreadCommit, ...], int | None]:
    """Parse Debezium's `commit_scn`: the commits by thread, and the SCN below which the commits of
    all threads are delivered (None: it has none). It is a list of `scn:thread:txid-txid…`; older
    forms are `scn`, and `scn:rs_id:ssn:thread`."""
    threads: list[ThreadCommit] = []
    up_to = None
    for commit in filter(None, text.split(",")):
        parts = commit.split(":")
        scn = parse_scn(parts[0])
        if len(parts) == 1:
            up_to = scn
        elif len(parts) == _PARTS:
            xids = tuple(parse_xid(xid) for xid in parts[2].split("-") if xid)
            threads.append(ThreadCommit(_number(parts[1]), scn, xids))
        elif len(parts) == _OLD_PARTS:
            threads.append(ThreadCommit(_number(parts[3]), scn, ()))
        else:
            raise ValueError("commit_scn is not valid")
    return tuple(threads), up_to


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise ValueError("no redo thread")
    return int(text)


OracleOffset = Offset[OraclePosition]
