"""The index of a segment: one row per record, their transactions, and the ends of transactions."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from headrace.connect.rows import ORDER, ROW, TRANSACTION

_FIRST_ROWS = 8192


@dataclass
class SegmentIndex:
    """Growing tables; the counts, which the writer sets, say how many entries of each are valid.

    Readers call `rows_now()`, `transactions_now()` and `ends_now()`: views that stay valid when the
    tables grow, because growing replaces them.
    """

    end_dtype: np.dtype
    rows: np.ndarray = field(default_factory=lambda: np.zeros(_FIRST_ROWS, ROW))
    transactions: np.ndarray = field(default_factory=lambda: np.zeros(1024, TRANSACTION))
    ends: np.ndarray = field(init=False)
    row_count: int = 0
    transaction_count: int = 0
    end_count: int = 0
    barriers: list[int] = field(default_factory=list)
    """Row counts at which a range must end: truncates and schema changes."""
    orders: np.ndarray = field(default_factory=lambda: np.zeros(0, ORDER))
    """The orders of the rows if transactions are counted; else empty."""
    counts: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    """The counts by collection at the ends of transactions."""
    count_words: int = 0

    def __post_init__(self) -> None:
        self.ends = np.zeros(1024, self.end_dtype)

    @staticmethod
    def like(last: SegmentIndex) -> SegmentIndex:
        """Return an empty index with as much room as the `last` one has."""
        index = SegmentIndex(
            last.end_dtype,
            np.zeros(len(last.rows), ROW),
            np.zeros(len(last.transactions), TRANSACTION),
        )
        index.ends = np.zeros(len(last.ends), last.end_dtype)
        return index

    @property
    def is_empty(self) -> bool:
        """Whether no range needs anything of this index."""
        return not (self.row_count or self.end_count or self.barriers)

    def used_bytes(self) -> int:
        """Return the memory that the valid entries take, in bytes."""
        return (
            self.row_count * (ROW.itemsize + (ORDER.itemsize if len(self.orders) else 0))
            + self.transaction_count * TRANSACTION.itemsize
            + self.end_count * self.end_dtype.itemsize
            + self.count_words * 8
        )

    def grow(self) -> None:
        """Double each table of which less than a quarter is left after the valid entries."""
        self.make_room(self.row_count, self.transaction_count, self.end_count)

    def make_room(self, rows: int, transactions: int, ends: int) -> None:
        """Double each table of which less than a quarter is left after so many entries, which the
        writer has written but possibly not yet counted as valid."""
        for name, count in (("rows", rows), ("transactions", transactions), ("ends", ends)):
            table: np.ndarray = getattr(self, name)
            if count + 8 > len(table) * 3 // 4:
                larger = np.zeros(2 * len(table), table.dtype)
                # As bytes: numpy copies structures field after field.
                larger.view(np.uint8)[: table.nbytes] = table.view(np.uint8)
                setattr(self, name, larger)

    def grow_orders(self) -> None:
        """Make room in `orders` for as many rows as `rows` has room for."""
        if len(self.orders) < len(self.rows):
            larger = np.zeros(len(self.rows), ORDER)
            larger[: len(self.orders)] = self.orders
            self.orders = larger

    def grow_counts(self, more: int) -> None:
        """Make room in `counts` for `more` words, and at least double it."""
        larger = np.zeros(2 * len(self.counts) + more + 1024, np.int64)
        larger[: self.count_words] = self.counts[: self.count_words]
        self.counts = larger

    def rows_now(self) -> np.ndarray:
        """The valid rows."""
        return self.rows[: self.row_count]

    def transactions_now(self) -> np.ndarray:
        """The valid transactions."""
        return self.transactions[: self.transaction_count]

    def ends_now(self) -> np.ndarray:
        """The valid ends of transactions: one per commit."""
        return self.ends[: self.end_count]
