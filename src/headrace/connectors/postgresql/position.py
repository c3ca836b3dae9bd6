"""Where the PostgreSQL connector is in the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from headrace.connect.rows import NULL
from headrace.offsets.offset import Offset


@dataclass(frozen=True)
class PostgresPosition:
    """A position (architecture, Positions); see headrace.offsets.position.Position.

    `lsn_commit` is the end LSN of the last complete transaction (or a keep-alive's position):
    the only value ever acknowledged. `last_commit` is the end LSN of the last COMMIT seen, which
    `source.sequence` shows, `ts_usec` its time in microseconds since 1970, which a
    non-transactional message shows. Inside a transaction, `txn` is its final LSN, `txn_index` the
    number of its messages delivered and `lsn` the LSN of the last of them. `xmin` is the slot's,
    which the range that ends here shows.
    """

    lsn_commit: int = 0
    last_commit: int | None = None
    ts_usec: int | None = None
    txn: int | None = None
    txn_index: int = 0
    lsn: int = 0
    xmin: int | None = None

    @property
    def committed(self) -> int:
        """`lsn_commit`."""
        return self.lsn_commit

    @property
    def transaction(self) -> int | None:
        """`txn`."""
        return self.txn

    @property
    def messages(self) -> int:
        """`txn_index`."""
        return self.txn_index

    def at_boundary(
        self, lsn_commit: int, last_commit: int | None, ts_usec: int | None
    ) -> PostgresPosition:
        """The position between transactions, after everything up to `lsn_commit`."""
        return PostgresPosition(lsn_commit, last_commit, ts_usec, xmin=self.xmin)

    def behind(self, end: np.void) -> PostgresPosition:
        """See Position; `end` is an entry as pgoutput.END has it."""
        last_commit, commit_us = int(end["last_commit"]), int(end["commit_us"])
        return self.at_boundary(
            int(end["end_lsn"]), None if last_commit == NULL else last_commit, commit_us or None
        )

    def inside(self, row: np.void) -> PostgresPosition:
        """See Position."""
        final_lsn, index, lsn = int(row["position"]), int(row["ordinal"]), int(row["place"])
        return replace(self, txn=final_lsn, txn_index=index, lsn=lsn)

    def is_at(self, other: PostgresPosition) -> bool:
        """Whether both name the same place, whatever the slot's xmin was."""
        return replace(self, xmin=None) == replace(other, xmin=None)

    def to_json(self) -> dict[str, Any]:
        """The members of an offset; those of a transaction only inside of one."""
        out: dict[str, Any] = {
            "lsn_commit": self.lsn_commit,
            "last_commit": self.last_commit,
            "ts_usec": self.ts_usec,
        }
        if self.txn is not None:
            out |= {"txn": self.txn, "txn_index": self.txn_index, "lsn": self.lsn}
        if self.xmin is not None:
            out["xmin"] = self.xmin
        return out

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> PostgresPosition:
        """Takes its members out of an offset."""
        return PostgresPosition(
            lsn_commit=data.get("lsn_commit", 0),
            last_commit=data.get("last_commit"),
            ts_usec=data.get("ts_usec"),
            txn=data.get("txn"),
            txn_index=data.get("txn_index", 0),
            lsn=data.get("lsn", 0),
            xmin=data.get("xmin"),
        )

    def __str__(self) -> str:
        if self.txn is not None:
            return f"{format_lsn(self.txn)} message {self.txn_index}"
        return format_lsn(self.lsn_commit)


PostgresOffset = Offset[PostgresPosition]


def read_offset(data: Mapping[str, Any], server: str) -> PostgresOffset:
    """Reads an offset of the PostgreSQL connector; raises as Offset.from_json."""
    return Offset.from_json(data, server, PostgresPosition.from_json)


def format_lsn(lsn: int) -> str:
    """PostgreSQL's notation, as in 16/B374D848."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def parse_lsn(text: str) -> int:
    """The reverse of `format_lsn`."""
    high, _, low = text.partition("/")
    return (int(high, 16) << 32) | int(low, 16)
