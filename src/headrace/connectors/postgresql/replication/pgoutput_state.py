"""The words that the compiled pass over pgoutput keeps, as Python sets and reads them."""

from __future__ import annotations

import numpy as np

from headrace.connect.rows import NULL
from headrace.connectors.postgresql.position import PostgresPosition
from headrace.connectors.postgresql.replication import pgoutput
from headrace.streaming.changes import row_kernel
from headrace.streaming.reader import Received


def state_from(start: PostgresPosition, borders: tuple[int, int] | None = None) -> np.ndarray:
    """The state of a stream from `start` on, int64. Inside a transaction, the server sends it again
    from its BEGIN, and the LSN of the last message delivered is compared. `borders`: the relations
    of the records at the borders of transactions, where there are any."""
    state = np.zeros(pgoutput.STATE_WORDS, np.int64)
    state[row_kernel.LAST_COMMIT] = NULL if start.last_commit is None else start.last_commit
    state[row_kernel.COMMIT_US] = start.ts_usec or 0
    state[pgoutput.COMPLETE] = start.lsn_commit
    state[pgoutput.WAL_END] = start.lsn_commit
    state[row_kernel.TRANSACTION_ROW] = -1
    state[pgoutput.CHECKED] = 1
    if start.txn is not None and start.txn_index > 0:
        state[pgoutput.CHECK_FINAL] = start.txn
        state[pgoutput.CHECK_ORDINAL] = start.txn_index
        state[pgoutput.CHECK_LSN] = start.lsn
        state[pgoutput.CHECKED] = 0
    if borders is not None:
        begins, endings = borders
        state[row_kernel.BEGINS], state[row_kernel.ENDINGS] = begins + 1, endings + 1
    return state


def begin_segment(state: np.ndarray) -> None:
    """The pass goes on at the beginning of a segment, with an index that is empty."""
    for word in (pgoutput.POSITION, row_kernel.ROWS, row_kernel.TRANSACTIONS, pgoutput.ENDS):
        state[word] = 0
    state[row_kernel.TRANSACTION_ROW] = -1


def received(state: np.ndarray) -> Received:
    """How far the log was received."""
    complete = int(state[pgoutput.COMPLETE])
    end: np.void = np.zeros(1, pgoutput.END)[0]
    end["end_lsn"] = complete
    end["last_commit"] = state[row_kernel.LAST_COMMIT]
    end["commit_us"] = state[row_kernel.COMMIT_US]
    is_open = bool(state[pgoutput.OPEN])
    return Received(
        complete=complete,
        end=end,
        head=int(state[pgoutput.WAL_END]),
        transaction=int(state[pgoutput.FINAL_LSN]) if is_open else None,
        messages=int(state[row_kernel.ORDINAL]) if is_open else 0,
        filtered=int(state[row_kernel.FILTERED]),
    )
