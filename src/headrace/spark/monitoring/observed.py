"""An observed query: its starts and failures, Spark's progress, and its source's reports."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.connectors.states import State
from headrace.errors import HeadraceError
from headrace.spark.failures import OF_ANY_QUERY
from headrace.spark.metrics import Metrics, metrics_in, reported_metrics
from headrace.spark.monitoring.process import this_process
from headrace.spark.monitoring.report import FAILED, RESTARTING, STOPPED, Report
from headrace.spark.query.status import read_situation, situation_name
from headrace.spark.sinks.figures import figures_of

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery


class ObservedQuery:
    """The state of a query from outside. All methods may be called from any thread, and query
    neither the database nor, except for `look`, Spark. `find` returns the query if only its id is
    known (None: it is not found)."""

    def __init__(
        self,
        *,
        labels: Mapping[str, str] | None = None,
        query: str = "",
        name: str | None = None,
        checkpoint: str | None = None,
        find: Callable[[str], StreamingQuery | None] = lambda _id: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`labels` are the `plugin` and the `server`, `query` and `name` the query's id and name,
        if they are known beforehand."""
        self._clock, self._find = clock, find
        self._checkpoint, self._labels = checkpoint, dict(labels or {})
        self._lock = threading.Lock()
        self._process = this_process()
        self._query: StreamingQuery | None = None
        self._id, self._name = query, name
        self._situation: str | None = None
        self._has_looked = False
        self._starts = self._rows = self._batches = self._retries = 0
        self._busy_seconds = 0.0
        self._is_idle = False
        self._counts_tables = False
        self._metrics: Metrics | None = None
        self._tables: Mapping[str, Mapping[str, Any]] = {}
        self._last_commit: float | None = None
        self._reported: float | None = None
        self._outcome: tuple[str, HeadraceError | None] | None = None
        self._waits: tuple[str, float] | None = None
        self._began = self._since = clock()

    def started(self, query: str, name: str | None, running: StreamingQuery | None = None) -> None:
        """Note that Spark started a run of the query with this id and name, at first or again."""
        with self._lock:
            self._id, self._name, self._query = query, name, running
            self._situation, self._has_looked = None, False
            self._outcome, self._since = None, self._clock()
            self._starts += 1

    def progressed(self, progress: Mapping[str, Any], rows: int | None) -> None:
        """Note that a micro-batch finished: Spark's JSON of it, and its events (None: those of the
        replicas, whose sink runs in this process)."""
        busy = float((progress.get("durationMs") or {}).get("triggerExecution") or 0) / 1000
        with self._lock:
            self._batches += 1
            self._rows += rows or 0
            self._counts_tables = self._counts_tables or rows is None
            self._busy_seconds += busy
            self._last_commit = self._clock()
            self._is_idle = False
        self._take(progress)

    def idle(self) -> None:
        """Note that the query had nothing to do."""
        with self._lock:
            self._is_idle = True

    def failed(self, error: HeadraceError, *, is_tried_again: bool) -> None:
        """Note that an error ended the run."""
        self._end(RESTARTING if is_tried_again else FAILED, error)

    def stopped(self) -> None:
        """Note that the query was stopped, or has finished its work."""
        self._end(STOPPED, None)

    def look(self) -> None:
        """Poll Spark for progress without a micro-batch: every few seconds, besides the query.
        Never raises."""
        with self._lock:
            is_over, is_idle = self._outcome is not None, self._is_idle
            query, has_looked = self._query, self._has_looked
        if is_over:
            return
        # Errors of Spark and Py4J mean that the query is just ending.
        with contextlib.suppress(Exception):
            query = query or self._find(self._id)
            if query is None:  # of a server reached by Spark Connect, for example
                if is_idle:
                    self._take_nothing()
                return
            if not has_looked:
                situation = situation_name(query)
                with self._lock:
                    self._query, self._situation, self._has_looked = query, situation, True
            if is_idle:
                progress = query.lastProgress
                with self._lock:
                    self._is_idle = False
                if progress is not None:
                    self._take(json.loads(progress.json))

    @property
    def name(self) -> str | None:
        """The name of the query (`queryName`); None: it has none, or has not started."""
        with self._lock:
            return self._name

    @property
    def is_ours(self) -> bool:
        """Whether the query is known to read a source of headrace: by a report of its source, or by
        the error with which it ended before that."""
        with self._lock:
            error = None if self._outcome is None else self._outcome[1]
            is_own_error = error is not None and error.code not in OF_ANY_QUERY
            return bool(self._labels) or self._situation is not None or is_own_error

    @property
    def is_over(self) -> bool:
        """Whether the run ended, and no other one has started."""
        with self._lock:
            return self._outcome is not None and self._outcome[0] != RESTARTING

    def report(self) -> Report:
        """Return a report of the present state."""
        now = self._clock()
        with self._lock:
            situation, outcome = self._situation, self._outcome
        written = None
        if situation is not None and outcome is None:
            written = read_situation(situation)
        tables = figures_of(self._id)
        with self._lock:
            if tables:
                self._tables = {name: dict(figures) for name, figures in tables.items()}
            said = self._said(written)
            # A wait that ended with an error continues with the next attempt.
            is_retried = said["attempts"] > 0
            if said["waits"] is not None:
                if self._waits is None or not (is_retried or self._waits[0] == said["waits"]):
                    self._waits = (said["waits"], now)
            elif not is_retried:
                self._waits = None
            rows = self._rows
            if self._counts_tables:
                rows = sum(int(table["changes"]) for table in self._tables.values())
            return Report(
                time=now,
                process=self._process,
                started=self._began,
                query=self._id,
                name=self._name,
                checkpoint=self._checkpoint,
                plugin=self._labels.get("plugin"),
                server=self._labels.get("server"),
                waits_since=None if self._waits is None else self._waits[1],
                restarts=max(0, self._starts - 1),
                rows=rows,
                batches=self._batches,
                busy_seconds=round(self._busy_seconds, 3),
                last_commit=self._last_commit,
                reported=self._reported,
                metrics=_members(self._metrics),
                tables=self._tables,
                **said,
            )

    def _said(self, written: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return state, error and waiting, of the query's end or of its source's file, and take the
        metrics of the file."""
        said: dict[str, Any] = {
            "state": State.STARTING.value, "since": self._since, "error": None, "attempts": 0,
            "retries": self._retries, "waits": None, "warnings": (),
        }  # fmt: skip
        if self._outcome is not None:
            state, error = self._outcome
            return said | {"state": state, "error": None if error is None else _error(error)}
        if written is None:
            return said
        self._labels = dict(written["source"])
        self._retries = int(written["retries"])
        said |= {name: written[name] for name in ("state", "since", "waits", "warnings", "retries")}
        if written["error"] is not None:
            code, message, remedy = written["error"]
            error = HeadraceError(code, message, remedy, retriable=True)
            said |= {"error": _error(error), "attempts": int(written["attempts"])}
        metrics = metrics_in(written.get("report"))
        if metrics is not None:  # Spark's progress has none
            self._metrics = metrics
            self._reported = float(written["reported"]) - metrics.silent_ms / 1000
        return said

    def _take(self, progress: Mapping[str, Any]) -> None:
        """Take the source's metrics from Spark's progress, if it has any."""
        metrics = reported_metrics(progress)
        if metrics is not None:
            with self._lock:
                self._metrics = metrics
                self._reported = self._clock() - metrics.silent_ms / 1000
                if metrics.source:
                    self._labels = dict(metrics.source)

    def _take_nothing(self) -> None:
        """Note that an idle source has acknowledged all its changes."""
        with self._lock:
            self._is_idle = False
            if self._metrics is not None:
                self._metrics = replace(self._metrics, oldest_unacknowledged_ms=None)
                self._reported = self._clock()

    def _end(self, state: str, error: HeadraceError | None) -> None:
        with self._lock:
            self._outcome, self._since, self._query = (state, error), self._clock(), None


def _members(metrics: Metrics | None) -> dict[str, Any] | None:
    if metrics is None:
        return None
    return {
        "snapshot": metrics.snapshot,
        "streaming": metrics.streaming,
        "incremental": metrics.incremental,
        "database": metrics.database,
        "oldest_unacknowledged_ms": metrics.oldest_unacknowledged_ms,
    }


def _error(error: HeadraceError) -> dict[str, Any]:
    return {
        "code": error.code,
        "message": error.message,
        "remedy": error.remedy,
        "retriable": error.retriable,
    }
