"""The position of the PostgreSQL connector in the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from headrace.connect.rows import NULL
from headrace.offsets.offset import Offset
from headrace.offsets.position import delivered_by_count
from headrace.signals.stored import LARGEST_COUNT, number, optional_number

_LARGEST_LSN = (1 << 64) - 1


@dataclass(frozen=True)
class PostgresPosition:
    """A position in the log (architecture, Positions); see headrace.offsets.position.Position.

    `lsn_commit` is the end LSN of the last complete transaction (or a keep-alive's position): the
    only value ever acknowledged. `last_commit` is the end LSN of the last COMMIT seen, which
    `source.sequence` shows, `ts_usec` its time in microseconds since 1970, which a
    non-transactional message shows. Inside a transaction, `txn` is its final LSN, `txn_index` the
    number of its delivered messages and `lsn` the LSN of the last of them. `xmin` is the slot's
    xmin that the records of the range that ends here show.
    """

    lsn_commit: int = 0
    last_commit: int | None = None
    ts_usec: int | None = None
    txn: int | None = None
    txn_index: int = 0
    lsn: int = 0
    xmin: int | None = None
    has_delivered = delivered_by_count

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

    @property
    def is_boundary(self) -> bool:
        """See Position."""
        return self.txn is None

    @classmethod
    def at(cls, place: int) -> PostgresPosition:
        """See Position; `place` is an LSN."""
        return cls(place)

    def at_boundary(
        self, lsn_commit: int, last_commit: int | None, ts_usec: int | None
    ) -> PostgresPosition:
        """The position between transactions, after all records up to `lsn_commit`."""
        return PostgresPosition(lsn_commit, last_commit, ts_usec, xmin=self.xmin)

    @property
    def shown(self) -> int:
        """See Position: the LSN."""
        return self.committed

    def after(self, end: np.void) -> PostgresPosition:
        """See Position; `end` is an entry of the dtype row_kernel.END."""
        last_commit = None if end["last_commit"] == NULL else int(end["last_commit"])
        return self.at_boundary(int(end["position"]), last_commit, int(end["commit_us"]) or None)

    def inside(self, row: np.void) -> PostgresPosition:
        """See Position."""
        final_lsn, index, lsn = int(row["position"]), int(row["ordinal"]), int(row["place"])
        return replace(self, txn=final_lsn, txn_index=index, lsn=lsn)

    def is_at(self, other: PostgresPosition) -> bool:
        """Whether both are the same place, regardless of the slot's xmin."""
        return replace(self, xmin=None) == replace(other, xmin=None)

    def to_json(self) -> dict[str, Any]:
        """The members of an offset; includes those of a transaction only inside of one."""
        members = asdict(self)
        if self.txn is None:
            del members["txn"], members["txn_index"], members["lsn"]
        if self.xmin is None:
            del members["xmin"]
        return members

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PostgresPosition:
        """Read the position from the members of an offset. Raises ValueError."""
        return cls(
            number(data, "lsn_commit", 0, most=_LARGEST_LSN),
            optional_number(data, "last_commit", most=_LARGEST_LSN),
            optional_number(data, "ts_usec", least=-LARGEST_COUNT),
            optional_number(data, "txn", most=_LARGEST_LSN),
            number(data, "txn_index", 0),
            number(data, "lsn", 0, most=_LARGEST_LSN),
            optional_number(data, "xmin"),
        )

    def __str__(self) -> str:
        if self.txn is not None:
            return f"{format_lsn(self.txn)} message {self.txn_index}"
        return format_lsn(self.lsn_commit)


PostgresOffset = Offset[PostgresPosition]


def format_lsn(lsn: int) -> str:
    """An LSN in PostgreSQL's notation, as in 16/B374D848."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def parse_lsn(text: str) -> int:
    """The reverse of `format_lsn`."""
    high, _, low = text.partition("/")
    return (int(high, 16) << 32) | int(low, 16)
