"""The engine of a connector: its states, retries, heartbeats and bounded runs, whatever the
database. docs/architecture.md shows states and transitions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Generic, TypeVar

from headrace.config.properties.connector import ConnectorConfig
from headrace.connect.deadline import Deadline
from headrace.connect.slices import Plan, Slice
from headrace.connectors.heartbeats import Heartbeats, heartbeat_slice
from headrace.connectors.naming import topic_names
from headrace.connectors.source import Lost, LostLog, OpenSnapshot, OpenStream, Source
from headrace.connectors.states import TRANSITIONS, Event, Situation, State, Watcher
from headrace.connectors.waiting import DRIVER_GONE, Waiting
from headrace.errors import HeadraceError
from headrace.offsets.offset import Offset, OffsetObject, OffsetSummary, P
from headrace.signals.progress import SignalProgress, go_on
from headrace.snapshots.modes import SnapshotRule
from headrace.snapshots.planner import AttemptOver, asked_again
from headrace.streaming.catch_up import CatchUp
from headrace.streaming.changes.key_columns import spreads_keys

log = logging.getLogger(__name__)

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class EngineOptions:
    """`max_retries`: consecutive retries of retriable errors (errors.max.retries; -1: unlimited),
    each after `retry_seconds` (retriable.restart.connector.wait.ms). `streaming_delay_seconds`: the
    wait between snapshot and log (streaming.delay.ms); `snapshot_delay_seconds`: that before a
    snapshot (snapshot.delay.ms). `heartbeat_topic`: the topic of heartbeats."""

    max_retries: int
    retry_seconds: float
    streaming_delay_seconds: float
    heartbeat_topic: str
    snapshot_delay_seconds: float = 0.0

    @staticmethod
    def of(config: ConnectorConfig) -> EngineOptions:
        """Return the options of a configuration."""
        reads_rows = SnapshotRule.of(config).at_first
        return EngineOptions(
            max_retries=config.errors_max_retries,
            retry_seconds=config.retriable_restart_connector_wait_ms / 1000,
            streaming_delay_seconds=config.streaming_delay_ms / 1000,
            heartbeat_topic=topic_names(config).heartbeats,
            snapshot_delay_seconds=config.snapshot_delay_ms / 1000 if reads_rows else 0,
        )


class Engine(Generic[P]):
    """A connector over a source; see headrace.connectors.connector.Connector.

    Each state has a step, which returns the end of the next range, or changes the state and leaves
    the rest to the next step.
    """

    def __init__(
        self,
        source: Source[P],
        options: EngineOptions,
        waiting: Waiting,
        heartbeats: Heartbeats | None,
    ) -> None:
        for attribute in ("server", "position_type", "metrics"):
            if not hasattr(source, attribute):
                raise TypeError(f"{type(source).__name__} must have an attribute {attribute}")
        self.state = State.STARTING
        self._source, self._options = source, options
        self._waiting, self._heartbeats = waiting, heartbeats
        self._metrics = source.metrics
        self._snapshot: OpenSnapshot[P] | None = None
        self._stream: OpenStream[P] | None = None
        self._catch_up = CatchUp()
        self._delay = Deadline(0)
        self._greets = True
        self._retries = 0
        self._trouble: HeadraceError | None = None
        self._watcher: Watcher = lambda _situation: None
        self._warnings: tuple[str, ...] = ()
        self._waiting.watcher = self._report
        self._bounded = False
        self._target: int | None = None
        self._steps: Mapping[State, Callable[[Offset[P], float], Offset[P] | None]] = {
            State.STARTING: self._start,
            State.SNAPSHOTTING: self._read_rows,
            State.WAITING_TO_STREAM: self._wait_to_stream,
            State.STREAMING: self._read_log,
            State.BLOCKED: self._read_rows,
            State.ENDED: lambda after, _seconds: after,
        }

    # -- the contract ---------------------------------------------------------------------------

    def validate(self, stored: OffsetObject | None) -> None:
        """See the contract."""
        try:
            self._source.validate(None if stored is None else self._source.read_offset(stored))
        except Exception as error:
            translated = self._source.translate(error)
            if translated is None:
                raise
            raise translated from None

    def poll(self, after: OffsetObject, wait: timedelta) -> OffsetObject:
        """Return the end of the next range; see the contract. Retriable errors are retried; then
        the call takes longer than `wait`."""
        offset = self._source.read_offset(after)
        end = self._retried(lambda: self._next(offset, wait.total_seconds()))
        return after if end == offset else end.to_json()

    def slices(self, start: OffsetObject, end: OffsetObject) -> list[Slice]:
        """Return the slices of (start, end]; retries like `poll`."""
        first, last = self._source.read_offset(start), self._source.read_offset(end)
        return self._retried(lambda: self._slices(first, last))

    def summary(self, offset: OffsetObject) -> OffsetSummary:
        """See the contract."""
        return self._source.read_offset(offset).summary

    def bounded(self) -> None:
        """See the contract."""
        self._bounded = True

    def latest(self) -> OffsetObject:
        """Return the end of the log as last reported; its beginning before streaming."""
        return self._source.offset_at(self._stream.head() if self._stream else 0).to_json()

    def acknowledge(self, offset: OffsetObject) -> None:
        """Acknowledge `offset` to the database, if a stream is open (Invariant 1)."""
        finished = self._source.read_offset(offset)
        stream = self._stream
        if stream is not None and not finished.is_initial and finished.epoch == stream.start.epoch:
            stream.acknowledge(finished.position.committed)

    def metrics(self) -> Mapping[str, Any]:
        """See the contract."""
        return self._metrics.to_json(None if self._stream is None else self._stream.state())

    def watch(self, watcher: Watcher) -> None:
        """See the contract."""
        self._watcher = watcher
        self._report()

    def close(self) -> None:
        """Close everything, in whatever state; never raises. Only an orderly stop gives up the
        position in the log: after an error or a crash it is still needed."""
        is_orderly = self.state not in (State.STARTING, State.ENDED)
        self._take(Event.CLOSED)
        self._close_snapshot()
        self._source.close()
        if is_orderly:
            self._source.drop()

    # -- states ---------------------------------------------------------------------------------

    def _take(self, event: Event) -> None:
        """Change the state (only here). Raises KeyError for an event that cannot occur in it."""
        before, self.state = self.state, TRANSITIONS[self.state][event]
        if before is not self.state:
            self._report()
        if event in (Event.POSITION_UNKNOWN, Event.INTERRUPTED, Event.CLOSED):
            self._close_stream()
        if event is Event.POSITION_UNKNOWN:
            self._close_snapshot()
            self._source.forget_position()
        if self.state is State.STREAMING:
            self._metrics.snapshot.skipped()

    def _next(self, after: Offset[P], seconds: float) -> Offset[P]:
        self._waiting.check()
        if tuple(self._source.warnings) != self._warnings:
            self._report()
        if after.is_initial:
            self._take(Event.POSITION_UNKNOWN)
            return self._begin(1)
        if after.is_old:
            self._close_stream()  # it acknowledges positions of its own epoch only
            return after.upgraded()
        if self.state is not State.STARTING:
            self._go_back(after)
        while True:
            try:
                end = self._steps[self.state](after, seconds)
            except AttemptOver:
                end = self._give_up(after)
            if end is not None:
                return end

    def _go_back(self, after: Offset[P]) -> None:
        """Go back to the snapshot of `after` if `poll` was called again with an offset inside of a
        snapshot that was left; another open snapshot is closed."""
        if after.snapshot is None:
            return
        if self.state is not (State.BLOCKED if after.snapshot.blocking else State.SNAPSHOTTING):
            self._close_snapshot()
            self._resume(after)

    def _resume(self, after: Offset[P]) -> None:
        assert after.snapshot is not None
        blocks = after.snapshot.blocking
        self._take(Event.BLOCKING_RESUMED if blocks else Event.SNAPSHOT_RESUMED)

    def _start(self, after: Offset[P], _seconds: float = 0) -> Offset[P] | None:
        """Continue at `after`; start again if snapshot.mode asks for that at every start; or repair
        the position if the log from `after` on is gone. Runs once per process."""
        source = self._source
        lost = source.check(after, None if after.snapshot is None else self._opened_snapshot())
        if lost is not None:
            return self._repair(after, lost)
        if after.snapshot is not None:
            self._resume(after)
            return None
        self._close_snapshot()  # open if `follow` left an offset inside of it
        if not source.snapshots_every_start:
            self._take(Event.POSITION_FOUND if source.streams else Event.NOTHING_LEFT)
            return None
        self._close_stream()
        if source.streams:
            return self._begun(lambda: source.begin_at(after))
        return self._begin(after.epoch + 1)

    def _repair(self, after: Offset[P], lost: Lost) -> Offset[P]:
        """Follow the database's position, or begin a new snapshot."""
        self._close_stream()
        if lost.is_followed:
            log.warning("%s; continuing from there (offset.mismatch.strategy)", lost.error.message)
            return self._answers().follow(after)
        log.warning("%s; a new snapshot begins (snapshot.mode)", lost.error.message)
        self._close_snapshot()
        self._answers().make_room(lost)
        return replace(self._begin(after.epoch + 1), gap=True)

    def _answers(self) -> LostLog[P]:
        answers = self._source.lost_log
        assert answers is not None, "only a source that answers says that its log is lost"
        return answers

    def _begin(self, epoch: int) -> Offset[P]:
        return self._begun(lambda: self._source.begin(epoch))

    def _begun(self, begin: Callable[[], tuple[Offset[P], OpenSnapshot[P] | None]]) -> Offset[P]:
        """Close the open snapshot, which may hold locks and old rows in the database, and
        `begin`."""
        self._close_snapshot()
        self._waiting.pause(self._options.snapshot_delay_seconds)
        start, self._snapshot = begin()
        self._take(Event.POSITION_FOUND if self._snapshot is None else Event.SNAPSHOT_BEGUN)
        return start

    def _read_rows(self, after: Offset[P], _seconds: float) -> Offset[P] | None:
        """Return the end of the next chunks of a snapshot, blocking or not; None if it is over."""
        if after.snapshot is not None:
            self._metrics.watch()
            end = self._opened_snapshot().poll(after)
            self._metrics.planned(after.snapshot, end)
            is_over = end.snapshot is None
            return self._beat(end) if is_over and self._source.beats_after_snapshots else end
        self._close_snapshot()
        if not self._source.streams:
            self._take(Event.NOTHING_LEFT)
        elif self.state is State.BLOCKED:
            self._take(Event.BLOCKING_READ)
        else:
            self._delay = Deadline(self._options.streaming_delay_seconds)
            self._take(Event.SNAPSHOT_READ)
        return None

    def _give_up(self, after: Offset[P]) -> Offset[P]:
        """Give up a snapshot that cannot continue, so that it starts again."""
        assert after.snapshot is not None
        self._close_snapshot()
        if after.snapshot.blocking:
            if self.state is State.BLOCKED:
                self._take(Event.BLOCKING_READ if self._source.streams else Event.NOTHING_LEFT)
            return asked_again(after)  # the stream then begins it
        log.warning("the snapshot cannot continue with a later one: it starts again")
        self._take(Event.ATTEMPT_OVER)
        self._source.give_up_snapshot()
        return self._begin(after.epoch + 1)

    def _wait_to_stream(self, after: Offset[P], seconds: float) -> Offset[P] | None:
        """Wait for streaming.delay.ms, but no longer than a poll may."""
        rest = self._delay.remaining()
        self._waiting.pause(rest if self._bounded else min(rest, seconds))
        if not self._delay.is_over:
            return after
        self._take(Event.DELAY_OVER)
        return None

    def _read_log(self, after: Offset[P], seconds: float) -> Offset[P]:
        self._close_snapshot()  # open if one of its ranges was planned again
        signals = after.signals
        if signals is not None and signals.blocking and after.position.transaction is None:
            log.info("the stream waits for a blocking snapshot")
            return self._block(after, signals)
        self._metrics.watch()
        try:
            return self._next_range(after, seconds)
        except HeadraceError as error:
            answers = self._source.lost_log
            if answers is None or not answers.means_loss(error):
                raise
            self._take(Event.POSITION_UNKNOWN)
            repaired = self._start(after)
            if repaired is None:
                raise
            return repaired

    def _block(self, after: Offset[P], signals: SignalProgress) -> Offset[P]:
        """Begin a blocking snapshot, or give it up if it cannot begin: the checkpoint holds the
        request, so its error would come again with every start."""
        try:
            begun = self._opened_snapshot().begin_blocking(after, signals.blocking)
        except Exception as error:
            failure = error if isinstance(error, HeadraceError) else self._source.translate(error)
            if failure is not None and (failure.retriable or failure.code == DRIVER_GONE):
                raise
            names = ", ".join(table.name for table in signals.blocking)
            log.error(
                "the blocking snapshot of %s is given up: %s",
                names,
                failure or error,
                exc_info=failure is None,
            )
            self._close_snapshot()
            given_up = replace(signals.after_range(), blocking=(), xid=None)
            return replace(after, signals=given_up, slices=1)
        self._take(Event.BLOCKING_ASKED)
        return begun

    def _next_range(self, after: Offset[P], seconds: float) -> Offset[P]:
        stream = self._opened_stream(after)
        if self._bounded:
            end = self._next_bounded(stream, after, seconds)
            # Nothing new ends a bounded run: then no heartbeat may follow either.
            return end if end == after or not self._beats() else self._beat(end)
        due = float("inf") if self._heartbeats is None else self._heartbeats.remaining()
        self._catch_up.look(stream, self._source.log_end)
        end = stream.poll(after, min(seconds, due), None, moves=due <= seconds)
        if self._catch_up.ends(is_empty=end == after):
            self._report()
        return self._beat(end) if self._beats() else end

    def _next_bounded(self, stream: OpenStream[P], after: Offset[P], seconds: float) -> Offset[P]:
        """Return the end of the next range, or `after` if the position has reached the end that the
        log had at the first call, unless signals are being applied."""
        if self._target is None:
            self._target = self._source.log_end()
        end = stream.poll(after, seconds, self._target)
        position = after.position
        is_at_target = position.transaction is None and position.committed >= self._target
        return end if not is_at_target or go_on(after.signals, end.signals) else after

    def _beats(self) -> bool:
        return self._heartbeats is not None and self._heartbeats.remaining() == 0

    def _beat(self, end: Offset[P]) -> Offset[P]:
        return end if self._heartbeats is None else self._heartbeats.beat(end)

    # -- snapshot and stream --------------------------------------------------------------------

    def _opened_snapshot(self) -> OpenSnapshot[P]:
        if self._snapshot is None:
            self._snapshot = self._source.snapshot()
        return self._snapshot

    def _close_snapshot(self) -> None:
        if self._snapshot is not None:
            self._greets = False
            self._source.forget_tables()  # the log continues from an earlier time
            snapshot, self._snapshot = self._snapshot, None
            snapshot.close()

    def _opened_stream(self, start: Offset[P]) -> OpenStream[P]:
        if self._stream is None:
            self._stream = self._source.stream(start, greets=self._greets)
            self._greets = False
        return self._stream

    def _close_stream(self) -> None:
        if self._stream is not None:
            stream, self._stream, self._catch_up = self._stream, None, CatchUp()
            stream.close()
        self._source.forget_tables()

    def _slices(self, start: Offset[P], end: Offset[P]) -> list[Slice]:
        """Plan in any state: Spark plans a range again that was planned before a restart."""
        if end.is_initial or start.is_initial or end.epoch != start.epoch:
            return []
        if end.snapshot is not None:
            return [] if self._is_left_out(start) else self._opened_snapshot().slices(start, end)
        slices: list[Slice] = []
        unmoved = replace(end, snapshot=start.snapshot, consistent=start.consistent)
        if not start.same_position(unmoved):
            if self._is_left_out(start):
                return []
            slices += self._opened_stream(start).slices(start, end)
        if end.heartbeat > start.heartbeat:
            slices.append(heartbeat_slice(end, self._options.heartbeat_topic))
        return slices

    def _is_left_out(self, start: Offset[P]) -> bool:
        """Whether a range that was planned before a restart cannot be read any more, so that the
        next one starts from the beginning."""
        lost = self._source.check(start, None)
        if lost is None:
            return False
        if lost.is_followed:
            log.warning("%s; what the database still holds is read", lost.error.message)
            return False
        self._answers().keep(lost)
        log.warning("%s; the new snapshot replaces the last planned range", lost.error.message)
        return True

    # -- errors ---------------------------------------------------------------------------------

    def _retried(self, action: Callable[[], _Result]) -> _Result:
        """Run `action`, and again after each retriable error."""
        pause = 0.0
        while True:
            try:
                self._waiting.pause(pause)
                result = action()
            except Exception as error:
                translated = (
                    error if isinstance(error, HeadraceError) else self._source.translate(error)
                )
                if translated is None:
                    raise
                pause = self._recovered(translated)
            else:
                if self._trouble is not None:
                    log.warning("the work continues, at attempt %d", self._retries + 1)
                    self._trouble = None
                    self._report()
                self._retries = 0
                return result

    def _recovered(self, error: HeadraceError) -> float:
        """Prepare a retry; return the seconds until then. Raises `error` if none is possible."""
        source, limit = self._source, self._options.max_retries
        if not error.retriable or 0 <= limit <= self._retries:
            self._metrics.snapshot.aborted()
            self._take(Event.POSITION_UNKNOWN)
            source.disconnect()
            if error.code == DRIVER_GONE:
                self.close()
            raise error from None
        self._retries += 1
        log.warning("%s; trying again (%d)", str(error).rstrip("."), self._retries)
        self._take(Event.INTERRUPTED)
        self._trouble = error
        self._report()
        source.disconnect()
        if source.ends_snapshot(error):
            self._close_snapshot()
        return self._options.retry_seconds

    def _report(self) -> None:
        seconds = self._options.retry_seconds if self._trouble else 0
        with self._waiting.lock:
            self._warnings = tuple(self._source.warnings)
            state, trouble, waits = self.state.value, self._trouble, self._waiting.reason
            catches_up = self.state is State.STREAMING and not self._catch_up.is_over
            self._watcher(
                Situation(state, trouble, self._retries, seconds, self._warnings, waits, catches_up)
            )


def _plan(config: ConnectorConfig, cores: int) -> Plan:
    """Return how to cut ranges: one slice if rows with different keys may get equal output keys."""
    order = str(config.headrace_slice_order)
    if order == "key" and not spreads_keys(config):
        return Plan(1, order)
    return Plan(config.headrace_slices or cores, order)


def open_engine(
    config: ConnectorConfig,
    open_source: Callable[[Plan, Waiting], Source[P]],
    *,
    cores: int,
    orphaned: Callable[[], bool],
) -> Engine[P]:
    """Return the connector of `config`; see ConnectorDefinition.open. `open_source` receives the
    plan that cuts ranges into slices, and the Waiting of this process."""
    waiting = Waiting(orphaned)
    plan = _plan(config, cores)
    source = open_source(plan, waiting)
    heartbeats = Heartbeats.of(config, source.heartbeat_action)
    return Engine(source, EngineOptions.of(config), waiting, heartbeats)
