"""A reader continues inside of a transaction after the last change that was delivered, whatever
tables are captured by then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.images import make_image
from headrace.connect.rows import low_half
from headrace.connectors.db2.lsn import LSN_BYTES, lsn_of, place_of
from headrace.connectors.db2.position import Db2Offset, Db2Position
from headrace.connectors.db2.streaming import frames
from headrace.connectors.db2.streaming.change_numbers import ChangeNumbers, resume
from headrace.connectors.db2.streaming.recorded_tables import SchemaChange
from headrace.relational.schema_changes import SchemaChangeFacts
from headrace.spool.spool import Spool
from headrace.streaming.changes.kernels import row_kernel
from headrace.streaming.changes.key_columns import KeyRendering
from headrace.streaming.facts import EventSettings
from headrace.streaming.frame_reader import FrameReader
from headrace.streaming.ranges import rows_until
from headrace.streaming.relations import RelationVersions
from tests.connectors.db2.change_rows import Row, change_table, written
from tests.contract.journal.events import JournalSource

TABLES = 3
SCHEMA_CHANGES = TABLES
"""The relation of schema changes."""
COMMIT = (7 << 64) + 99


class Made(NamedTuple):
    """A change of the transaction."""

    place: int
    table: int
    operation: str


class Frames(FrameReader):
    """A reader of frames that are there."""

    frame_kernel = staticmethod(frames.index_frame)

    def read_into(self, target: memoryview, seconds: float) -> int:
        raise NotImplementedError


class Read(NamedTuple):
    """The rows of a piece, and its bytes with their address."""

    rows: np.ndarray
    start: int
    written: bytes


def read(
    changes: Sequence[Made], captured: set[int], altered: set[int], start: Db2Position
) -> Read:
    """The index of one transaction, of which some tables are captured, and some were altered since
    their last schema change event."""
    settings = EventSettings("s", JournalSource())
    versions = RelationVersions(KeyRendering(settings))
    for table in range(TABLES + 1):
        versions.append(SchemaChangeFacts(f"t{table}", "S", f"T{table}"))
    versions.table[:, row_kernel.COLUMNS] = 1
    reader = Frames(versions, start, frames.STATE_WORDS, row_kernel.TOMBSTONES)
    delivered = resume(start, reader.state)
    tables = []
    for table in sorted(captured):
        rows: list[Row] = [
            (lsn_of(COMMIT), lsn_of(change.place), change.operation, number)
            for number, change in enumerate(changes)
            if change.table == table
        ]
        opened = change_table(rows, table, (2, 5))
        if table in altered:
            opened.schema_change = lambda *_: SchemaChange(make_image(["altered"]), SCHEMA_CHANGES)
        tables.append(opened)
    data = written(tables, delivered=delivered)
    spool = Spool(reader.end_type, 256 << 20)
    piece = spool.add(len(data))
    piece.segment.map[: len(data)] = data
    piece.written = len(data)
    reader.begin_segment(0, 0)
    reader.index(piece, lambda *_: None, 0)
    rows_read = piece.index.rows[: reader.entries()[0]].copy()
    start_of_piece, content = piece.segment.start, bytes(piece.segment.map[: piece.written])
    spool.clear()
    return Read(rows_read, start_of_piece, content)


def stop(read: Read, row: int) -> Db2Position:
    """The position after a row, as read back from an offset."""
    start = Db2Offset("s", Db2Position(), 1)
    end = start.at(Db2Position().inside(read.rows[row]))

    def memory(address: int) -> memoryview:
        return memoryview(read.written)[address - read.start :]

    position = ChangeNumbers(lambda: LSN_BYTES).shown(start, end, memory).position
    return Db2Position.from_json(position.to_json())


SETS = st.sets(st.integers(0, TABLES - 1))
NEAR_HALF = st.integers(0, 6).flatmap(
    lambda high: st.integers((high << 64) + (1 << 63) - 40, (high << 64) + (1 << 63))
)
"""Numbers from which the lower half soon has another sign."""


@given(
    st.lists(
        st.tuples(
            st.one_of(st.integers(1, 9), st.integers(1, 1 << 40)),
            st.integers(0, TABLES - 1),
            st.sampled_from("UD"),
        ),
        min_size=1,
        max_size=12,
    ),
    st.one_of(st.integers(0, COMMIT - 1), NEAR_HALF),
    st.tuples(SETS.filter(bool), SETS, SETS, SETS),
    st.data(),
)
def test_what_comes_is_what_lies_after_the_last_change(
    steps: list[tuple[int, int, str]],
    first: int,
    sets: tuple[set[int], set[int], set[int], set[int]],
    data: st.DataObject,
) -> None:
    changes = []
    for step, table, operation in steps:
        first += step
        changes.append(Made(first, table, operation))
    captured, altered, later, altered_later = sets
    before = read(changes, captured, altered, Db2Position())
    captured_changes = [change for change in changes if change.table in captured]
    if not captured_changes:
        assert len(before.rows) == 0
        return
    following = np.append(before.rows["ordinal"][1:], -1)
    ends = np.flatnonzero(before.rows["ordinal"] != following).tolist()
    assert [int(before.rows["relation"][end]) for end in ends] == [
        change.table for change in captured_changes
    ]
    cut = data.draw(st.sampled_from(ends))
    position = stop(before, cut)
    last = captured_changes[ends.index(cut)]
    assert position.change is not None
    assert lsn_of(position.change.place) == lsn_of(last.place)
    assert rows_until(before.rows, position) == cut + 1

    again = read(changes, later, altered_later, position)
    count = rows_until(again.rows, position)
    rest = again.rows[count:]
    expected_changes = [
        change for change in changes if change.table in later and change.place > last.place
    ]
    change_rows = [row for row in rest if row["relation"] != SCHEMA_CHANGES and row["operation"]]
    assert [(int(row["relation"]), row["place"]) for row in change_rows] == [
        (change.table, low_half(change.place)) for change in expected_changes
    ]
    schema_changes = [
        number for number, row in enumerate(rest) if row["relation"] == SCHEMA_CHANGES
    ]
    firsts = {change.table: change.place for change in reversed(expected_changes)}
    expected = {low_half(place) for table, place in firsts.items() if table in altered_later}
    assert {rest[number]["place"] for number in schema_changes} == expected
    ordinals = [int(row["ordinal"]) for row in rest]
    assert ordinals == sorted(ordinals)
    assert all(ordinal > position.messages for ordinal in ordinals)
    keys = [(int(row["ordinal"]), int(row["part"])) for row in rest]
    assert len(set(keys)) == len(keys)
    if later == captured and altered_later == altered:
        whole = before.rows[cut + 1 :]
        assert [row["ordinal"] for row in change_rows] == [
            row["ordinal"]
            for row in whole
            if row["relation"] != SCHEMA_CHANGES and row["operation"]
        ]
    assert place_of(position.change.lsn) == position.change.place
    assert replace(position, change=None).has_delivered(before.rows[: cut + 1]).all()


def test_ordinals_are_the_same_after_a_restart_where_numbers_cross_the_middle_of_their_range() -> (
    None
):
    numbers = (0x7FFFFFFFFFFFFFF1, 0x7FFFFFFFFFFFFFF2, *(0x8000000000000001 + n for n in range(8)))
    changes = [Made((6 << 64) + number, 0, "U") for number in numbers]
    before = read(changes, {0}, set(), Db2Position())
    for cut in range(len(before.rows)):
        position = stop(before, cut)
        again = read(changes, {0}, set(), position)
        rest = again.rows[rows_until(again.rows, position) :]
        assert rest["ordinal"].tolist() == before.rows["ordinal"][cut + 1 :].tolist()
