"""The position of a connector in its log: the members and methods that all databases share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, Self

from headrace.connect.rows import low_half, place_of
from headrace.signals.stored import LARGEST_PLACE, number, optional_number

if TYPE_CHECKING:
    import numpy as np


class Position(Protocol):
    """A position in a log; immutable, and equal to another one if all members are equal.

    Places are numbers of up to 128 bits that grow with the log (a sequence number; a time and a
    number that orders equal times): the row table's `position` holds them. Derive from it, or
    from `PlacePosition`, a position that consists of places only.
    """

    @property
    @abstractmethod
    def committed(self) -> int:
        """Place of the end of the last complete transaction: the only place that is ever
        acknowledged."""
        ...

    @property
    @abstractmethod
    def transaction(self) -> int | None:
        """Place of the transaction that the position is inside of; None between transactions. It is
        below the place that is `committed` after the end of this transaction, and not below the
        one that was `committed` before it: a place names a transaction, the next one its end."""
        ...

    @property
    @abstractmethod
    def messages(self) -> int:
        """Messages of that transaction that are delivered; 0 between transactions."""
        ...

    @property
    @abstractmethod
    def is_boundary(self) -> bool:
        """Whether no transaction is delivered in part. A log that is read in units smaller than its
        transactions returns False where it does not know."""
        ...

    @property
    @abstractmethod
    def shown(self) -> int:
        """The place that records without a row of the log (chunks, notifications) show as theirs,
        in 64 bits, like the field `place` of a log's rows."""
        ...

    @abstractmethod
    def after(self, end: np.void) -> Self:
        """Return the position between transactions, after an entry of an index's `ends`."""
        ...

    @abstractmethod
    def inside(self, row: np.void) -> Self | None:
        """Return the position inside a transaction, after a row of an index; None: a range never
        ends inside a transaction and holds all of it, however large it is."""
        ...

    @abstractmethod
    def has_delivered(self, rows: np.ndarray) -> np.ndarray:
        """Return a mask of `rows`, which an index has for the transaction that the position is
        inside of: True if the row is delivered."""
        ...

    @abstractmethod
    def is_at(self, other: Self) -> bool:
        """Whether both positions name the same place of the log, even if other members differ."""
        ...

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the position's members of an offset, always in the same order."""
        ...

    @classmethod
    @abstractmethod
    def from_json(cls, data: Mapping[str, Any], /) -> Self:
        """Read the position's members from an offset, which may lack all of them. Raises KeyError,
        TypeError or ValueError for members that are not valid."""
        ...

    @classmethod
    @abstractmethod
    def at(cls, place: int, /) -> Self:
        """Return the position between transactions at `place`."""
        ...

    def __str__(self) -> str:
        """Return the position for people, in the database's notation."""
        ...


@dataclass(frozen=True)
class PlacePosition:
    """A Position that consists of places, which are an offset's members of the same names. A
    connector that derives from it to add members overrides `after`, `inside`, `to_json` and
    `from_json` where these members need it."""

    committed: int = 0
    transaction: int | None = None
    messages: int = 0

    @property
    def is_boundary(self) -> bool:
        """See Position."""
        return self.transaction is None

    @property
    def shown(self) -> int:
        """See Position: the lower 64 bits."""
        return int(low_half(self.committed))

    @classmethod
    def at(cls, place: int) -> Self:
        """See Position."""
        return cls(place)

    def after(self, end: np.void) -> Self:
        """See Position; `end` is an entry of the type row_kernel.END."""
        return self.at(place_of(end))

    def inside(self, row: np.void) -> Self:
        """See Position."""
        return replace(self, transaction=place_of(row), messages=int(row["ordinal"]))

    def has_delivered(self, rows: np.ndarray) -> np.ndarray:
        """See Position; the messages are counted."""
        return delivered_by_count(self, rows)

    def is_at(self, other: Self) -> bool:
        """See Position."""
        return self == other

    def to_json(self) -> dict[str, Any]:
        """Return the places; those of a transaction only inside of one."""
        out: dict[str, Any] = {"committed": self.committed}
        if self.transaction is not None:
            out |= {"transaction": self.transaction, "messages": self.messages}
        return out

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read the position's members from an offset. Raises ValueError."""
        return cls(
            number(data, "committed", 0, most=LARGEST_PLACE),
            optional_number(data, "transaction", most=LARGEST_PLACE),
            number(data, "messages", 0),
        )

    def __str__(self) -> str:
        return f"{self.committed:x}"


def delivered_by_count(position: Position, rows: np.ndarray) -> np.ndarray:
    """Return the mask of `Position.has_delivered` for positions that count messages: True for rows
    of the first `messages` messages."""
    mask: np.ndarray = rows["ordinal"] <= position.messages
    return mask
