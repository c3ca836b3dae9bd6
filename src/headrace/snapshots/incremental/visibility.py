"""The visibility of transactions to an incremental snapshot: queries need not see transactions in
the order in which the log has them (decision 9)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from headrace.connect.rows import are_before


class Visibility(Protocol):
    """The changes that a snapshot of the database sees."""

    @abstractmethod
    def hides(self, rows: np.ndarray, transactions: np.ndarray) -> np.ndarray:
        """Return a mask of the log's `rows` (dtype ROW) whose changes the snapshot does not see;
        `transactions` (dtype TRANSACTION) are those that the rows refer to by their numbers."""
        ...


@dataclass(frozen=True)
class SeenBefore:
    """A Visibility of exactly the changes before a place of the log."""

    place: int

    def hides(self, rows: np.ndarray, transactions: np.ndarray) -> np.ndarray:  # noqa: ARG002
        """Return a mask of the rows at the place and after it."""
        return ~are_before(rows, self.place)


class DeliveredChanges(Protocol):
    """The changes that were delivered, and whether snapshots see them."""

    def begin(self) -> None:
        """Note that this process delivers from now on. Raises HeadraceError."""
        ...

    def add(self, rows: np.ndarray, transactions: np.ndarray) -> None:
        """Note that rows of the log were delivered; see `Visibility.hides`."""
        ...

    def forget(self) -> None:
        """Forget what was noted, because another process delivered meanwhile."""
        ...

    def are_visible(self) -> bool:
        """Whether a snapshot that is taken now sees every change that was delivered. Raises
        HeadraceError."""
        ...


class _SeenAtOnce:
    """The DeliveredChanges of databases whose queries see a transaction before the log has it."""

    def begin(self) -> None:
        """Do nothing: every change is visible."""

    def add(self, rows: np.ndarray, transactions: np.ndarray) -> None:
        """Do nothing: every change is visible."""

    def forget(self) -> None:
        """Do nothing: nothing was noted."""

    def are_visible(self) -> bool:
        """Return True."""
        return True


AT_ONCE: DeliveredChanges = _SeenAtOnce()
"""The instance for databases whose queries see a transaction before the log has it."""
