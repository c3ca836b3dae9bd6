"""Locates the values that changes do not carry: in an earlier change, also of a former key of the
row, or in the stored row. Works on arrays of numbers only, without columns and values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headrace.sinks.replicas.changes.part import Operation
from headrace.sinks.replicas.keys import ABSENT

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Sources:
    """The locations of one column's values, for each requested key: a row of the changes (`rows`),
    else the stored row of the key `own` if it exists, else that of the key `stored`. `own` and
    `stored` are numbers of keys. ABSENT: no such location.

    A row that was moved to a key is not stored under it, unless the changes were applied already,
    and then that row has the value. With soft deletes, an earlier row of the key is stored there,
    marked as deleted: its values are not those of the moved row.
    """

    rows: NDArray[np.int64]
    own: NDArray[np.int64]
    stored: NDArray[np.int64]

    def numbers(self) -> NDArray[np.int64]:
        """Return the keys whose stored rows are needed."""
        needed = self.rows == ABSENT
        numbers = np.concatenate([self.own[needed], self.stored[needed]])
        return np.unique(numbers[numbers != ABSENT])


class Histories:
    """The changes of each key in the order of the log. The arguments have an element for each row
    of the changes: the number of its key, its place in the log, its operation, the number of its
    former key, and whether stored rows may have been read after it (`Part.shown_until`)."""

    def __init__(
        self,
        numbers: NDArray[np.int64],
        ranks: NDArray[np.int64],
        operations: NDArray[np.int8],
        former: NDArray[np.int64],
        is_shown: NDArray[np.bool_],
    ) -> None:
        count = len(numbers)
        self._rows = np.lexsort((ranks, numbers))
        self._numbers = numbers[self._rows]
        self._ranks = ranks[self._rows]
        self._is_delete = operations[self._rows] == Operation.DELETE
        self._former = former[self._rows]
        self._places = np.arange(count, dtype=np.int64)
        is_first = np.ones(count, np.bool_)
        is_first[1:] = self._numbers[1:] != self._numbers[:-1]
        self._first = np.maximum.accumulate(np.where(is_first, self._places, 0))
        self._combined = self._numbers * count + self._ranks
        self._shown = is_shown[self._rows]
        self._last_reuse = np.full(int(numbers.max(initial=-1)) + 1, ABSENT, np.int64)
        """The rank of the last change of each key that stored rows may show, deletes left out."""
        reuses = self._shown & ~self._is_delete
        np.maximum.at(self._last_reuse, self._numbers[reuses], self._ranks[reuses])
        self._of_rows = np.empty(count, np.int64)
        self._of_rows[self._rows] = self._places

    def sources(self, unavailable: NDArray[np.bool_], rows: NDArray[np.int64]) -> Sources:
        """Locate the values of a column that the rows have after these changes. `unavailable` is
        true for each change that does not carry the value. For a delete, locate the value before
        it."""
        unavailable = unavailable[self._rows]
        ends = ~unavailable | self._is_delete | (self._former != ABSENT)
        end = self._last(ends)
        changes = self._of_rows[rows]
        deleted = self._is_delete[changes]
        before = self._last(~self._is_delete)[changes[deleted]]
        located = Sources(*(np.full(len(rows), ABSENT, np.int64) for _ in range(3)))
        located.stored[np.flatnonzero(deleted)[before == ABSENT]] = self._numbers[
            changes[deleted][before == ABSENT]
        ]
        changes[deleted] = before
        open_ = np.flatnonzero(changes != ABSENT)
        places = changes[open_]
        is_own = True
        while len(open_):
            last = end[places]
            is_stored = last == ABSENT
            located.stored[open_[is_stored]] = self._numbers[places[is_stored]]
            open_, last = open_[~is_stored], last[~is_stored]
            is_available = ~unavailable[last] & ~self._is_delete[last]
            located.rows[open_[is_available]] = self._rows[last[is_available]]
            moved = unavailable[last] & ~self._is_delete[last]
            open_, last = open_[moved], last[moved]
            if is_own:
                # A key whose first change is a move to it was free before.
                only = self._former[self._first[last]] != ABSENT
                located.own[open_[only]] = self._numbers[last[only]]
                is_own = False
            places = self._before_move(last)
            is_stored = places == ABSENT
            is_known = is_stored & ~self._is_reused(last)
            located.stored[open_[is_known]] = self._former[last[is_known]]
            open_, places = open_[~is_stored], places[~is_stored]
        return located

    def _last(self, mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return, for each place, the last wanted one up to it of the same key; ABSENT: none."""
        last = np.maximum.accumulate(np.where(mask, self._places, ABSENT))
        return np.where(last < self._first, ABSENT, last)

    def _is_reused(self, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether the stored row of the former key may be another row that was inserted
        after the row had moved: a snapshot has read it, and the log brings its insert later."""
        former = self._former[places]
        has_changes = former < len(self._last_reuse)
        last_reuse = self._last_reuse[np.where(has_changes, former, 0)]
        is_later: NDArray[np.bool_] = last_reuse > self._ranks[places]
        return self._shown[places] & has_changes & is_later

    def _before_move(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the last change of the former key before a row was moved from it, and before the
        delete that is a part of the move; ABSENT: it has no such change."""
        former = self._former[places]
        combined = former * len(self._places) + self._ranks[places]
        last = np.searchsorted(self._combined, combined) - 1
        last = np.where((last != ABSENT) & (self._numbers[last] == former), last, ABSENT)
        last = np.where((last != ABSENT) & self._is_delete[last], last - 1, last)
        return np.where((last != ABSENT) & (self._numbers[last] == former), last, ABSENT)
