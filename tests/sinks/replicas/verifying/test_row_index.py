"""The index of a replica's rows, and the verdicts by places of rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.sinks.replicas.verifying.row_index import (
    PlacedDigests,
    RowIndex,
    RowPlace,
    pieces,
)
from headrace.sinks.replicas.verifying.verdicts import Verdict, verdict


def placed(file: str, keys: list[int], rows: list[int]) -> PlacedDigests:
    return PlacedDigests(
        file,
        np.array(keys, np.uint64),
        np.array(rows, np.uint64),
        np.arange(len(keys), dtype=np.int64),
    )


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 3)), max_size=20), max_size=4
    )
)
def test_rows_are_found_by_the_digests_of_their_keys(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[tuple[int, int]]]
) -> None:
    folder = tmp_path_factory.mktemp("index")
    batches = [
        placed(f"file {number}", [key for key, _ in rows], [row for _, row in rows])
        for number, rows in enumerate(files)
    ]
    RowIndex.build(folder, batches)
    index = RowIndex(folder)
    assert len(index) == sum(map(len, files))
    expected_places: dict[int, set[RowPlace]] = {}
    for number, rows in enumerate(files):
        for position, (key, row) in enumerate(rows):
            expected_places.setdefault(key, set()).add(RowPlace(f"file {number}", position, row))
    keys = np.array([*expected_places], np.uint64)
    assert [set(places) for places in index.places(keys)] == [*expected_places.values()]
    by_file = index.by_file(np.arange(len(index)))
    assert {file: at.tolist() for file, at in by_file.items()} == {
        f"file {number}": [*range(len(rows))] for number, rows in enumerate(files) if rows
    }


def test_what_the_source_has_is_seen_and_kept(tmp_path: Path) -> None:
    top = 2**63
    RowIndex.build(tmp_path, [placed("f", [1, 2, 2, top, top + 5], [10, 20, 21, 40, 50])])
    index = RowIndex(tmp_path)
    keys, rows = np.array([1, 2, 3, top], np.uint64), np.array([10, 20, 30, 41], np.uint64)
    # The second has two rows, the third none, and the fourth another one.
    assert index.are_equal(keys, rows).tolist() == [True, False, False, False]
    index.flush()
    assert RowIndex(tmp_path).unseen().tolist() == [4]
    assert index.place(4) == RowPlace("f", 4, 50)


def test_an_index_of_no_rows_has_none(tmp_path: Path) -> None:
    index = RowIndex.build(tmp_path, [placed("f", [], [])])
    keys = np.array([1], np.uint64)
    assert not index.are_equal(keys, keys).any()
    assert index.places(keys) == [()]
    assert len(index.unseen()) == 0
    index.flush()


def test_numbers_come_in_pieces() -> None:
    assert [list(each) for each in pieces(np.arange(5), 2)] == [[0, 1], [2, 3], [4]]
    assert list(pieces(np.arange(0), 2)) == []


A, A_LATER, B = RowPlace("f", 1, 7), RowPlace("g", 1, 7), RowPlace("f", 2, 8)


@pytest.mark.parametrize(
    ("source", "before", "after", "lacked", "wanted"),
    [
        (7, [A], [A], None, Verdict.EQUAL),
        (7, [B], [A], None, Verdict.EQUAL),
        (7, [A], [B], None, Verdict.EQUAL),
        (None, [], [], None, Verdict.EQUAL),
        (None, [A], [], None, Verdict.EQUAL),
        (None, [], [A], None, Verdict.EQUAL),
        (9, [A], [A], None, Verdict.DIFFERS),
        (None, [A], [A], None, Verdict.DIFFERS),
        (7, [A, B], [A, B], None, Verdict.DIFFERS),
        (7, [A, A_LATER], [A, A_LATER], None, Verdict.DIFFERS),
        (9, [A], [A_LATER], None, Verdict.UNKNOWN),
        (None, [A], [A_LATER], None, Verdict.UNKNOWN),
        (9, [A], [], None, Verdict.UNKNOWN),
        (9, [], [A], None, Verdict.UNKNOWN),
        (9, [], [], None, Verdict.UNKNOWN),
        (9, [], [], 8, Verdict.UNKNOWN),
        (9, [], [], 9, Verdict.DIFFERS),
        (9, [], [A], 9, Verdict.UNKNOWN),
    ],
)
def test_a_row_differs_when_its_place_stayed_or_when_it_lacks_twice(
    source: int | None,
    before: list[RowPlace],
    after: list[RowPlace],
    lacked: int | None,
    wanted: Verdict,
) -> None:
    assert verdict(source, before, after, lacked) is wanted


def rows_at(events: list[int | None], position: int) -> tuple[RowPlace, ...]:
    """The rows that a replica has which has applied so many of a key's events (None: a delete)."""
    digest = events[position - 1] if position else None
    return () if digest is None else (RowPlace("f", position, digest),)


EVENTS = st.lists(st.none() | st.integers(0, 2), max_size=8)


@given(EVENTS, st.data())
def test_a_replica_that_applies_every_change_never_differs(
    events: list[int | None], data: st.DataObject
) -> None:
    before = data.draw(st.integers(0, len(events)))
    read = data.draw(st.integers(before, len(events)))
    after = data.draw(st.integers(read, len(events)))
    source = events[read - 1] if read else None
    outcome = verdict(source, rows_at(events, before), rows_at(events, after), None)
    assert outcome is not Verdict.DIFFERS


@given(EVENTS, st.integers(0, 2), st.integers(0, 3))
def test_a_replica_that_lost_a_change_differs_once_nothing_changes_any_more(
    events: list[int | None], last: int, lost: int
) -> None:
    events = [*events, last]
    applied_events = events[: len(events) - 1 - lost] if lost < len(events) else []
    stale = rows_at(applied_events, len(applied_events))
    outcome = verdict(last, stale, stale, last)
    is_equal = bool(stale) and stale[0].digest == last
    assert outcome is (Verdict.EQUAL if is_equal else Verdict.DIFFERS)
