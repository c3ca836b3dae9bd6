"""Where the Db2 connector is in the change tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from headrace.connectors.db2.lsn import LSN_BYTES, format_lsn, lsn_of, parse_lsn, place_of
from headrace.offsets.offset import Offset
from headrace.offsets.position import PlacePosition
from headrace.signals.stored import number

_LARGEST_LSN = (1 << 8 * LSN_BYTES) - 2


@dataclass(frozen=True)
class Db2Position(PlacePosition):
    """A position (architecture, Positions); see headrace.offsets.position.Position.

    A transaction's place is its IBMSNAP_COMMITSEQ; `committed` is one more than the last one that
    is delivered or passed by, and 0 where none is known. Offsets have the numbers as Debezium
    writes them: `commit_lsn`, and inside of a transaction its own number, `transaction_lsn`, with
    `messages`, the changes of it that are delivered (its beginning counted). `lsn_bytes` is the
    size of the server's numbers.
    """

    lsn_bytes: int = field(default=LSN_BYTES, compare=False)

    @classmethod
    def behind_commit(cls, commit_lsn: bytes) -> Self:
        """The position behind everything up to this commit."""
        return cls(place_of(commit_lsn) + 1, lsn_bytes=len(commit_lsn))

    @property
    def commit_lsn(self) -> bytes | None:
        """The last commit that is delivered or passed by."""
        return lsn_of(self.committed - 1, self.lsn_bytes) if self.committed else None

    def behind(self, end: Any) -> Self:
        """See Position."""
        return replace(super().behind(end), lsn_bytes=self.lsn_bytes)

    def to_json(self) -> dict[str, Any]:
        """The members of an offset."""
        lsn = self.commit_lsn
        members: dict[str, Any] = {"commit_lsn": None if lsn is None else format_lsn(lsn)}
        if self.transaction is not None:
            inside = format_lsn(lsn_of(self.transaction, self.lsn_bytes))
            members |= {"transaction_lsn": inside, "messages": self.messages}
        return members

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Takes its members out of an offset. Raises ValueError."""
        commit_lsn, inside = (_lsn(data, name) for name in ("commit_lsn", "transaction_lsn"))
        position = cls() if commit_lsn is None else cls.behind_commit(commit_lsn)
        if inside is None:
            return position
        return replace(
            position,
            transaction=place_of(inside),
            messages=number(data, "messages", 0),
            lsn_bytes=len(inside),
        )

    def __str__(self) -> str:
        lsn = self.commit_lsn
        if self.transaction is not None:
            inside = format_lsn(lsn_of(self.transaction, self.lsn_bytes))
            return f"{inside} change {self.messages}"
        return "the beginning" if lsn is None else format_lsn(lsn)


def _lsn(data: Mapping[str, Any], name: str) -> bytes | None:
    text = data.get(name)
    if text is None:
        return None
    if not isinstance(text, str):
        raise TypeError(f"{name} is no text")
    lsn = parse_lsn(text)
    if place_of(lsn) > _LARGEST_LSN:
        raise ValueError(f"{name} is behind every log")
    return lsn


Db2Offset = Offset[Db2Position]
