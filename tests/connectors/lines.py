"""A database that exists only here, to see what the engine does with one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, cast

from headrace.connect.rows import Sequences
from headrace.connect.slices import Slice
from headrace.connectors.engine import Engine, EngineOptions
from headrace.connectors.heartbeats import Heartbeats, HeartbeatSlice
from headrace.connectors.source import Lost
from headrace.connectors.states import Event, State
from headrace.connectors.waiting import Waiting
from headrace.errors import HeadraceError
from headrace.offsets.offset import Offset, OffsetObject
from headrace.offsets.position import PlacePosition
from headrace.offsets.snapshot_progress import SnapshotProgress
from headrace.signals.progress import Pending, SignalProgress
from headrace.streaming.receiver import StreamState

CHUNKS = 3  # ranges of a snapshot
EVERYWHERE = {Event.INTERRUPTED, Event.POSITION_UNKNOWN, Event.CLOSED}


class Line(PlacePosition):
    """A position: the number of lines delivered."""

    def __str__(self) -> str:
        return f"line {self.committed}"


LineOffset = Offset[Line]
INITIAL = {"v": 1, "server": "lines"}


def progress(chunk: int, *, blocking: bool = False) -> SnapshotProgress:
    after = {"leaf": 0, "lower": None, "ordinal": chunk}
    tables = tuple([number, "", f"t{number}", "key", [], False] for number in range(CHUNKS))
    return SnapshotProgress(
        0, None, "", chunk, after, (), tables, done=chunk == CHUNKS, blocking=blocking
    )


class DriverError(Exception):
    """An error of the driver."""


class SliceOf(str):
    """A slice, by what it is of."""

    @property
    def sequences(self) -> Sequences:
        return Sequences(1)

    log_bytes = 0

    def read(self) -> Any:
        raise AssertionError


def slices(text: str) -> list[Slice]:
    return [cast(Slice, SliceOf(text))]


class LineSnapshot:
    def __init__(self, source: LineSource) -> None:
        self.source = source
        self.blocking: bool | None = None
        source.knows_tables = True
        source.log("open snapshot")

    def poll(self, after: LineOffset) -> LineOffset:
        self.source.fail("chunk")
        assert after.snapshot is not None
        assert self.blocking in (None, after.snapshot.blocking), "it is a snapshot of another kind"
        self.blocking = after.snapshot.blocking
        if after.snapshot.done:
            return after.after_snapshot()
        blocking = after.snapshot.blocking
        return replace(after, snapshot=progress(after.snapshot.table + 1, blocking=blocking))

    def begin_blocking(self, start: LineOffset, tables: Sequence[Pending]) -> LineOffset:
        assert self.blocking is None, "it is a snapshot of another kind"
        self.source.fail("block")
        self.source.log(f"block for {', '.join(table.name for table in tables)}")
        assert start.signals is not None
        signals = replace(start.signals, blocking=())
        return replace(start, snapshot=progress(0, blocking=True), signals=signals)

    def resumed(self, progress: SnapshotProgress) -> object:
        self.source.fail("resume")
        return progress

    def slices(self, start: LineOffset, end: LineOffset) -> list[Slice]:
        self.source.fail("slices")
        return slices("chunks")

    def close(self) -> None:
        self.source.log("close snapshot")


class LineStream:
    def __init__(self, source: LineSource, start: LineOffset) -> None:
        self.source, self.start = source, start
        self.acknowledged: list[int] = []
        source.log(f"open stream at {start.position}")

    def poll(
        self, after: LineOffset, seconds: float, target: int | None, *, moves: bool = False
    ) -> LineOffset:
        self.source.fail("poll")
        self.source.waits.append((seconds, moves))
        lines = self.source.lines
        if lines <= after.position.committed:
            return after
        end = after.at(Line(min(lines, after.position.committed + 1)))
        signals = self.source.signals.pop(end.position.committed, None)
        return replace(end, signals=signals)

    def slices(self, start: LineOffset, end: LineOffset) -> list[Slice]:
        self.source.fail("slices")
        return slices(f"{start.position} to {end.position}")

    def acknowledge(self, place: int) -> None:
        self.acknowledged.append(place)

    def head(self) -> int:
        return self.source.lines

    def has_read(self, place: int) -> bool:
        return self.head() >= place

    def state(self) -> StreamState:
        return StreamState(True, 0, 0, 0, None)

    def close(self) -> None:
        self.source.log("close stream")


@dataclass(frozen=True)
class LineAnswers:
    source: LineSource

    def means_loss(self, error: HeadraceError) -> bool:
        return error.code == "lines.lost"

    def follow(self, after: LineOffset) -> LineOffset:
        return replace(after.at(Line(self.source.lines)), epoch=after.epoch + 1)

    def make_room(self, lost: Lost) -> None:
        self.source.log("make room")

    def keep(self, lost: Lost) -> None:
        self.source.log("keep lost")


class LineMetrics:
    """Writes its calls into the log of the source."""

    def __init__(self, source: LineSource) -> None:
        self.source = source
        self.snapshot = self

    def watch(self) -> None:
        pass

    def planned(self, before: SnapshotProgress, end: LineOffset) -> None:
        self.source.log(f"planned {before.table}")

    def skipped(self) -> None:
        self.source.log("streams")

    def aborted(self) -> None:
        self.source.log("aborted")

    def to_json(self, stream: StreamState | None) -> Mapping[str, Any]:
        return {"streaming": stream is not None}


@dataclass
class LineSource:
    """`lines` are in the log. `errors`: by what is done, raised when it is done the next times.
    `lost` is what `check` says."""

    snapshots: bool = True
    streams: bool = True
    snapshots_every_start: bool = False
    beats_after_snapshots: bool = True
    lines: int = 0
    signals: dict[int, SignalProgress] = field(default_factory=dict)
    errors: dict[str, list[Exception]] = field(default_factory=dict)
    lost: list[Lost] = field(default_factory=list)
    happened: list[str] = field(default_factory=list)
    waits: list[tuple[float, bool]] = field(default_factory=list)
    is_known: bool = False
    knows_tables: bool = False
    server: str = "lines"
    position_type: type[Line] = Line
    heartbeat_action: None = None
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.metrics = LineMetrics(self)
        self.opened: list[LineStream] = []

    def log(self, event: str) -> None:
        self.happened.append(event)

    def fail(self, action: str) -> None:
        if self.errors.get(action):
            raise self.errors[action].pop(0)

    def read_offset(self, data: OffsetObject) -> LineOffset:
        return Offset.from_json(data, "lines", Line.from_json)

    def offset_at(self, place: int) -> LineOffset:
        return LineOffset("lines", Line(place), 1)

    def validate(self, stored: LineOffset | None) -> None:
        self.fail("validate")
        self.log(f"validate {stored and stored.position}")

    def begin(self, epoch: int) -> tuple[LineOffset, LineSnapshot | None]:
        self.fail("begin")
        self.log(f"begin {epoch}")
        self.is_known = True
        start = LineOffset("lines", Line(), epoch)
        if not self.snapshots:
            return start, None
        return replace(start, snapshot=progress(0)), LineSnapshot(self)

    def begin_at(self, after: LineOffset) -> tuple[LineOffset, LineSnapshot]:
        self.fail("begin")
        self.log(f"begin at {after.position}")
        start = replace(after, epoch=after.epoch + 1, snapshot=progress(0))
        return start, LineSnapshot(self)

    def check(self, stored: LineOffset, snapshot: object) -> Lost | None:
        if self.is_known:
            return None
        self.fail("check")
        self.log(f"check {stored.position}")
        if snapshot is not None:
            assert stored.snapshot is not None
            cast(LineSnapshot, snapshot).resumed(stored.snapshot)
        if self.lost:
            return self.lost.pop(0)
        self.is_known = True
        return None

    @property
    def lost_log(self) -> LineAnswers:
        return LineAnswers(self)

    def give_up_snapshot(self) -> None:
        self.log("make room")

    def snapshot(self) -> LineSnapshot:
        return LineSnapshot(self)

    def stream(self, start: LineOffset, *, greets: bool) -> LineStream:
        self.fail("stream")
        stream = LineStream(self, start)
        self.opened.append(stream)
        if greets:
            self.log("greets")
        return stream

    def log_end(self) -> int:
        self.log("look for the end")
        return self.lines

    def ends_snapshot(self, error: HeadraceError) -> bool:
        return error.code == "lines.locked"

    def translate(self, error: Exception) -> HeadraceError | None:
        if not isinstance(error, DriverError):
            return None
        return HeadraceError("lines.driver", str(error), "Repair it.", retriable=True)

    def forget_position(self) -> None:
        self.is_known = False

    def forget_tables(self) -> None:
        self.knows_tables = False

    def disconnect(self) -> None:
        self.log("disconnect")

    def close(self) -> None:
        self.log("close")

    def drop(self) -> None:
        self.log("drop")


class Query:
    """Spark's side: asks for ranges and plans them."""

    def __init__(
        self, source: LineSource, *, heartbeats: Heartbeats | None = None, **options: float
    ) -> None:
        self.source = source
        self.is_orphaned = False
        self.heartbeats = heartbeats
        self.options = EngineOptions(
            int(options.get("max_retries", -1)),
            options.get("retry_seconds", 0),
            options.get("streaming_delay_seconds", 0),
            "heartbeats",
        )
        self.offsets: list[OffsetObject] = [INITIAL]
        self.open()

    def open(self) -> None:
        """Another process."""
        self.source.is_known = False
        waiting = Waiting(lambda: self.is_orphaned)
        self.engine = Engine(self.source, self.options, waiting, self.heartbeats)

    def poll(self) -> LineOffset:
        end = self.engine.poll(self.offsets[-1], timedelta(milliseconds=10))
        if end != self.offsets[-1]:
            self.offsets.append(end)
        return self.source.read_offset(end)

    def polls(self, *states: State) -> None:
        """Makes as many polls as there are states, each of which leads to its state."""
        reached = []
        for _ in states:
            self.poll()
            reached.append(self.engine.state)
        assert reached == list(states)

    def sliced(self) -> list[str]:
        planned_slices = self.engine.slices(self.offsets[-2], self.offsets[-1])
        return ["heartbeat" if isinstance(s, HeartbeatSlice) else str(s) for s in planned_slices]

    def happened(self) -> list[str]:
        log_entries, self.source.happened = self.source.happened, []
        return log_entries


def retriable(code: str = "lines.away", times: int = 1) -> list[Exception]:
    return [HeadraceError(code, "away", "Wait.", retriable=True) for _ in range(times)]


def fatal(code: str = "lines.broken") -> list[Exception]:
    return [HeadraceError(code, "broken", "Repair it.")]


def lost(*, is_followed: bool = False) -> Lost:
    return Lost(HeadraceError("lines.lost", "lost", "Begin again."), is_followed)


def streaming(**options: Any) -> Query:
    """A query that reads the log; its snapshot was left out."""
    query = Query(LineSource(snapshots=False), **options)
    query.polls(State.STREAMING)
    query.happened()
    return query


def snapshotting(**options: Any) -> Query:
    query = Query(LineSource(), **options)
    query.polls(State.SNAPSHOTTING, State.SNAPSHOTTING)
    query.happened()
    return query


def waiting() -> Query:
    query = snapshotting(streaming_delay_seconds=600)
    while query.engine.state is State.SNAPSHOTTING:
        query.poll()
    return query


def blocked() -> Query:
    query = streaming()
    query.source.lines = 1
    query.source.signals[1] = SignalProgress(blocking=(Pending("t", "id"),))
    query.polls(State.STREAMING, State.BLOCKED)
    return query


def ended() -> Query:
    query = Query(LineSource(streams=False))
    while query.engine.state is not State.ENDED:
        query.poll()
    return query


def starting() -> Query:
    query = streaming()
    query.open()
    return query


IN_STATE: dict[State, Callable[[], Query]] = {
    State.STARTING: starting,
    State.SNAPSHOTTING: snapshotting,
    State.WAITING_TO_STREAM: waiting,
    State.STREAMING: streaming,
    State.BLOCKED: blocked,
    State.ENDED: ended,
}
