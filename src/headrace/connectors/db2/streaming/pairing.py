"""Converts rows of a change table to changes: a D directly followed by an I is an update.

SQL replication writes an update as the row before (D) and the row after (I), when the registration
has CHG_UPD_TO_DEL_INS = 'Y'. Such a pair cannot be distinguished from a delete and an insert of
another row, so within one table and one commit, in the order of IBMSNAP_INTENTSEQ:

    a D directly followed by an I   one update; its number is that of the I
    any other D                     a delete
    any other I                     a create
    U                               an update without the row before

Debezium's LEAD and LAG do the same. Pairs never overlap, so each row is compared with its neighbour
only, and all rows at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headrace.connectors.db2.streaming.lsn_columns import LsnColumn

INSERTED, DELETED, UPDATED = ord("I"), ord("D"), ord("U")
"""Values of IBMSNAP_OPERATION."""
NO_ROW = -1


class Changes(NamedTuple):
    """Changes of one table in the order of its log, as arrays of one length: the rows (int64) with
    the image before and after; NO_ROW for a missing image."""

    old: np.ndarray
    new: np.ndarray

    @property
    def first(self) -> np.ndarray:
        """The rows that changes begin with, which order them."""
        return np.where(self.old != NO_ROW, self.old, self.new)

    @property
    def last(self) -> np.ndarray:
        """The rows that changes end with, whose numbers they show."""
        return np.where(self.new != NO_ROW, self.new, self.old)


def pair(operations: np.ndarray, commits: LsnColumn) -> Changes:
    """Return the changes that rows make. `operations` (uint8) are IBMSNAP_OPERATION; the rows are
    those of one table, ordered by commit and intent sequence."""
    deletes = operations == DELETED
    begins = np.zeros(len(operations), bool)
    if len(operations) > 1:
        begins[:-1] = deletes[:-1] & (operations[1:] == INSERTED) & commits.same_as_before()
    ends = np.zeros(len(operations), bool)
    ends[1:] = begins[:-1]
    first = np.flatnonzero(~ends)
    old = np.where(deletes[first], first, NO_ROW)
    new = np.where(begins[first], first + 1, np.where(deletes[first], NO_ROW, first))
    return Changes(old, new)
