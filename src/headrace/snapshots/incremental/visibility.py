"""The visibility of transactions to an incremental snapshot: the order of transactions in a
log need not be the one in which queries begin to see them (decision 9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from headrace.connect.rows import are_before


class Visibility(Protocol):
    """What a snapshot of the database sees."""

    def hides(self, rows: np.ndarray, transactions: np.ndarray) -> np.ndarray:
        """Mask of the log's `rows` (dtype ROW) whose changes the snapshot does not see;
        `transactions` (dtype TRANSACTION) are those that the rows refer to by their numbers."""
        ...


@dataclass(frozen=True)
class SeenBefore:
    """See Visibility: every change in the log before a place is seen, and nothing else."""

    place: int

    def hides(self, rows: np.ndarray, transactions: np.ndarray) -> np.ndarray:  # noqa: ARG002
        """Mask of the rows at the place and after it."""
        return ~are_before(rows, self.place)


class Delivered(Protocol):
    """The changes that were delivered, and whether snapshots see them."""

    def begin(self) -> None:
        """This process delivers from now on. Raises HeadraceError."""
        ...

    def add(self, rows: np.ndarray, transactions: np.ndarray) -> None:
        """Rows of the log were delivered; see `Visibility.hides`."""
        ...

    def forget(self) -> None:
        """Another process delivered meanwhile."""
        ...

    def are_visible(self) -> bool:
        """Whether a snapshot that is taken now sees every change that was delivered. Raises
        HeadraceError."""
        ...


class _SeenAtOnce:
    """Whatever is in the log can be seen."""

    def begin(self) -> None:
        """Nothing is to be remembered."""

    def add(self, rows: np.ndarray, transactions: np.ndarray) -> None:
        """Nothing is to be remembered."""

    def forget(self) -> None:
        """Nothing was remembered."""

    def are_visible(self) -> bool:
        """Always."""
        return True


AT_ONCE: Delivered = _SeenAtOnce()
"""Of a database whose queries see a transaction before its log shows it."""
