"""Transitions of the engine from state to state."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.connectors.states import TRANSITIONS, Event, Situation, State
from headrace.connectors.waiting import DRIVER_GONE
from headrace.errors import HeadraceError
from headrace.offsets.offset import VERSION
from headrace.signals.progress import Pending, SignalProgress
from headrace.snapshots.planner import AttemptOver
from tests.connectors.lines import (
    CHUNKS,
    IN_STATE,
    Line,
    LineSource,
    Query,
    blocked,
    ended,
    fatal,
    lost,
    retriable,
    snapshotting,
    streaming,
    waiting,
)

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"

# -- the table ------------------------------------------------------------------------------------


def test_every_state_is_reached_and_every_event_leads_somewhere() -> None:
    assert TRANSITIONS.keys() == set(State) == IN_STATE.keys()
    assert set().union(*TRANSITIONS.values()) == set(Event)
    for state, query in IN_STATE.items():
        assert query().engine.state is state
        assert {Event.INTERRUPTED, Event.POSITION_UNKNOWN, Event.CLOSED} <= TRANSITIONS[
            state
        ].keys()


def test_the_transitions_are_those_that_the_architecture_tells() -> None:
    rows = re.findall(
        r"^\| (any|`[A-Z_]+`) \| `([A-Z_]+)` \| (the same|`[A-Z_]+`)",
        PAGE.read_text(),
        re.MULTILINE,
    )
    page: dict[State, dict[Event, State]] = {state: {} for state in State}
    for start, event, end in rows:
        for state in State if start == "any" else [State[start.strip("`")]]:
            assert Event[event] not in page[state], f"{state} has {event} twice"
            page[state][Event[event]] = state if end == "the same" else State[end.strip("`")]
    assert page == TRANSITIONS


# -- from the beginning to the log ----------------------------------------------------------------


def test_rows_are_read_then_the_log() -> None:
    query = Query(LineSource())
    query.polls(*[State.SNAPSHOTTING] * (CHUNKS + 2), State.STREAMING)
    assert query.happened() == [
        "begin 1",
        "open snapshot",
        *(f"planned {chunk}" for chunk in range(CHUNKS + 1)),
        "close snapshot",
        "streams",
        "open stream at line 0",
        "look for the end",
    ]
    query.source.lines = 2
    query.polls(State.STREAMING, State.STREAMING)
    assert query.sliced() == ["line 1 to line 2"]
    assert query.poll().position == Line(2)


def test_a_first_stream_without_rows_greets_once() -> None:
    query = Query(LineSource(snapshots=False))
    query.polls(State.STREAMING, State.STREAMING)
    opened = ["begin 1", "streams", "open stream at line 0", "greets"]
    assert query.happened() == [*opened, "look for the end"]
    query.source.errors["poll"] = retriable()
    query.poll()
    assert "greets" not in query.happened()


def test_the_log_waits_for_the_delay_but_no_poll_does() -> None:
    query = waiting()
    assert query.poll().position == Line()
    assert query.engine.state is State.WAITING_TO_STREAM
    query.engine._delay.restart(0)
    query.polls(State.STREAMING)


def test_a_bounded_run_waits_for_the_delay() -> None:
    query = snapshotting(streaming_delay_seconds=0.05)
    query.engine.bounded()
    while query.engine.state is State.SNAPSHOTTING:
        query.poll()
    assert query.engine.state is State.STREAMING


def test_nothing_follows_a_snapshot_without_stream() -> None:
    query = ended()
    query.source.lines = 5
    assert query.poll() == query.source.read_offset(query.offsets[-1])
    query.open()
    query.polls(State.ENDED)
    assert query.source.opened == []


# -- another process ------------------------------------------------------------------------------


def test_another_process_continues_in_the_log() -> None:
    query = streaming()
    query.source.lines = 3
    query.poll()
    query.open()
    assert query.poll().position == Line(2)
    assert query.happened()[-5:] == [
        "check line 1",
        "streams",
        "open stream at line 1",
        "greets",
        "look for the end",
    ]


def test_a_stream_catches_up_until_it_has_nothing_after_the_end_that_its_log_had() -> None:
    query = streaming()
    query.source.lines = 3
    query.open()
    situations: list[Situation] = []
    query.engine.watch(situations.append)
    for place in (1, 2, 3):
        assert query.poll().position == Line(place)
        assert situations[-1].is_catching_up
    query.poll()
    assert not situations[-1].is_catching_up
    query.source.lines = 4  # what comes later is no backlog
    query.poll()
    assert not situations[-1].is_catching_up


def test_another_process_continues_inside_of_a_snapshot() -> None:
    query = snapshotting()
    query.open()
    query.polls(State.SNAPSHOTTING)
    assert query.happened() == ["open snapshot", "check line 0", "planned 1"]


def test_another_process_continues_inside_of_a_blocking_snapshot() -> None:
    query = blocked()
    query.open()
    query.polls(State.BLOCKED)
    while query.engine.state is State.BLOCKED:
        query.poll()
    assert query.engine.state is State.STREAMING


def test_a_range_of_the_process_before_is_planned_before_anything_is_polled() -> None:
    query = streaming()
    query.source.lines = 1
    query.poll()
    query.open()
    assert query.sliced() == ["line 0 to line 1"]
    assert query.engine.state is State.STARTING
    query.polls(State.STREAMING)
    assert len(query.source.opened) == 2  # one of each process


def test_a_snapshot_at_every_start() -> None:
    query = streaming()
    query.source.snapshots_every_start = True
    query.open()
    end = query.poll()
    assert (query.engine.state, end.epoch) == (State.SNAPSHOTTING, 2)
    assert query.sliced() == []
    while query.engine.state is State.SNAPSHOTTING:
        query.poll()
    assert query.poll().epoch == 2


def test_a_snapshot_at_every_start_without_stream() -> None:
    query = ended()
    query.source.snapshots_every_start = True
    query.open()
    assert query.poll().epoch == 2
    assert query.engine.state is State.SNAPSHOTTING


def test_an_error_leaves_the_snapshot_at_every_start_to_the_next_try() -> None:
    query = streaming()
    query.source.snapshots_every_start = True
    query.open()
    query.source.errors["begin"] = retriable()
    query.polls(State.SNAPSHOTTING)


def test_what_follows_an_offset_in_a_snapshot_may_be_asked_again() -> None:
    for query, following in ((snapshotting(), State.STREAMING), (blocked(), State.STREAMING)):
        state = query.engine.state
        inside = query.offsets[-1]
        while query.engine.state is state:
            query.poll()
        assert query.engine.state is following
        query.offsets.append(inside)
        query.polls(state)


def test_after_an_offset_of_an_older_version_the_next_epoch_begins() -> None:
    query = streaming()
    query.source.lines = 1
    query.offsets[-1] = {**query.offsets[-1], "v": 1}
    query.poll()
    assert (query.offsets[-1]["v"], query.offsets[-1]["epoch"]) == (VERSION, 2)
    assert query.sliced() == []
    assert query.poll().position == Line(1)


def test_after_an_offset_of_an_older_version_the_next_epoch_is_acknowledged() -> None:
    query = streaming()
    query.source.lines = 2
    query.poll()
    query.offsets[-1] = {**query.offsets[-1], "v": 1}
    query.poll()
    query.poll()
    query.engine.acknowledge(query.offsets[-1])
    assert query.source.opened[-1].acknowledged == [2]


def test_the_log_is_read_with_tables_as_they_were_when_it_was_written() -> None:
    """Tables that the snapshot read may be newer."""
    query = snapshotting()
    query.source.lines = 1
    assert query.source.knows_tables
    while query.engine.state is not State.STREAMING:
        query.poll()
    assert not query.source.knows_tables


# -- a position that is gone ----------------------------------------------------------------------


def test_a_lost_position_is_met_with_a_new_snapshot() -> None:
    query = streaming()
    query.open()
    query.source.lost, query.source.snapshots = [lost()], True
    end = query.poll()
    assert (query.engine.state, end.epoch) == (State.SNAPSHOTTING, 2)
    assert query.happened() == ["check line 0", "make room", "begin 2", "open snapshot"]


def test_the_databases_position_is_followed() -> None:
    query = streaming()
    query.open()
    query.source.lost, query.source.lines = [lost(is_followed=True)], 7
    end = query.poll()
    assert (end.epoch, end.position) == (2, Line(7))
    assert query.sliced() == []
    query.polls(State.STREAMING)


def test_a_range_that_cannot_be_read_any_more_is_left_out() -> None:
    query = streaming()
    query.source.lines = 1
    query.poll()
    query.open()
    query.source.lost = [lost(), lost()]
    assert query.sliced() == []
    assert "keep lost" in query.happened()
    assert query.poll().epoch == 2
    query.open()
    query.source.lost = [lost(is_followed=True)]
    query.offsets[-2:] = query.offsets[-3:-1]
    assert query.sliced() == ["line 0 to line 1"]


def test_a_position_that_is_lost_while_streaming() -> None:
    query = streaming()
    query.poll()
    query.source.errors["poll"] = fatal("lines.lost")
    query.source.lost = [lost()]
    end = query.poll()
    assert (query.engine.state, end.epoch) == (State.STREAMING, 2)
    assert "close stream" in query.happened()


def test_a_position_that_is_said_to_be_lost_and_is_not_is_an_error() -> None:
    query = streaming()
    query.source.errors["poll"] = fatal("lines.lost")
    with pytest.raises(HeadraceError, match=r"lines\.lost"):
        query.poll()
    assert query.engine.state is State.STARTING


# -- attempts of a snapshot -----------------------------------------------------------------------


@pytest.mark.parametrize("restarted", [False, True])
def test_a_snapshot_that_cannot_continue_begins_again(restarted: bool) -> None:
    query = snapshotting()
    if restarted:
        query.open()
    query.source.errors["resume" if restarted else "chunk"] = [AttemptOver()]
    end = query.poll()
    assert (query.engine.state, end.epoch) == (State.SNAPSHOTTING, 2)
    happened = query.happened()
    assert happened[-4:] == ["close snapshot", "make room", "begin 2", "open snapshot"]


@pytest.mark.parametrize("restarted", [False, True])
def test_a_blocking_snapshot_that_cannot_continue_begins_again_with_what_is_left(
    restarted: bool,
) -> None:
    query = blocked()
    query.poll()
    if restarted:
        query.open()
    query.source.errors["resume" if restarted else "chunk"] = [AttemptOver()]
    end = query.poll()
    assert (end.snapshot, end.epoch) == (None, 1)
    query.polls(State.BLOCKED)
    assert query.happened()[-1] == "block for t1, t2"
    while query.engine.state is State.BLOCKED:
        query.poll()


# -- blocking snapshots ---------------------------------------------------------------------------


def test_the_log_waits_for_a_blocking_snapshot() -> None:
    query = blocked()
    assert query.happened()[-2:] == ["open snapshot", "block for t"]
    query.source.lines = 2
    while query.engine.state is State.BLOCKED:
        end = query.poll()
    assert "close stream" not in query.happened()
    assert len(query.source.opened) == 1
    assert end.position == Line(2)


@pytest.mark.parametrize("error", [*fatal("lines.filter"), ArithmeticError("no number")])
def test_a_blocking_snapshot_that_cannot_begin_is_given_up(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    query = streaming()
    signal_progress = SignalProgress(blocking=(Pending("t", "id"),), ordinal=3)
    stored = query.source.read_offset(query.offsets[-1])
    query.offsets.append(replace(stored, signals=signal_progress).to_json())
    query.source.errors["block"] = [error]
    query.polls(State.STREAMING)
    end = query.source.read_offset(query.offsets[-1])
    assert (end.position, end.signals) == (stored.position, SignalProgress(ordinal=3))
    assert "the blocking snapshot of t is given up" in caplog.text
    query.open()
    query.source.lines += 1
    assert query.poll().position != stored.position


@pytest.mark.parametrize("code", ["lines.away", DRIVER_GONE])
def test_a_blocking_snapshot_that_another_try_may_begin_is_kept(code: str) -> None:
    query = streaming(max_retries=0)
    signal_progress = SignalProgress(blocking=(Pending("t", "id"),))
    stored = query.source.read_offset(query.offsets[-1])
    query.offsets.append(replace(stored, signals=signal_progress).to_json())
    error = HeadraceError(code, "away", "Wait.", retriable=code != DRIVER_GONE)
    query.source.errors["block"] = [error]
    with pytest.raises(HeadraceError, match=code):
        query.poll()
    query.source.errors.clear()
    query.open()
    query.polls(State.BLOCKED)


def test_a_blocking_snapshot_waits_for_the_end_of_the_transaction() -> None:
    query = streaming()
    stored = query.source.read_offset(query.offsets[-1])
    signal_progress = SignalProgress(blocking=(Pending("t", "id"),))
    inside = replace(stored, position=Line(0, transaction=4), signals=signal_progress)
    query.offsets.append(inside.to_json())
    query.polls(State.STREAMING)
    query.offsets.append(replace(inside, position=Line(4)).to_json())
    query.polls(State.BLOCKED)
