"""Ends of ranges, against a model that knows one list of rows."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.rows import ROW
from headrace.connectors.postgresql.position import PostgresPosition
from headrace.spool.index import SegmentIndex
from headrace.spool.spool import Piece
from headrace.streaming.changes.kernels import row_kernel
from headrace.streaming.ranges import (
    Backlog,
    Limit,
    RangeEnd,
    holds_rows,
    is_delivered,
    rows_until,
)

START = PostgresPosition(50)


@dataclass
class Log:
    """Pieces of a spool without segments, and the same as one list."""

    pieces: list[Piece] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)
    """The number of each row's message."""
    sizes: list[int] = field(default_factory=list)
    barriers: list[int] = field(default_factory=list)
    ends: list[tuple[int, int]] = field(default_factory=list)
    """Rows before a commit, and its end LSN."""

    def __post_init__(self) -> None:
        self.roll()

    def roll(self) -> None:
        self.pieces.append(Piece(cast("object", None), SegmentIndex(row_kernel.END)))  # type: ignore[arg-type]

    def message(self, position: int, ordinal: int, records: int, size: int) -> None:
        index = self.pieces[-1].index
        number = self.messages[-1] + 1 if self.messages else 0
        for part in range(records):
            row = np.zeros(1, ROW)
            row["position"], row["ordinal"], row["part"] = position, ordinal, part
            row["kind"], row["size"], row["place"] = 2, size, position - 5
            index.rows[index.row_count] = row[0]
            index.row_count += 1
            self.messages.append(number)
            self.sizes.append(size)

    def commit(self, end_lsn: int) -> None:
        index = self.pieces[-1].index
        index.ends[index.end_count] = (index.row_count, 0, end_lsn, end_lsn, 7)
        index.end_count += 1
        self.ends.append((len(self.messages), end_lsn))

    def barrier(self) -> None:
        index = self.pieces[-1].index
        if index.row_count not in index.barriers:
            index.barriers.append(index.row_count)
        self.barriers.append(len(self.messages))

    def delivered(self, position: PostgresPosition) -> int:
        return sum(rows_until(piece.index.rows_now(), position) for piece in self.pieces)


def expected_count(
    log: Log, delivered: int, after: PostgresPosition, limit: Limit, cut_open: bool
) -> int | None:
    """The number of rows of the next range."""
    rest = log.sizes[delivered:]
    totals = list(itertools.accumulate(rest))
    allowed = sum(total <= limit.max_bytes for total in totals)
    if limit.max_rows:
        allowed = min(allowed, limit.max_rows)
    barrier = min((b - delivered for b in log.barriers if b > delivered), default=None)
    more = allowed < len(rest)
    if barrier is not None and barrier <= allowed:
        allowed, more = barrier, True
    ends = [rows - delivered for rows, end_lsn in log.ends if end_lsn > after.lsn_commit]
    commits = [count for count in ends if count <= allowed]
    if commits:
        return commits[-1]
    if not rest or not (more or cut_open):
        return None
    borders = [
        count
        for count in range(1, len(rest) + 1)
        if count == len(rest)
        or log.messages[delivered + count] != log.messages[delivered + count - 1]
    ]
    return max((count for count in borders if count <= allowed), default=borders[0])


def steps() -> st.SearchStrategy[list[tuple[str, int, int]]]:
    kind = st.sampled_from(["message", "message", "message", "commit", "roll", "barrier"])
    return st.lists(st.tuples(kind, st.integers(1, 5), st.integers(1, 9)), max_size=40)


@given(steps(), st.integers(1, 60), st.integers(0, 12), st.booleans())
def test_ranges_end_where_the_limits_say(
    script: list[tuple[str, int, int]], max_bytes: int, max_rows: int, cut_open: bool
) -> None:
    log, position, ordinal = Log(), 100, 0
    for kind, records, size in script:
        if kind == "message":
            ordinal += 1
            log.message(position, ordinal, records, size)
        elif kind == "commit" and ordinal:
            log.commit(position + 10)
            position, ordinal = position + 100, 0
        elif kind == "roll":
            log.roll()
        elif kind == "barrier":
            log.barrier()
    limit, after = Limit(max_bytes, max_rows), START
    while True:
        delivered = log.delivered(after)
        count = expected_count(log, delivered, after, limit, cut_open)
        range_end = Backlog(after, limit).end(log.pieces, cut_open=cut_open)
        assert (None if range_end is None else range_end.rows) == count
        if range_end is None or count is None:
            break
        assert log.delivered(range_end.position) == delivered + count
        assert range_end.bytes == sum(log.sizes[delivered : delivered + count])
        assert range_end.position != after
        after = range_end.position


@given(steps(), st.integers(1, 60), st.integers(0, 12), st.booleans())
def test_a_backlog_that_is_asked_while_the_spool_grows_answers_as_a_new_one_does(
    script: list[tuple[str, int, int]], max_bytes: int, max_rows: int, cut_open: bool
) -> None:
    log, limit, after = Log(), Limit(max_bytes, max_rows), START
    backlog = Backlog(after, limit)
    position, ordinal = 100, 0
    for kind, records, size in script:
        if kind == "message":
            ordinal += 1
            log.message(position, ordinal, records, size)
        elif kind == "commit" and ordinal:
            log.commit(position + 10)
            position, ordinal = position + 100, 0
        elif kind == "roll":
            log.roll()
        elif kind == "barrier":
            log.barrier()
        # As the spool does: what nothing needs any more is dropped, but for the newest piece.
        current = log.pieces[-1]
        log.pieces = [
            piece for piece in log.pieces if piece is current or not is_delivered(piece, after)
        ]
        range_end = backlog.end(log.pieces, cut_open=cut_open)
        assert range_end == Backlog(after, limit).end(log.pieces, cut_open=cut_open)
        summed = sum(len(totals) for totals in backlog._totals)
        assert summed <= sum(piece.index.row_count for piece in log.pieces)
        if range_end is not None:
            rest = sum(
                rows_until(piece.index.rows_now(), range_end.position) < piece.index.row_count
                for piece in log.pieces
            )
            assert holds_rows(log.pieces, range_end.position) == bool(rest)
            after = range_end.position
            backlog = Backlog(after, limit)


def cut(log: Log, max_rows: int) -> RangeEnd[PostgresPosition] | None:
    return Backlog(START, Limit(1 << 30, max_rows)).end(log.pieces, cut_open=True)


def test_a_limit_inside_the_first_message_of_a_segment_ends_the_range_before_it() -> None:
    log = Log()
    for ordinal in range(1, 5):
        log.message(100, ordinal, 1, 10)
    log.roll()
    log.message(100, 5, 3, 10)
    for ordinal in range(6, 1000):
        log.message(100, ordinal, 1, 10)
    range_end = cut(log, 5)
    assert range_end is not None
    assert (range_end.rows, range_end.position.txn_index) == (4, 4)
    assert log.delivered(range_end.position) == 4


def test_a_barrier_at_the_start_of_a_segment_ends_the_range_before_it() -> None:
    log = Log()
    log.message(100, 1, 1, 10)
    log.roll()
    log.barrier()
    log.message(100, 2, 1, 10)
    range_end = cut(log, 0)
    assert range_end is not None
    assert range_end.rows == 1


class Undivided(PostgresPosition):
    """A position of a log whose transactions are never parted."""

    def inside(self, row: np.void) -> None:  # type: ignore[override]
        return


@given(steps(), st.integers(1, 60), st.integers(0, 12), st.booleans())
def test_a_transaction_that_is_not_parted_is_a_range_however_large_it_is(
    script: list[tuple[str, int, int]], max_bytes: int, max_rows: int, cut_open: bool
) -> None:
    log, position, ordinal = Log(), 100, 0
    for kind, records, size in script:
        if kind == "message":
            ordinal += 1
            log.message(position, ordinal, records, size)
        elif kind == "commit" and ordinal:
            log.commit(position + 10)
            position, ordinal = position + 100, 0
        elif kind == "roll":
            log.roll()
    limit, delivered = Limit(max_bytes, max_rows), 0
    after: PostgresPosition = Undivided(50)
    commits = [rows for rows, _ in log.ends]
    while True:
        totals = list(itertools.accumulate(log.sizes[delivered:]))
        allowed = sum(total <= max_bytes for total in totals)
        if max_rows:
            allowed = min(allowed, max_rows)
        rest = [rows - delivered for rows in commits if rows > delivered]
        fitting = [count for count in rest if count <= allowed]
        expected = fitting[-1] if fitting else None
        if expected is None and rest and (allowed < len(totals) or cut_open):
            expected = rest[0]
        range_end = Backlog(after, limit).end(log.pieces, cut_open=cut_open)
        assert (None if range_end is None else range_end.rows) == expected
        if range_end is None:
            return
        assert range_end.bytes == totals[range_end.rows - 1]
        delivered, after = delivered + range_end.rows, Undivided(range_end.position.lsn_commit)
