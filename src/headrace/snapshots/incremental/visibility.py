"""What an incremental snapshot asks about visibility: the order in which transactions stand in a
log need not be the one in which queries begin to see them (docs/decisions/0009)."""

from __future__ import annotations

from typing import Protocol

import numpy as np


class Visibility(Protocol):
    """What a snapshot of the database sees."""

    def hides(self, rows: np.ndarray, transactions: np.ndarray) -> np.ndarray:
        """Mask of the log's `rows` (dtype ROW) whose changes the snapshot does not see;
        `transactions` (dtype TRANSACTION) are those that the rows refer to by their numbers."""
        ...


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
