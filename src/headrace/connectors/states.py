"""The states of a connector, and the events that lead from one to another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from headrace.errors import HeadraceError


class State(Enum):
    """The state of a connector, which determines what the next `poll` does."""

    STARTING = "starting"
    """The stored position has not been checked against the database yet."""
    SNAPSHOTTING = "snapshotting"
    """Existing rows are read, and no log."""
    WAITING_TO_STREAM = "waiting to stream"
    """The rows are read, and `streaming.delay.ms` is not over."""
    STREAMING = "streaming"
    """The log is read."""
    BLOCKED = "blocked"
    """The log waits for a snapshot that a signal asked for."""
    ENDED = "ended"
    """The work is complete (only a snapshot was asked for), or the connector is closed."""


class Event(Enum):
    """An event that may change a connector's state."""

    POSITION_FOUND = "the position fits, or was made, and no rows are to be read before the log"
    SNAPSHOT_BEGUN = "a snapshot begins, for the first time or again"
    SNAPSHOT_RESUMED = "the stored offset is inside of a snapshot"
    BLOCKING_RESUMED = "the stored offset is inside of a blocking snapshot"
    SNAPSHOT_READ = "the offset is after the snapshot, and the log follows"
    DELAY_OVER = "streaming.delay.ms is over"
    BLOCKING_ASKED = "a signal asks for a blocking snapshot, and no transaction is open"
    BLOCKING_READ = "the offset is after the blocking snapshot, or it was given up"
    NOTHING_LEFT = "the offset is after the snapshot, and no log follows"
    ATTEMPT_OVER = "the snapshot was lost, and cannot continue with another one"
    INTERRUPTED = "an error that is tried again"
    POSITION_UNKNOWN = "an error that is not, a position that was lost, a checkpoint that is empty"
    CLOSED = "the connector is closed"


_ANYWHERE = {Event.POSITION_UNKNOWN: State.STARTING, Event.CLOSED: State.ENDED}
_SOMEWHERE = {
    State.STARTING: {
        Event.POSITION_FOUND: State.STREAMING,
        Event.SNAPSHOT_BEGUN: State.SNAPSHOTTING,
        Event.SNAPSHOT_RESUMED: State.SNAPSHOTTING,
        Event.BLOCKING_RESUMED: State.BLOCKED,
        Event.NOTHING_LEFT: State.ENDED,
        Event.ATTEMPT_OVER: State.STARTING,
    },
    State.SNAPSHOTTING: {
        Event.SNAPSHOT_READ: State.WAITING_TO_STREAM,
        Event.BLOCKING_RESUMED: State.BLOCKED,
        Event.NOTHING_LEFT: State.ENDED,
        Event.ATTEMPT_OVER: State.STARTING,
    },
    State.WAITING_TO_STREAM: {
        Event.DELAY_OVER: State.STREAMING,
        Event.SNAPSHOT_RESUMED: State.SNAPSHOTTING,
        Event.BLOCKING_RESUMED: State.BLOCKED,
    },
    State.STREAMING: {
        Event.BLOCKING_ASKED: State.BLOCKED,
        Event.SNAPSHOT_RESUMED: State.SNAPSHOTTING,
        Event.BLOCKING_RESUMED: State.BLOCKED,
    },
    State.BLOCKED: {
        Event.BLOCKING_READ: State.STREAMING,
        Event.SNAPSHOT_RESUMED: State.SNAPSHOTTING,
        Event.NOTHING_LEFT: State.ENDED,
    },
    State.ENDED: {
        Event.SNAPSHOT_RESUMED: State.SNAPSHOTTING,
        Event.BLOCKING_RESUMED: State.BLOCKED,
    },
}
TRANSITIONS: dict[State, dict[Event, State]] = {
    state: {**events, Event.INTERRUPTED: state, **_ANYWHERE} for state, events in _SOMEWHERE.items()
}
"""The state after each event, by the state before it; other events cannot occur.

SNAPSHOT_RESUMED and BLOCKING_RESUMED occur outside of STARTING if `poll` is called again with an
offset inside of a snapshot."""


@dataclass(frozen=True)
class Situation:
    """`state` is a value of State. `error` is the error after which the connector retries, for the
    `attempts`-th time in a row, `retry_seconds` after the last attempt; None: there is no error.
    `warnings` are for the operator while it continues. `waits` says in words what its work waits
    for (None: nothing). `is_catching_up`: it streams, and has not yet read the log up to the end
    that it had when the stream was opened."""

    state: str
    error: HeadraceError | None = None
    attempts: int = 0
    retry_seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    waits: str | None = None
    is_catching_up: bool = False


Watcher = Callable[[Situation], None]
"""A function that is called whenever the situation changes, by any thread; it must not raise."""
