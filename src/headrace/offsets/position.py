"""Where a connector is in its log, as far as all logs are alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    import numpy as np


class Position(Protocol):
    """A position in a log; immutable, and equal to another one when all of its members are.

    Places are numbers of up to 128 bits that grow with the log (a sequence number; a time and what
    parts its ties): `position` of the row table holds them.
    """

    @property
    def committed(self) -> int:
        """Place of the end of the last complete transaction: the only place that is ever
        acknowledged."""
        ...

    @property
    def transaction(self) -> int | None:
        """Place of the transaction that the position is inside of; None between transactions. It is
        below the place that is `committed` behind the end of this transaction, and not below the
        one that was `committed` before it: a place names a transaction, the next one its end."""
        ...

    @property
    def messages(self) -> int:
        """Messages of that transaction that are delivered; 0 between transactions."""
        ...

    def behind(self, end: np.void) -> Self:
        """The position between transactions, behind an entry of an index's `ends`."""
        ...

    def inside(self, row: np.void) -> Self:
        """The position inside a transaction, behind a row of an index."""
        ...

    def is_at(self, other: Self) -> bool:
        """Whether both name the same place of the log, whatever else they tell."""
        ...

    def to_json(self) -> dict[str, Any]:
        """The members that an offset has of it, always in the same order."""
        ...

    def __str__(self) -> str:
        """The position for people, in the database's notation."""
        ...
