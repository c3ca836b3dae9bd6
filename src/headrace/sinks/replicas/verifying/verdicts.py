"""Whether a row differs, by what the source and the replica had of it, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

from headrace.sinks.replicas.verifying.row_index import RowPlace


class Verdict(Enum):
    """What is known of a row."""

    EQUAL = auto()
    DIFFERS = auto()
    UNKNOWN = auto()


def verdict(
    source: int | None,
    before: Sequence[RowPlace],
    after: Sequence[RowPlace],
    lacked: int | None,
) -> Verdict:
    """`source` is the digest of the row that the source had (None: it had none) when it was read,
    `before` are the rows of its key that the replica had before that, and `after` those that it has
    now that it has passed the place of the log at which the source was read. `lacked` is the digest
    of the source's row in the round before, in which the replica had none (None: it was not so).

    A row of the replica that is at the same place before and after was not touched between, and a
    change of it would have. Of a row that the replica has neither before nor after it is not known
    whether it came and went; it is missing when the source had the same one in two rounds.
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
