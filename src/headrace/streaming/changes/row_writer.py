"""Rows that Python adds to a segment's index, one at a time, for rare messages: those that a kernel
leaves to Python."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.connect.kernels.memory import address_of
from headrace.connect.rows import ROW, RowKind
from headrace.spool.index import SegmentIndex
from headrace.streaming.changes.kernels import row_kernel


@dataclass(frozen=True)
class RareRecord:
    """A record of a rare message. `operation` is the code of its letter, `relation` the number of
    its relation version, `place` its place in the log, `size` its bytes of log, `image` the address
    of its image (0: no image), `part` the number of the record in its message."""

    operation: int
    relation: int
    place: int
    size: int
    image: int = 0
    part: int = 0


def add_record(
    index: SegmentIndex, state: np.ndarray, record: RareRecord, kind: RowKind, topic_hash: int
) -> None:
    """Add a row after those of `index`, for the transaction that is open in `state` (the words of
    `row_kernel`); the index has room for it."""
    row_kernel.open_transaction(address_of(index.transactions), address_of(state))
    row = np.zeros((), ROW)
    row["new"] = record.image
    row["position_high"] = state[row_kernel.POSITION_HIGH]
    row["position"] = state[row_kernel.POSITION_LOW]
    row["place"] = record.place
    row["ordinal"] = state[row_kernel.ORDINAL]
    row["part"] = record.part
    row["hash"] = np.int64(topic_hash).view(np.uint64)
    row["size"] = record.size
    row["transaction"] = state[row_kernel.TRANSACTION_ROW]
    row["relation"] = record.relation
    row["operation"] = record.operation
    row["kind"] = kind
    index.rows[int(state[row_kernel.ROWS])] = row
    state[row_kernel.ROWS] += 1
    if kind == RowKind.TRANSACTION:
        state[row_kernel.TRANSACTION_HAS_ROWS] = 1


def add_barrier(index: SegmentIndex, state: np.ndarray) -> None:
    """Allow a range to end before the next row."""
    rows = int(state[row_kernel.ROWS])
    if rows not in index.barriers:
        index.barriers.append(rows)
