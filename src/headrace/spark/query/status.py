"""The state of a query's source, including states that Spark does not know: it starts, it waits for
a database that does not answer.

Spark cannot report these, so the source process keeps a small file beside Spark's sockets, which
the driver reads; both run on one host.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from headrace.config.properties.connector import ConnectorConfig
from headrace.connectors.registry import definition_of, parse_options
from headrace.connectors.states import Situation, State
from headrace.errors import HeadraceError
from headrace.findings import counted
from headrace.spark import failures
from headrace.spark.query.source_options import of_connector
from headrace.spark.query.status_files import live_files, own_file

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_KIND = "json"


@dataclass(frozen=True)
class Status:
    """The state of a query. `state` is `starting`, `snapshotting`, `waiting to stream`,
    `streaming`, `blocked` or `ended` of the source, or `failed` or `stopped` of the query. `error`
    is the one that ended the query, or after which the source tries again (`attempts` times so
    far); None: no error. `message` describes the state in one line. `since` is its beginning (None:
    unknown). `warnings` do not stop the query, such as captured tables whose changes do not arrive.
    `waits` says what the source's work waits for, such as a table's lock (None: nothing, or
    unknown)."""

    state: str
    message: str
    error: HeadraceError | None = None
    attempts: int = 0
    since: datetime | None = None
    warnings: tuple[str, ...] = ()
    waits: str | None = None


_OBJECT = re.compile(r"[\w.$]+@[0-9a-f]+\b")


def status(query: StreamingQuery) -> Status:
    """Return the state of the first headrace source of `query`."""
    error = failures.error(query)
    if error is not None:
        return Status("failed", str(error), error)
    if not query.isActive:
        return Status("stopped", "The query was stopped")
    # Spark names objects of the JVM by class and address.
    message_of_spark = _OBJECT.sub("the source", str(query.status["message"]))
    written = _newest(query)
    if written is None:
        return Status("starting", message_of_spark)
    since = datetime.fromtimestamp(float(written["since"]), UTC)
    warned, waits = tuple(written["warnings"]), written["waits"]
    if written["error"] is None:
        message = "; ".join((waits or message_of_spark, *warned))
        return Status(written["state"], message, since=since, warnings=warned, waits=waits)
    code, message, remedy = written["error"]
    attempts, seconds = int(written["attempts"]), float(written["retry_seconds"])
    tried = f"tried {counted(attempts, 'time')}, again every {seconds:g} s"
    text = f"{message} [{code}]; {tried}. {remedy}"
    error = HeadraceError(code, message, remedy, retriable=True)
    return Status(written["state"], text, error, attempts, since, warned, waits)


CATCHING_UP = "catching up"
"""The state in place of `streaming` until the source has read the log up to the end that it had
when the stream was opened, whether the changes are captured or not."""


def source_state(query: StreamingQuery) -> str | None:
    """Return the state of the first headrace source of `query`, as in Status, or CATCHING_UP; None
    if it is unknown."""
    written = _newest(query)
    if written is None:
        return None
    return CATCHING_UP if written["behind"] else str(written["state"])


def has_begun(query: StreamingQuery) -> bool:
    """Return whether the first headrace source of `query` reads rows or the log, or has reported
    why not yet: an error after which it tries again, or what it waits for."""
    written = _newest(query)
    if written is None:
        return False
    is_starting = written["state"] == State.STARTING.value
    return not is_starting or written["error"] is not None or written["waits"] is not None


_WAITED_FOR = {
    State.STARTING: "the source was connecting to the database and checking its position",
    State.SNAPSHOTTING: "a snapshot was being read, and none of its rows had been written",
    State.WAITING_TO_STREAM: "streaming.delay.ms was not over",
    State.STREAMING: "the stream was open, and no captured change came",
    State.BLOCKED: "a blocking snapshot was being read, and none of its rows had been written",
}
_PROCESSING = "Processing new data"


def is_processing(query: StreamingQuery) -> bool:
    """Return whether a micro-batch is running."""
    status = query.status
    return bool(status["isTriggerActive"]) and status["message"] == _PROCESSING


def waited_for(query: StreamingQuery) -> str:
    """Return what a query without rows waits for, in words; empty if that is unknown. Never
    raises."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        current = status(query)
        if current.error is not None:
            return current.message
        if current.waits is not None:
            return current.waits
        if current.since is None:
            # A finished micro-batch had a source, even without a report of it.
            is_starting = query.isActive and query.lastProgress is None
            return "the process of the source was being started" if is_starting else ""
        words = {state.value: words for state, words in _WAITED_FOR.items()}.get(current.state, "")
        return f"{words} (a micro-batch was not finished)" if is_processing(query) else words
    except (PySparkException, Py4JError, OSError, HeadraceError):
        return ""


def source_is_over(query: StreamingQuery) -> bool:
    """Return whether the first headrace source of `query`, which ends by itself, has returned
    all."""
    written = _newest(query)
    return written is not None and bool(written["over"])


def source_report(query: StreamingQuery) -> Mapping[str, Any] | None:
    """Return the head of the log and the metrics, as last reported by the first headrace source of
    `query`; None if Spark's progress has them, or nothing is known."""
    written = _newest(query)
    return None if written is None else written["report"]


class StatusFile:
    """The file of this process, which works for its parent process. It is removed when the source
    ends; files of killed processes are removed, too."""

    def __init__(self, config: ConnectorConfig) -> None:
        self._lock = threading.Lock()
        self._state_and_code: tuple[str, str | None] | None = None
        self._since = 0.0
        self._attempts = self._retries = 0
        self._source = metrics_labels(config)
        self._path = own_file(_name(os.getppid(), config), _KIND)
        self._situation: Situation | None = None
        self._report: Mapping[str, Any] | None = None
        self._reported: float | None = None
        self._is_over = False

    def write(self, situation: Situation) -> None:
        """Replace the file's content; never raises: the query continues without it."""
        error = situation.error
        state_and_code = (situation.state, None if error is None else error.code)
        attempts = 0 if error is None else situation.attempts
        with self._lock:
            self._situation = situation
            if state_and_code != self._state_and_code:
                self._state_and_code, self._since = state_and_code, time.time()
            self._retries += max(0, attempts - self._attempts)
            self._attempts = attempts
            self._replace(situation)

    def write_report(self, report: Mapping[str, Any], *, is_over: bool) -> None:
        """Write what Spark's progress has if Spark asks for it: the head of the log and the
        metrics; and whether a source that ends by itself has returned all. Never raises."""
        with self._lock:
            self._report, self._reported, self._is_over = report, time.time(), is_over
            if self._situation is not None:
                self._replace(self._situation)

    def _replace(self, situation: Situation) -> None:
        """Write the present state; the caller has the lock, so that no older state is the last."""
        if self._path is None:
            return
        error = situation.error
        text = json.dumps(
            {
                "state": situation.state,
                "error": None if error is None else (error.code, error.message, error.remedy),
                "attempts": situation.attempts,
                "retries": self._retries,
                "source": self._source,
                "retry_seconds": situation.retry_seconds,
                "waits": situation.waits,
                "behind": situation.is_catching_up,
                "since": self._since,
                "warnings": situation.warnings,
                "report": self._report,
                "reported": self._reported,
                "over": self._is_over,
            }
        )
        fresh = self._path.with_suffix(".new")
        with contextlib.suppress(OSError):
            fresh.write_text(text)
            fresh.replace(self._path)

    def remove(self) -> None:
        """Remove the file. Never raises."""
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)


def metrics_labels(config: ConnectorConfig) -> dict[str, str]:
    """Return `plugin` and `server`, the labels of Debezium's metrics for this configuration."""
    return {"plugin": definition_of(config).metrics_plugin, "server": config.topic_prefix}


def _name(jvm: int, config: ConnectorConfig) -> str:
    return f"{jvm}-{config.fingerprint()[:16]}"


def _newest(query: StreamingQuery) -> Mapping[str, Any] | None:
    """Return the last state that the source of `query` wrote; None before the first. For a query of
    Spark Connect its server is asked."""
    session = getattr(query, "_session", None)
    if session is not None:
        from headrace.spark.query.situations import newest_on_server

        progress = query.lastProgress
        return newest_on_server(session, None if progress is None else json.loads(progress.json))
    name = situation_name(query)
    return None if name is None else read_situation(name)


_names: WeakKeyDictionary[StreamingQuery, str] = WeakKeyDictionary()


def situation_name(query: StreamingQuery) -> str | None:
    """Return the name for `read_situation`; None for a query without a headrace source, and if the
    JVM, or a file that the configuration names, cannot be read at this moment. It stays the same
    for the query's life."""
    name = _names.get(query)
    if name is None:
        source = _options_and_jvm(query)
        if source is None:
            return None
        options, jvm = source
        try:
            name = _names[query] = _name(jvm, parse_options(of_connector(options)))
        except HeadraceError:
            return None  # the source has read them, so they come back
    return name


def read_situation(name: str) -> Mapping[str, Any] | None:
    """Return the last state that a source wrote, with the names of `StatusFile.write`; None before
    the first."""
    paths = live_files(name, _KIND)
    try:
        path = max(paths, key=lambda status_file: status_file.stat().st_mtime, default=None)
        written: dict[str, Any] | None = None if path is None else json.loads(path.read_text())
    except (OSError, ValueError):
        return None  # it ends, or changes, at this moment
    return written


def _options_and_jvm(query: StreamingQuery) -> tuple[dict[str, str], int] | None:
    """Return the options of the first headrace source of `query`, and the JVM's process id."""
    from py4j.protocol import Py4JError
    from pyspark import SparkContext

    java: Any = getattr(query, "_jsq", None)
    context = SparkContext._active_spark_context
    if java is None or context is None:
        return None
    jvm: Any = context._jvm
    try:
        leaves = java.streamingQuery().analyzedPlan().collectLeaves()
        for place in range(leaves.size()):
            leaf = leaves.apply(place)
            name = str(getattr(leaf, "sourceName", str)())
            if name.startswith("headrace"):
                options = {str(k): str(v) for k, v in dict(leaf.extraOptions()).items()}
                return options, int(jvm.java.lang.ProcessHandle.current().pid())
    except Py4JError:
        return None  # another version of Spark
    return None
