"""Decides whether a row differs, from its successive states at the source and in the replica."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

from headrace.sinks.replicas.verifying.row_index import RowPlace


class Verdict(Enum):
    """The result of the check of a row."""

    EQUAL = auto()
    DIFFERS = auto()
    UNKNOWN = auto()


def verdict(
    source: int | None,
    before: Sequence[RowPlace],
    after: Sequence[RowPlace],
    lacked: int | None,
) -> Verdict:
    """Decide whether a row differs.

    `source` is the digest of the source's row when it was read (None: no row), `before` are the
    rows of its key that the replica had before that, and `after` those that it has after it has
    passed the place of the log at which the source was read. `lacked` is the digest of the source's
    row in the previous round if the replica had no row then (else None).

    A row of the replica at the same place before and after was not changed in between, because a
    change would have moved it. If the replica has a row neither before nor after, it may have been
    added and deleted in between; it is missing if the source had the same row in two rounds.
    """
    former, late = tuple(before), tuple(after)
    if source is None:
        if not former or not late:
            return Verdict.EQUAL
    elif any(len(rows) == 1 and rows[0].digest == source for rows in (former, late)):
        return Verdict.EQUAL
    elif not former and not late:
        return Verdict.DIFFERS if lacked == source else Verdict.UNKNOWN
    return Verdict.DIFFERS if former == late else Verdict.UNKNOWN
