"""Errors, the end, bounded runs, heartbeats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from headrace.connectors.connector import Connector
from headrace.connectors.heartbeats import Heartbeats
from headrace.connectors.states import State
from headrace.errors import HeadraceError
from headrace.signals.progress import Pending, SignalProgress
from tests.connectors.lines import (
    IN_STATE,
    INITIAL,
    DriverError,
    Line,
    LineSource,
    Query,
    blocked,
    fatal,
    retriable,
    snapshotting,
    streaming,
)

# -- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [State.SNAPSHOTTING, State.STREAMING, State.BLOCKED])
def test_an_error_that_may_be_tried_again_is(state: State) -> None:
    query = IN_STATE[state]()
    action = "poll" if state is State.STREAMING else "chunk"
    query.source.errors[action] = retriable(times=3)
    query.source.lines = 2
    query.polls(state)
    assert query.happened().count("disconnect") == 3
    assert query.source.errors[action] == []


def test_an_error_of_the_driver_is_translated_and_tried_again() -> None:
    query = streaming(max_retries=1)
    query.source.errors["poll"] = [DriverError("gone")]
    query.poll()
    query.source.errors["poll"] = [DriverError("gone"), DriverError("gone")]
    with pytest.raises(HeadraceError, match=r"lines\.driver"):
        query.poll()


def test_tries_are_counted_in_a_row() -> None:
    query = streaming(max_retries=2)
    for _ in range(3):
        query.source.errors["poll"] = retriable(times=2)
        query.poll()
    query.source.errors["poll"] = retriable(times=3)
    with pytest.raises(HeadraceError, match=r"lines\.away"):
        query.poll()


def test_slices_are_tried_again_too() -> None:
    query = streaming()
    query.source.lines = 1
    query.poll()
    query.source.errors["slices"] = retriable()
    assert query.sliced() == ["line 0 to line 1"]
    assert len(query.source.opened) == 2


def test_a_lock_that_is_not_given_lets_the_snapshot_go() -> None:
    query = snapshotting()
    query.source.errors["chunk"] = retriable("lines.locked")
    query.polls(State.SNAPSHOTTING)
    assert query.happened() == ["disconnect", "close snapshot", "open snapshot", "planned 1"]


@pytest.mark.parametrize("state", [State.SNAPSHOTTING, State.STREAMING, State.BLOCKED])
def test_after_another_error_the_position_is_not_known(state: State) -> None:
    query = IN_STATE[state]()
    query.source.errors["poll"] = query.source.errors["chunk"] = fatal()
    with pytest.raises(HeadraceError, match=r"lines\.broken"):
        query.poll()
    assert query.engine.state is State.STARTING
    assert "aborted" in query.happened()
    query.polls(state)
    assert any(entry.startswith("check") for entry in query.happened())


def test_an_error_that_nobody_knows_is_not_touched() -> None:
    query = streaming()
    query.source.errors["poll"] = [ZeroDivisionError()]
    with pytest.raises(ZeroDivisionError):
        query.poll()
    assert query.engine.state is State.STREAMING


def test_validation_tries_nothing_again() -> None:
    source = LineSource(errors={"validate": [DriverError("gone"), *retriable()]})
    query = Query(source)
    for code in ("driver", "away"):
        with pytest.raises(HeadraceError, match=code):
            query.engine.validate(None)
    query.engine.validate(INITIAL)
    assert query.happened() == ["validate line 0"]


@pytest.mark.parametrize("state", State)
def test_without_driver_everything_is_closed_and_nothing_dropped(state: State) -> None:
    query = IN_STATE[state]()
    query.happened()
    query.is_orphaned = True
    with pytest.raises(HeadraceError, match=r"spark\.driver_gone"):
        query.poll()
    assert query.engine.state is State.ENDED
    happened = query.happened()
    assert "close" in happened
    assert "drop" not in happened


def test_the_driver_is_looked_for_between_two_tries() -> None:
    query = streaming(retry_seconds=600)
    query.source.errors["poll"] = retriable()

    def orphan(_error: HeadraceError) -> bool:
        query.is_orphaned = True
        return False

    query.source.ends_snapshot = orphan  # type: ignore[method-assign]
    with pytest.raises(HeadraceError, match=r"spark\.driver_gone"):
        query.poll()


# -- the end --------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", State)
def test_a_connector_can_be_closed_in_any_state(state: State) -> None:
    query = IN_STATE[state]()
    query.happened()
    query.engine.close()
    assert query.engine.state is State.ENDED
    happened = query.happened()
    assert ("drop" in happened) is (state not in (State.STARTING, State.ENDED))
    assert happened.index("close") == len(happened) - 1 - ("drop" in happened)
    query.engine.close()
    assert query.happened() == ["close"]


def test_streams_and_snapshots_are_closed_before_the_source() -> None:
    query = blocked()
    query.happened()
    query.engine.close()
    assert query.happened() == ["close stream", "close snapshot", "close", "drop"]


# -- bounded runs ---------------------------------------------------------------------------------


def test_a_bounded_run_looks_for_its_end_once() -> None:
    query = streaming()
    query.engine.bounded()
    query.source.lines = 2
    for _ in range(4):
        query.poll()
    assert query.happened().count("look for the end") == 1


def test_a_bounded_run_ends_although_more_and_more_is_written() -> None:
    query = streaming()
    query.engine.bounded()
    query.source.lines = 2
    assert query.poll().position == Line(1)
    query.source.lines = 9
    assert [query.poll().position for _ in range(3)] == [Line(2)] * 3


def test_a_bounded_run_applies_signals_to_their_end() -> None:
    query = streaming()
    query.engine.bounded()
    running = SignalProgress(tables=(Pending("t", "id"),))
    ended = SignalProgress(file=1)
    query.source.lines, query.source.signals = 1, {1: running, 2: running, 3: ended}
    assert query.poll().position == Line(1)
    query.source.lines = 9
    assert [query.poll().position for _ in range(5)] == [
        Line(2),
        Line(3),
        Line(4),
        Line(4),
        Line(4),
    ]


def test_a_bounded_run_ends_inside_of_no_transaction() -> None:
    query = streaming()
    query.engine.bounded()
    stored = query.source.read_offset(query.offsets[-1])
    query.offsets.append(replace(stored, position=Line(0, transaction=3)).to_json())
    query.source.lines = 1
    assert query.poll().position == Line(1)
    assert query.poll().position == Line(1)


def test_no_heartbeat_follows_the_end_of_a_bounded_run() -> None:
    query = streaming(heartbeats=Heartbeats(0))
    query.engine.bounded()
    query.source.lines = 1
    assert query.poll().heartbeat == 1
    assert query.poll().heartbeat == 1
    assert len(query.offsets) == 3


def test_a_bounded_run_has_heartbeats_when_they_are_due_only() -> None:
    clock = Clock()
    query = streaming(heartbeats=Heartbeats(10, None, clock))
    query.engine.bounded()
    query.source.lines = 3
    assert query.poll().heartbeat == 0
    clock.now = 10
    assert query.poll().heartbeat == 1
    assert query.poll().heartbeat == 1


# -- heartbeats -----------------------------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_heartbeat_comes_when_it_is_due() -> None:
    clock = Clock()
    beats: list[float] = []
    query = streaming(heartbeats=Heartbeats(10, lambda: beats.append(clock.now), clock))
    assert query.poll().heartbeat == 0
    assert query.source.waits[-1] == (0.01, False)
    clock.now = 9.996
    query.poll()
    assert query.source.waits[-1] == (pytest.approx(0.004), True)
    assert beats == []
    clock.now = 10
    assert query.poll().heartbeat == 1
    assert query.sliced() == ["heartbeat"]
    query.source.lines = 1
    clock.now = 20
    assert query.poll().heartbeat == 2
    assert query.sliced() == ["line 0 to line 1", "heartbeat"]
    assert beats == [10, 20]


def test_a_heartbeat_follows_a_snapshot() -> None:
    query = snapshotting(heartbeats=Heartbeats(1000))
    while (end := query.poll()).snapshot is not None:
        assert end.heartbeat == 0
    assert end.heartbeat == 1
    assert query.sliced() == ["heartbeat"]


def test_no_heartbeat_follows_a_snapshot_where_debezium_has_none() -> None:
    query = snapshotting(heartbeats=Heartbeats(1000))
    query.source.beats_after_snapshots = False
    while (end := query.poll()).snapshot is not None:
        pass
    assert end.heartbeat == 0
    assert query.sliced() == []


def test_an_error_of_the_heartbeats_query_is_tried_again() -> None:
    errors: Iterator[Exception] = iter(retriable())

    def execute() -> None:
        for error in errors:
            raise error

    query = streaming(heartbeats=Heartbeats(0, execute))
    assert query.poll().heartbeat == 1


# -- acknowledgements, positions, metrics ---------------------------------------------------------


def test_the_stream_acknowledges_what_the_checkpoint_holds() -> None:
    query = streaming()
    first = query.offsets[-1]
    query.engine.acknowledge(first)  # no stream is open
    query.source.lines = 2
    query.poll()
    stream = query.source.opened[-1]
    query.engine.acknowledge(INITIAL)
    query.engine.acknowledge({**query.offsets[-1], "epoch": 2})
    assert stream.acknowledged == []
    query.engine.acknowledge(query.offsets[-1])
    assert stream.acknowledged == [1]


def test_the_head_of_the_log_and_the_metrics() -> None:
    query = streaming()
    query.source.lines = 9
    assert query.engine.latest()["committed"] == 0
    assert query.engine.metrics() == {"streaming": False}
    query.poll()
    assert query.engine.latest()["committed"] == 9
    assert query.engine.metrics() == {"streaming": True}


def test_an_engine_is_a_connector() -> None:
    connector: Connector = streaming().engine
    assert connector.slices(INITIAL, INITIAL) == []
