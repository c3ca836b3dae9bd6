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
    of the changes: the number of its key, its place in the log, its operation, and the number of
    its former key."""

    def __init__(
        self,
        numbers: NDArray[np.int64],
        ranks: NDArray[np.int64],
        operations: NDArray[np.int8],
        former: NDArray[np.int64],
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
        self._of_rows = np.empty(count, np.int64)
        self._of_rows[self._rows] = self._places

    def sources(self, unavailable: NDArray[np.bool_], rows: NDArray[np.int64]) -> Sources:
        """Locate the values of a column that the rows have after these changes. `unavailable` is
        true for each change that does not carry the value. For a delete, locate the value before
        it."""
        unavailable = unavailable[self._rows]
        ends = ~unavailable | self._is_delete | (self._former != ABSENT)
        end = self._last(ends)
        asked = self._of_rows[rows]
        deleted = self._is_delete[asked]
        before = self._last(~self._is_delete)[asked[deleted]]
        made = Sources(*(np.full(len(rows), ABSENT, np.int64) for _ in range(3)))
        made.stored[np.flatnonzero(deleted)[before == ABSENT]] = self._numbers[
            asked[deleted][before == ABSENT]
        ]
        asked[deleted] = before
        open_ = np.flatnonzero(asked != ABSENT)
        places = asked[open_]
        is_own = True
        while len(open_):
            found = end[places]
            is_stored = found == ABSENT
            made.stored[open_[is_stored]] = self._numbers[places[is_stored]]
            open_, found = open_[~is_stored], found[~is_stored]
            is_available = ~unavailable[found] & ~self._is_delete[found]
            made.rows[open_[is_available]] = self._rows[found[is_available]]
            moved = unavailable[found] & ~self._is_delete[found]
            open_, found = open_[moved], found[moved]
            if is_own:
                # A key whose first change is a move to it was free before.
                only = self._former[self._first[found]] != ABSENT
                made.own[open_[only]] = self._numbers[found[only]]
                is_own = False
            places = self._before_move(found)
            is_stored = places == ABSENT
            made.stored[open_[is_stored]] = self._former[found[is_stored]]
            open_, places = open_[~is_stored], places[~is_stored]
        return made

    def _last(self, wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return, for each place, the last wanted one up to it of the same key; ABSENT: none."""
        last = np.maximum.accumulate(np.where(wanted, self._places, ABSENT))
        return np.where(last < self._first, ABSENT, last)

    def _before_move(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the last change of the former key before a row was moved from it, and before the
        delete that is a part of the move; ABSENT: it has no such change."""
        former = self._former[places]
        wanted = former * len(self._places) + self._ranks[places]
        last = np.searchsorted(self._combined, wanted) - 1
        last = np.where((last != ABSENT) & (self._numbers[last] == former), last, ABSENT)
        last = np.where((last != ABSENT) & self._is_delete[last], last - 1, last)
        return np.where((last != ABSENT) & (self._numbers[last] == former), last, ABSENT)
