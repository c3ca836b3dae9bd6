"""Keeps a streaming query running: restarts it after failures, stops it cleanly."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headrace.connect.deadline import Deadline
from headrace.connectors.states import State
from headrace.errors import HeadraceError
from headrace.spark.failures import essence, find_failure
from headrace.spark.progress import heartbeats, reads_rows, source_offset
from headrace.spark.query.status import has_begun, is_processing, source_state, waited_for
from headrace.spark.versions.reports import complete

_log = logging.getLogger(__name__)

_WATCH_S = 0.1
_STOP_WITHIN_S = 3.0
_UNKNOWN_RETRIES = 3
_LOST_PROCESS_WAIT_S = 1.0
_STARTS_WITHIN_S = 300.0


CaughtUp = Callable[[Mapping[str, Any], Mapping[str, Any]], bool]


class Reason(StrEnum):
    """The reason of a run's end without an error."""

    SIGNAL = "signal"
    SECONDS = "seconds"
    IDLE = "idle"
    FINISHED = "finished"
    UNREAD = "unread"


@dataclass
class Summary:
    """The result of a run: input rows of finished micro-batches (replays count again) and
    restarts."""

    reason: Reason = Reason.SIGNAL
    rows: int = 0
    batches: int = 0
    restarts: int = 0
    seconds: float = 0.0
    waited_for: str = ""
    """The activity of the source when a run without rows was stopped."""


@dataclass(frozen=True)
class RunLimits:
    """The limits of a run, and its retries.

    `max_retries` counts consecutive failures (-1: no limit), `retry_wait_ms` is the wait between
    attempts: Debezium's errors.max.retries and retriable.restart.connector.wait.ms. `idle_exit`
    stops a source that has caught up and returned no row except heartbeats for so many seconds;
    `seconds` stops it so long after the source has begun to work, see `_Countdown`. `caught_up`
    gets the head of a source's log and the end of its last range, both offsets, and returns whether
    no record is between them (None: only if they are equal). `is_unread` returns whether the output
    has no reader any more, which may be known before there is a row to write.
    """

    max_retries: int = -1
    retry_wait_ms: int = 10_000
    idle_exit: float | None = None
    seconds: float | None = None
    caught_up: CaughtUp | None = None
    is_unread: Callable[[], bool] = lambda: False


_IDLE_STATES = (State.STREAMING.value, State.ENDED.value, None)
"""States in which a source without new rows has delivered all; None: unknown."""


@dataclass
class _Watch:
    """Reports of the query, written by Spark's listener thread."""

    rows: int = 0
    batches: int = 0
    begun: int = 0
    """The number of micro-batches that had reported when the query started."""
    failures: int = 0
    awaited: int = 0
    """The number of the running micro-batch, which has not reported yet."""
    last_active: float = field(default_factory=time.monotonic)
    progress: dict[str, Any] | None = None
    said_idle: bool = False


class _Countdown:
    """The limit of seconds. It counts from the moment at which the source begins to read rows or
    the log, or reports why it cannot: the start of Spark and of the source does not count. A source
    that reports nothing for `_STARTS_WITHIN_S` counts as begun, so that every run with a limit
    ends."""

    def __init__(self, seconds: float | None) -> None:
        """`seconds` is the limit; None: no limit."""
        self._seconds = math.inf if seconds is None else seconds
        self.has_begun = seconds is None
        self._end = Deadline(_STARTS_WITHIN_S + self._seconds)

    def begin(self) -> None:
        """Start to count, unless it has already started."""
        if not self.has_begun:
            self.has_begun = True
            self._end = Deadline(self._seconds)

    @property
    def is_over(self) -> bool:
        """Whether the limit has passed."""
        return self._end.is_over

    def remaining(self) -> float:
        """Return the seconds until the limit."""
        return self._end.remaining()


class _Listener:
    """Spark's listener interface with the least traffic: one JSON text per micro-batch."""

    def __init__(
        self,
        watch: _Watch,
        on_progress: Callable[[dict[str, Any]], None] | None,
        rows_of: Callable[[Mapping[str, Any]], int],
        query: Callable[[], StreamingQuery | None],
        on_idle: Callable[[], None] = lambda: None,
    ) -> None:
        self._watch = watch
        self._query = query
        self._on_progress, self._on_idle = on_progress, on_idle
        self._rows_of = rows_of

    def onQueryStarted(self, _event: Any) -> None:
        pass

    def onQueryProgress(self, event: Any) -> None:
        progress = json.loads(event.progress().json())
        complete(progress, self._query())
        watch = self._watch
        watch.batches += 1
        rows = self._rows_of(progress)
        if rows:
            watch.rows += rows
            watch.failures = 0
            if rows > heartbeats(progress):
                watch.last_active = time.monotonic()
        watch.progress = progress
        watch.said_idle = False
        if self._on_progress is not None:
            self._on_progress(progress)

    def onQueryIdle(self, _event: Any) -> None:
        if self._watch.progress is None and not self._watch.said_idle:
            # Before this event the source had not polled for data yet.
            self._watch.last_active = time.monotonic()
        self._watch.said_idle = True
        self._watch.failures = 0
        self._on_idle()

    def onQueryTerminated(self, _event: Any) -> None:
        pass

    class Java:
        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)


class Supervisor:
    """Runs the query that `start` starts until `stop` or a signal ends it.

    `start` is called again for every restart and must use the same checkpoint. `on_progress`
    receives each micro-batch's progress (Spark's JSON) in another thread, in which `on_idle` is
    called if there was no micro-batch to run; `on_restart` receives the failure and the seconds
    until the next attempt. `on_signal` replaces `stop` at the first signal: its owner calls `stop`
    later. `on_stop` is called before the query is stopped without an error, `on_repeat` for a
    signal while it stops (None: SIGINT interrupts at once). `rows_of` returns how many rows a
    micro-batch had, if that is not the number that Spark counted. `is_stopped` returns, once
    signals are handled here, whether an earlier one came.
    """

    def __init__(
        self,
        spark: SparkSession,
        start: Callable[[], StreamingQuery],
        limits: RunLimits | None = None,
        *,
        on_progress: Callable[[dict[str, Any]], None] | None = None,
        on_idle: Callable[[], None] = lambda: None,
        on_restart: Callable[[HeadraceError, float], None] | None = None,
        on_signal: Callable[[], None] | None = None,
        on_stop: Callable[[], None] = lambda: None,
        on_repeat: Callable[[], None] | None = None,
        rows_of: Callable[[Mapping[str, Any]], int] | None = None,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self._spark = spark
        self._start = start
        self._limits = limits or RunLimits()
        self._on_progress, self._on_idle = on_progress, on_idle
        self._on_restart = on_restart
        self._on_signal = on_signal
        self._on_stop, self._on_repeat = on_stop, on_repeat
        self._rows_of = rows_of or _input_rows
        self._is_stopped = is_stopped
        self._stopping = False  # no Event: a signal handler would need the lock that `wait` holds
        self._watch = _Watch()
        self._query: StreamingQuery | None = None

    def stop(self) -> None:
        """Ask `run` to end; may be called from any thread and from a signal handler."""
        self._stopping = True

    def run(self) -> Summary:
        """Run the query until a signal (SIGTERM, SIGINT), a limit, or the end of an availableNow
        query.

        Raises the HeadraceError found in the query's failure if it is not retriable or the retries
        are used up; ("spark.query_failed") for a failure without such an error;
        ("spark.driver_lost") if the JVM is gone.
        """
        summary = Summary()
        began = time.monotonic()
        end = _Countdown(self._limits.seconds)
        has_started = False
        with self._signals(), self._listening():
            if self._is_stopped():
                self.stop()
            while not self._stopping:
                failure: HeadraceError | None = None
                try:
                    query = self._query = self._start()
                    has_started = True
                    reason = self._watch_query(query, end)
                    if reason is not None:
                        summary.reason = reason
                        if not self._watch.rows:
                            summary.waited_for = waited_for(query)
                        self._on_stop()
                        failure = _of_its_own(self._stop_query(query), reason)
                except HeadraceError as error:
                    if not (has_started and error.retriable):
                        raise
                    failure = error  # a sink could not be opened again
                except PySparkException as error:
                    failure = find_failure(str(error))
                except (Py4JError, OSError) as error:
                    failure = _driver_lost(error)
                summary.rows, summary.batches = self._watch.rows, self._watch.batches
                summary.seconds = time.monotonic() - began
                if failure is None:
                    return summary
                if self._stopping:
                    summary.reason = Reason.SIGNAL
                    return summary
                if failure.code == "spark.query_failed" and not has_started:
                    raise failure  # Spark refuses the query: a sink that cannot stream, an option
                end.begin()
                self._wait_before_retry(failure, end)
                if self._stopping:
                    summary.reason = Reason.SIGNAL
                    return summary
                if end.is_over:
                    summary.reason = Reason.SECONDS
                    return summary
                summary.restarts += 1
        return summary

    def _watch_query(self, query: StreamingQuery, end: _Countdown) -> Reason | None:
        """Return the reason to stop; never None: a failed query raises."""
        self._watch.last_active = time.monotonic()
        self._watch.said_idle = False
        self._watch.progress, self._watch.awaited = None, 0
        self._watch.begun = self._watch.batches
        watched: Any = query  # annotated for whole seconds only
        while True:
            if self._stopping:
                return Reason.SIGNAL
            if watched.awaitTermination(_WATCH_S):  # raises when the query failed
                return Reason.FINISHED
            now = time.monotonic()
            if not end.has_begun and self._has_begun(query):
                end.begin()
            if end.is_over:
                return Reason.SECONDS
            if self._limits.is_unread():
                return Reason.UNREAD
            if self._limits.idle_exit is not None and self._is_idle(query, now):
                return Reason.IDLE

    def _has_begun(self, query: StreamingQuery) -> bool:
        """Return whether the source works, by its own report or by Spark's."""
        watch = self._watch
        return watch.progress is not None or watch.said_idle or has_begun(query)

    def _is_idle(self, query: StreamingQuery, now: float) -> bool:
        watch = self._watch
        if now - watch.last_active < float(self._limits.idle_exit or 0):
            return False
        if is_processing(query):
            # A micro-batch reports at its end; heartbeats alone are not activity.
            watch.awaited, watch.said_idle = watch.batches + 1, False
            return False
        if watch.batches < watch.awaited and not watch.said_idle:
            return False
        # A source that connects, or waits for its place in the log, has not reported yet; and the
        # first micro-batch may have been planned before the start.
        if not watch.said_idle and watch.batches < watch.begun + 2:
            return False
        if not has_caught_up(watch.progress, self._limits.caught_up):
            return False
        # A source that starts, or reads a snapshot, may have no rows for a while.
        return source_state(query) in _IDLE_STATES

    def _stop_query(self, query: StreamingQuery) -> HeadraceError | None:
        """Stop between micro-batches if one ends soon; in the middle of one is safe, too. Return
        the error that had ended the query before."""
        deadline = Deadline(_STOP_WITHIN_S)
        while query.isActive and is_processing(query) and not deadline.is_over:
            deadline.pause(0.005)
        # The query may fail at this moment: the next start replays the micro-batch.
        with contextlib.suppress(StreamingQueryException):
            try:
                query.stop()
            except Py4JError as error:
                # spark.sql.streaming.stopTimeout passed: the session's end ends the query too.
                _log.warning("the query did not stop in time: %s", essence(str(error)))
                return None
        ended = query.exception()
        return None if ended is None else find_failure(str(ended))

    def _wait_before_retry(self, failure: HeadraceError, end: _Countdown) -> None:
        """Wait until the next attempt; raise `failure` if no further one is allowed."""
        watch, limits = self._watch, self._limits
        watch.failures += 1
        most = limits.max_retries
        wait = limits.retry_wait_ms / 1000
        if failure.code == "spark.process_lost":
            wait = min(wait, _LOST_PROCESS_WAIT_S)
        elif failure.code == "spark.query_failed":
            # It will most likely fail in the same way again.
            most = _UNKNOWN_RETRIES if most < 0 else min(most, _UNKNOWN_RETRIES)
            wait = min(wait, _LOST_PROCESS_WAIT_S)
        elif not failure.retriable:
            raise failure
        if 0 <= most < watch.failures:
            raise failure
        if self._on_restart is not None:
            self._on_restart(failure, wait)
        else:
            _log.warning("%s; next attempt in %.1f s", failure, wait)
        pause = Deadline(min(wait, end.remaining()))
        while not (self._stopping or pause.is_over):
            pause.pause(_WATCH_S)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Handle SIGTERM and SIGINT inside the block: they ask for a clean stop; a SIGINT while
        stopping interrupts at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def handle(number: int, _frame: object) -> None:
            on_signal, self._on_signal = self._on_signal, None
            if on_signal is not None:
                on_signal()
            elif self._stopping and self._on_repeat is not None:
                self._on_repeat()
            elif number == signal.SIGINT and self._stopping:
                raise KeyboardInterrupt
            else:
                self._stopping = True

        before = {number: signal.signal(number, handle) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextlib.contextmanager
    def _listening(self) -> Iterator[None]:
        """Receive progress and idle events while the query runs."""
        from pyspark import java_gateway

        session: Any = self._spark
        gateway: Any = java_gateway
        context = session.sparkContext
        gateway.ensure_callback_server_started(context._gateway)
        listener = context._jvm.org.apache.spark.sql.streaming.PythonStreamingQueryListenerWrapper(
            _Listener(
                self._watch, self._on_progress, self._rows_of, lambda: self._query, self._on_idle
            )
        )
        streams = session._jsparkSession.streams()
        streams.addListener(listener)
        try:
            yield
        finally:
            with contextlib.suppress(Py4JError, OSError):
                streams.removeListener(listener)


_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def _of_its_own(failure: HeadraceError | None, reason: Reason) -> HeadraceError | None:
    """Return the error of a query that was to be stopped for `reason`: an idle run had not caught
    up if it failed, and errors that would recur are always returned. The next start replays the
    micro-batch."""
    if failure is None or reason is Reason.IDLE:
        return failure
    is_ours = failure.code not in ("spark.query_failed", "spark.process_lost")
    return failure if is_ours and not failure.retriable else None


def _input_rows(progress: Mapping[str, Any]) -> int:
    return int(progress.get("numInputRows") or 0)


def has_caught_up(progress: Mapping[str, Any] | None, caught_up: CaughtUp | None = None) -> bool:
    """Return whether the source was at the head of its log, by Spark's progress; `caught_up` as in
    RunLimits.

    True for None (no progress yet: the source only reported that it has no new data).
    """
    if progress is None:
        return True
    if reads_rows(progress):
        return False
    for source in progress.get("sources") or ():
        latest = source_offset(source.get("latestOffset"))
        end = source_offset(source.get("endOffset"))
        if latest is None or end is None or latest == end:
            continue
        if caught_up is None or not isinstance(latest, dict) or not isinstance(end, dict):
            return False
        if not caught_up(latest, end):
            return False
    return True


def _driver_lost(error: Exception) -> HeadraceError:
    java = getattr(error, "java_exception", None)
    if java is not None:
        return find_failure(str(error))
    return HeadraceError(
        "spark.driver_lost",
        "The Spark driver ended unexpectedly",
        "Start again with the same checkpoint: it continues where it stopped.",
    )
