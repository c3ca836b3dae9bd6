"""The position of the Db2 connector in the change tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from headrace.connect.rows import ENDING, low_half
from headrace.connectors.db2.lsn import (
    LSN_BYTES,
    ORDER_BYTES,
    format_lsn,
    lsn_of,
    parse_lsn,
    place_of,
)
from headrace.offsets.offset import Offset
from headrace.offsets.position import PlacePosition
from headrace.signals.stored import number

_LARGEST_LSN = (1 << 8 * LSN_BYTES) - 2
_HALF = (1 << 64) - 1


@dataclass(frozen=True)
class DeliveredChange:
    """The last delivered change of a transaction. `place` is the number that orders the changes of
    a transaction: IBMSNAP_INTENTSEQ of the row that a change begins with (the D of an update), of
    `lsn_bytes`. `serial` counts the changes with this number from 1, and is 0 if only the schema
    change before them is delivered.

    `unread` is where the number lies in the spool (a virtual address; 0: it is read): until it is
    read, `place` is its lower half, by which changes of one transaction compare.
    """

    place: int
    serial: int = 1
    lsn_bytes: int = field(default=LSN_BYTES, compare=False)
    unread: int = field(default=0, compare=False, repr=False)

    def covers(self, rows: np.ndarray) -> np.ndarray:
        """Return a mask of rows of its transaction: true for its own rows and those before it.
        Numbers of one transaction are less than 2^63 apart, so their lower halves are compared
        modulo 2^64."""
        distance = rows["place"] - low_half(self.place)
        delivered = (distance < 0) | ((distance == 0) & (rows["serial"] <= self.serial))
        return np.asarray((delivered | (rows["ordinal"] == 0)) & (rows["operation"] != ENDING))

    def is_before(self, place: int) -> bool:
        """Whether it is before the change of its transaction at this place."""
        return 0 < (place - self.place) & _HALF < 1 << 63

    @property
    def lsn(self) -> bytes:
        """The number at `place`."""
        return lsn_of(self.place, self.lsn_bytes)


@dataclass(frozen=True)
class Db2Position(PlacePosition):
    """A position (architecture, Positions); see headrace.offsets.position.Position.

    A transaction's place is its IBMSNAP_COMMITSEQ; `committed` is one more than the last commit
    that is delivered or passed by, and 0 if none is known. Offsets have the numbers as Debezium
    writes them: `commit_lsn`, and inside of a transaction its own number, `transaction_lsn`, with
    `change_lsn` and `event_serial_no` of the last delivered `change`, after which reading
    continues, whatever tables are captured then, and `messages`, the number of this change in the
    `sequence` of its records. Without a `change` (in offsets that were written before it existed,
    and after the record of a transaction's beginning), `messages` counts the delivered messages.
    `lsn_bytes` is the size of the server's numbers.
    """

    lsn_bytes: int = field(default=LSN_BYTES, compare=False)
    change: DeliveredChange | None = None

    @classmethod
    def after_commit(cls, commit_lsn: bytes) -> Self:
        """Return the position after everything up to this commit."""
        return cls(place_of(commit_lsn) + 1, lsn_bytes=len(commit_lsn))

    @property
    def commit_lsn(self) -> bytes | None:
        """The last commit that is delivered or passed by."""
        return lsn_of(self.committed - 1, self.lsn_bytes) if self.committed else None

    @property
    def first_unread(self) -> int:
        """The place of the first commit that is not completely delivered."""
        return self.committed if self.transaction is None else self.transaction

    def after(self, end: Any) -> Self:
        """See Position."""
        return replace(super().after(end), lsn_bytes=self.lsn_bytes)

    def inside(self, row: np.void) -> Self:
        """See Position. The number of the change is unread until `ChangeNumbers.shown`."""
        change = None
        if row["extra"]:
            change = DeliveredChange(
                int(row["place"]) & _HALF,
                int(row["serial"]),
                self.lsn_bytes,
                int(row["extra"]) - ORDER_BYTES,
            )
        return replace(super().inside(row), change=change)

    def has_delivered(self, rows: np.ndarray) -> np.ndarray:
        """See Position: by the number of the change, where it is known."""
        if self.change is None:
            return super().has_delivered(rows)
        return self.change.covers(rows)

    def to_json(self) -> dict[str, Any]:
        """The members of an offset."""
        lsn = self.commit_lsn
        members: dict[str, Any] = {"commit_lsn": None if lsn is None else format_lsn(lsn)}
        if self.transaction is not None:
            inside = format_lsn(lsn_of(self.transaction, self.lsn_bytes))
            members |= {"transaction_lsn": inside, "messages": self.messages}
            if self.change is not None:
                change_lsn, serial = format_lsn(self.change.lsn), self.change.serial
                members |= {"change_lsn": change_lsn, "event_serial_no": serial}
        return members

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the position in the members of an offset. Raises ValueError."""
        commit_lsn, inside = (_lsn(data, name) for name in ("commit_lsn", "transaction_lsn"))
        position = cls() if commit_lsn is None else cls.after_commit(commit_lsn)
        change_lsn, serial = _lsn(data, "change_lsn"), number(data, "event_serial_no", 1)
        if inside is None and change_lsn is not None:
            raise ValueError("change_lsn comes without transaction_lsn, as in Debezium's offsets")
        if inside is None:
            return position
        return replace(
            position,
            transaction=place_of(inside),
            messages=number(data, "messages", 0),
            lsn_bytes=len(inside),
            change=None
            if change_lsn is None
            else DeliveredChange(place_of(change_lsn), serial, len(change_lsn)),
        )

    def __str__(self) -> str:
        lsn = self.commit_lsn
        if self.transaction is not None:
            inside = format_lsn(lsn_of(self.transaction, self.lsn_bytes))
            if self.change is not None:
                return f"{inside} change {format_lsn(self.change.lsn)}"
            return f"{inside} change {self.messages}"
        return "the beginning" if lsn is None else format_lsn(lsn)


def _lsn(data: Mapping[str, Any], name: str) -> bytes | None:
    text = data.get(name)
    if text is None:
        return None
    if not isinstance(text, str):
        raise TypeError(f"{name} is not a text")
    lsn = parse_lsn(text)
    if place_of(lsn) > _LARGEST_LSN:
        raise ValueError(f"{name} is after every log")
    return lsn


Db2Offset = Offset[Db2Position]
