"""Any order of calls has one snapshot at a time, errors with a code, and an end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headrace.connectors.states import State
from headrace.errors import HeadraceError
from headrace.signals.progress import Pending, SignalProgress
from headrace.snapshots.planner import AttemptOver
from tests.connectors.lines import (
    CHUNKS,
    INITIAL,
    DriverError,
    LineSource,
    Query,
    fatal,
    lost,
    retriable,
    snapshotting,
)
from tests.examples import examples

ENOUGH = 4 * CHUNKS + 40  # polls that end every snapshot and read every line
ERRORS: tuple[Callable[[], list[Exception]], ...] = (
    retriable,
    fatal,
    lambda: retriable("lines.locked"),
    lambda: fatal("lines.lost"),
    lambda: [DriverError("gone")],
)


class Random(Query):
    """A query with which anything is done, and the snapshots and streams that it has open."""

    def __init__(self, source: LineSource) -> None:
        self.epoch = 0
        super().__init__(source, max_retries=1)

    def open(self) -> None:
        """A process that was killed closes nothing."""
        self.source.happened.clear()
        self.is_bounded = False
        super().open()

    def count(self, resource: str) -> int:
        """The number of open snapshots or streams."""
        opened = sum(event.startswith(f"open {resource}") for event in self.source.happened)
        return opened - self.source.happened.count(f"close {resource}")

    def do(self, action: str, number: int) -> None:
        source, errors = self.source, self.source.errors
        match action:
            case "poll":
                self.poll()
            case "poll on":
                for _ in range(number):
                    self.poll()
            case "poll an earlier offset":
                del self.offsets[max(1, len(self.offsets) - number) :]
                self.poll()
            case "plan":
                if len(self.offsets) > 1:
                    self.sliced()
            case "restart":
                self.engine.close()
                assert (self.count("snapshot"), self.count("stream")) == (0, 0)
                self.open()
            case "kill":
                self.open()
            case "write":
                source.lines += number
            case "signal":
                source.lines += 1
                source.signals[source.lines] = SignalProgress(blocking=(Pending("t", "id"),))
            case "lose":
                source.lost = [lost(is_followed=number % 2 == 0)]
            case "snapshot at every start":
                source.snapshots_every_start = number % 2 == 0
            case "give up":
                errors["resume" if number % 2 else "chunk"] = [AttemptOver()]
            case "bounded":
                self.engine.bounded()
                self.is_bounded = True
            case _:
                errors[action] = ERRORS[number % len(ERRORS)]()

    def check(self) -> None:
        """Checks the invariants that hold after every step."""
        assert self.count("snapshot") in (0, 1)
        assert self.count("stream") in (0, 1)
        offsets = [self.source.read_offset(offset) for offset in self.offsets[1:]]
        for before, after in pairwise(offsets):
            assert after.epoch - before.epoch in (0, 1)
            if after.epoch == before.epoch:
                assert after.position.committed >= before.position.committed

    def finish(self) -> None:
        """Reads every row and every line, without further errors."""
        if self.is_bounded:
            self.open()
        self.source.errors.clear()
        self.source.lost.clear()
        self.source.snapshots_every_start = False
        for _ in range(ENOUGH):
            self.poll()
        if self.source.streams:
            assert self.engine.state is State.STREAMING
            assert self.poll().position.committed == self.source.lines
        else:
            assert self.engine.state is State.ENDED
        assert self.poll().snapshot is None
        assert self.count("snapshot") == 0


ACTIONS = (
    *("poll", "poll on", "poll an earlier offset", "plan", "restart", "kill", "write", "signal"),
    *("lose", "snapshot at every start", "give up", "bounded"),
    *("begin", "check", "chunk", "resume", "stream", "slices"),
)
_ACTION = st.tuples(st.sampled_from(ACTIONS), st.integers(0, 7))


@settings(max_examples=examples(300), deadline=None)
@given(st.booleans(), st.booleans(), st.lists(_ACTION, max_size=30))
@example(True, True, [("poll on", 2), ("chunk", 1), ("poll", 0), ("poll", 0)])
@example(True, True, [("poll on", 3), ("poll an earlier offset", 7), ("poll", 0)])
@example(False, False, [("poll", 0), ("restart", 0), ("lose", 0), ("poll", 0)])
def test_whatever_happens_one_snapshot_is_open_and_everything_is_read(
    snapshots: bool, streams: bool, actions: list[tuple[str, int]]
) -> None:
    query = Random(LineSource(snapshots=snapshots or not streams, streams=streams))
    for action, number in actions:
        with contextlib.suppress(HeadraceError):
            query.do(action, number)
        query.check()
    query.finish()


# -- what such orders showed ----------------------------------------------------------------------


def test_the_initial_offset_asked_again_leaves_no_snapshot_open() -> None:
    query = snapshotting()
    query.offsets = [INITIAL]
    query.poll()
    assert query.happened()[:3] == ["close snapshot", "begin 1", "open snapshot"]


def test_a_fatal_error_lets_the_snapshot_go() -> None:
    query = snapshotting()
    query.source.errors["chunk"] = fatal()
    with pytest.raises(HeadraceError, match=r"lines\.broken"):
        query.poll()
    assert "close snapshot" in query.happened()


def test_an_offset_of_the_first_snapshot_is_asked_for_while_a_blocking_one_is_read() -> None:
    query = snapshotting()
    inside = query.offsets[-1]
    query.source.lines = 1
    query.source.signals[1] = SignalProgress(blocking=(Pending("t", "id"),))
    while query.engine.state is not State.BLOCKED:
        query.poll()
    query.offsets.append(inside)
    query.source.errors["chunk"] = [AttemptOver()]
    end = query.poll()
    assert (query.engine.state, end.epoch) == (State.SNAPSHOTTING, 2)


def test_an_offset_of_a_blocking_snapshot_is_asked_for_while_the_first_one_is_read() -> None:
    query = snapshotting()
    first = query.offsets[-1]
    query.source.lines = 1
    query.source.signals[1] = SignalProgress(blocking=(Pending("t", "id"),))
    while query.engine.state is not State.BLOCKED:
        query.poll()
    blocking = query.offsets[-1]
    query.offsets.append(first)
    query.polls(State.SNAPSHOTTING)
    query.offsets.append(blocking)
    query.polls(State.BLOCKED)
