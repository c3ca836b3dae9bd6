"""The state machine of markers: what a slice does, whatever was written before it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import HeadraceError
from headrace.sinks.kafka.markers import (
    Marker,
    NextStep,
    Turn,
    TurnKind,
    begins,
    key_of,
    next_step,
    next_step_of_all,
)

TURN = Turn("c", 7, 2, TurnKind.SLICES, "d7", 3, 3)


def marker(batch: int, **changes: object) -> Marker:
    return replace(replace(TURN, batch=batch, digest=f"d{batch}").marker(5), **changes)


def refused(code: str, last: Marker | None, turn: Turn = TURN, *, begins: bool = False) -> None:
    with pytest.raises(HeadraceError) as raised:
        next_step(last, turn, begins=begins)
    assert (raised.value.code, raised.value.retriable) == (code, False)


def test_a_slice_writes_after_the_micro_batch_before() -> None:
    assert next_step(marker(6), TURN, begins=False) is NextStep.WRITE


def test_the_cut_of_the_micro_batch_before_does_not_matter() -> None:
    for last in (marker(6, slices=9), marker(6, kind=TurnKind.WHOLE), marker(6, width=1)):
        assert next_step(last, TURN, begins=False) is NextStep.WRITE


def test_a_slice_that_is_written_is_skipped() -> None:
    assert next_step(marker(7), TURN, begins=False) is NextStep.SKIP


def test_no_marker_is_right_only_at_a_beginning() -> None:
    assert next_step(None, TURN, begins=True) is NextStep.WRITE
    refused("kafka.bookkeeping_lost", None)


@pytest.mark.parametrize("changes", [{"slices": 3}, {"kind": TurnKind.WHOLE}, {"digest": "other"}])
def test_a_micro_batch_that_was_written_as_another_one_is_an_error(changes: dict) -> None:
    refused("kafka.batch_changed", marker(7, **changes))


def test_without_a_digest_records_are_not_compared() -> None:
    assert next_step(marker(7, digest=""), TURN, begins=False) is NextStep.SKIP
    assert next_step(marker(7), replace(TURN, digest=""), begins=False) is NextStep.SKIP


def test_a_checkpoint_older_than_the_marker_is_an_error() -> None:
    refused("kafka.older_checkpoint", marker(8))
    refused("kafka.older_checkpoint", marker(8), begins=True)


def test_a_marker_older_than_the_micro_batch_before_is_an_error() -> None:
    refused("kafka.bookkeeping_gap", marker(5))


@given(
    st.integers(0, 50),
    st.none() | st.integers(0, 50),
    st.booleans(),
    st.booleans(),
)
def test_a_slice_writes_after_the_one_before_skips_at_its_own_and_stops_anywhere_else(
    batch: int, last: int | None, first: bool, same: bool
) -> None:
    turn = replace(TURN, batch=batch, digest=f"d{batch}" if same else "other")
    before = None if last is None else marker(last)
    right: NextStep | None = None
    if last is None:
        right = NextStep.WRITE if first else None
    elif last == batch:
        right = NextStep.SKIP if same else None
    elif last == batch - 1:
        right = NextStep.WRITE
    try:
        assert next_step(before, turn, begins=first) is right
    except HeadraceError:
        assert right is None


@given(st.data())
def test_whatever_dies_when_each_record_is_written_once(data: st.DataObject) -> None:
    """Runs of a query over micro-batches of any cut. A run may end between any two commits; the
    next one plans the same micro-batch in the same way."""
    markers: dict[int, Marker] = {}
    written: list[tuple[int, int]] = []
    width = 0
    for batch in range(data.draw(st.integers(1, 6))):
        slices = data.draw(st.integers(0, 4))
        kind = data.draw(st.sampled_from(TurnKind))
        while True:
            first = markers.get(0)
            before = 0
            if first is not None:
                before = first.before if first.batch == batch else first.width
            turn = Turn("c", batch, slices, kind, f"d{batch}", max(before, slices, 1), before)
            known_markers = [markers.get(number) for number in range(turn.width)]
            if kind is TurnKind.WHOLE:
                if next_step_of_all(known_markers, turn, without_markers=False) is NextStep.WRITE:
                    written += [(batch, number) for number in range(slices)]
                    markers |= dict.fromkeys(turn.marked(0), turn.marker(1))
                if data.draw(st.booleans()):
                    continue
                break
            order = data.draw(st.permutations(range(max(slices, 1))))
            dies_behind = data.draw(st.none() | st.integers(0, len(order)))
            for number in order[:dies_behind]:
                start = begins(known_markers, turn, number, without_markers=False)
                if next_step(markers.get(number), turn, begins=start) is NextStep.WRITE:
                    if number < slices:
                        written.append((batch, number))
                    markers |= dict.fromkeys(turn.marked(number), turn.marker(1))
            if dies_behind is None:
                break
        width = max(width, slices, 1)
        assert {
            number: slice_marker.batch for number, slice_marker in markers.items()
        } == dict.fromkeys(range(width), batch)
    assert len(written) == len(set(written))


def test_one_transaction_of_all_is_refused_where_a_part_is_written() -> None:
    turn = replace(TURN, kind=TurnKind.WHOLE)
    whole_marker = marker(7, kind=TurnKind.WHOLE)
    assert next_step_of_all([marker(6)] * 3, turn, without_markers=False) is NextStep.WRITE
    assert next_step_of_all([whole_marker] * 3, turn, without_markers=False) is NextStep.SKIP
    with pytest.raises(HeadraceError, match="in full"):
        next_step_of_all([whole_marker, marker(6), marker(6)], turn, without_markers=False)


def test_a_slice_that_was_not_before_has_no_marker() -> None:
    grown = replace(TURN, slices=4, width=4, before=3)
    for first in (marker(6), grown.marker(0)):
        markers = [first, marker(6), marker(6), None]
        assert [begins(markers, grown, number, without_markers=False) for number in range(4)] == [
            False, False, False, True,
        ]  # fmt: skip


def test_everything_begins_at_the_first_micro_batch_and_where_the_user_says_so() -> None:
    assert begins([None], replace(TURN, batch=0), 0, without_markers=False)
    assert begins([None], TURN, 0, without_markers=True)
    assert not begins([None], TURN, 0, without_markers=False)


def test_slice_0_writes_the_markers_of_slices_that_a_micro_batch_does_not_have() -> None:
    assert TURN.marked(0) == (0, 2)
    assert TURN.marked(1) == (1,)
    assert replace(TURN, kind=TurnKind.WHOLE).marked(0) == (0, 1, 2)


@given(
    st.builds(
        Marker,
        st.integers(0),
        st.integers(0),
        st.sampled_from(TurnKind),
        st.text(),
        st.integers(0),
        st.integers(1),
        st.integers(0),
    )
)
def test_a_marker_comes_back_from_its_text(marker_read: Marker) -> None:
    assert Marker.from_json(marker_read.to_json().encode()) == marker_read


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"v": 1}', '{"v": 1, "batch": "x"}'])
def test_what_is_no_marker_is_an_error(text: str) -> None:
    with pytest.raises(HeadraceError) as raised:
        Marker.from_json(text)
    assert raised.value.code == "kafka.bad_marker"


def test_a_newer_marker_is_an_error_of_its_own() -> None:
    with pytest.raises(HeadraceError) as raised:
        Marker.from_json('{"v": 2}')
    assert raised.value.code == "kafka.newer_marker"


def test_keys_distinguish_checkpoints_and_slices() -> None:
    assert len({key_of("a", 1), key_of("a", 2), key_of("b", 1)}) == 3
