"""`headrace.MetricsListener`: metrics of the queries of a Spark session."""

from __future__ import annotations

import json
import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.listener import StreamingQueryListener

from headrace.spark.failures import find_failure
from headrace.spark.monitoring.monitor import LOOPBACK, Monitor
from headrace.spark.monitoring.observed import ObservedQuery
from headrace.spark.sinks.figures import figures_of

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_MAX_ENDED = 20
"""The number of ended queries that are still shown."""


class MetricsListener(StreamingQueryListener):
    """Serves metrics of the session's headrace queries on a port of this process, and lets
    `headrace status` find them: `spark.streams.addListener(headrace.MetricsListener(port=9404))`.

    `port` None: only `headrace status`; 0: any free port (`url` has it). `address` is the interface
    for this port. Queries of other sources are left out. Raises
    HeadraceError("spark.metrics_port").
    """

    def __init__(self, port: int | None = None, address: str = LOOPBACK) -> None:
        self._queries = _Queries()
        self._monitor = Monitor(self._queries.observed, address=address, port=port)

    @property
    def url(self) -> str | None:
        """The endpoint's URL, `http://ADDRESS:PORT`; None without an endpoint."""
        return self._monitor.url

    def close(self) -> None:
        """Close the endpoint; queries continue. It ends with the process, too."""
        self._monitor.close()

    @cached_property
    def _jlistener(self) -> Any:
        """The listener that a session in this process adds: one call of the JVM for each event;
        PySpark's own copies an event member by member."""
        from pyspark import SparkContext

        jvm: Any = SparkContext._jvm
        sql = jvm.org.apache.spark.sql
        return sql.streaming.PythonStreamingQueryListenerWrapper(_OfJvm(self._queries))

    def onQueryStarted(self, event: Any) -> None:
        """Handle a query's start, at first or again with the same checkpoint."""
        self._queries.started(str(event.id), str(event.runId), event.name)

    def onQueryProgress(self, event: Any) -> None:
        """Handle the progress of a micro-batch."""
        self._queries.progressed(event.progress.json)

    def onQueryIdle(self, event: Any) -> None:
        """Handle a query that had nothing to do."""
        self._queries.idle(str(event.id))

    def onQueryTerminated(self, event: Any) -> None:
        """Handle a query that was stopped, or failed."""
        self._queries.ended(str(event.id), str(event.runId), event.exception)


class _Queries:
    """The session's queries by their ids."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._observed: dict[str, ObservedQuery] = {}
        self._runs: dict[str, str] = {}

    def observed(self) -> dict[str, ObservedQuery]:
        """Return the queries that are known now."""
        with self._lock:
            return dict(self._observed)

    def started(self, identity: str, run: str, name: str | None) -> None:
        """Note that a query started, for the first time or again."""
        with self._lock:
            query = self._observed.pop(identity, None) or ObservedQuery(find=_find)
            ended = [ended_query for ended_query, known in self._observed.items() if known.is_over]
            # A query with another checkpoint replaces the one that had its name.
            dropped = {old for old in ended if name and self._observed[old].name == name}
            dropped.update(ended[: max(0, len(ended) - _MAX_ENDED)])
            for ended_query in dropped:
                del self._observed[ended_query], self._runs[ended_query]
            self._observed[identity], self._runs[identity] = query, run
        query.started(identity, name)

    def progressed(self, text: str) -> None:
        """Take Spark's JSON of a micro-batch."""
        progress = json.loads(text)
        identity = progress["id"]
        if self._known(identity) is None:  # it had started before the listener was added
            self.started(identity, progress["runId"], progress.get("name"))
        query = self._known(identity)
        if query is not None:
            rows = None if figures_of(identity) else int(progress["numInputRows"])
            query.progressed(progress, rows)

    def idle(self, identity: str) -> None:
        """Note that the query had nothing to do."""
        query = self._known(identity)
        if query is not None:
            query.idle()

    def ended(self, identity: str, run: str, exception: str | None) -> None:
        """Note that a run ended. Spark reports it with a delay: another run may have started."""
        with self._lock:
            query = self._observed.get(identity) if self._runs.get(identity) == run else None
        if query is None:
            return
        if exception is None:
            query.stopped()
        else:
            query.failed(find_failure(exception), is_tried_again=False)

    def _known(self, identity: str) -> ObservedQuery | None:
        with self._lock:
            return self._observed.get(identity)


class _OfJvm:
    """Spark's listener interface."""

    def __init__(self, queries: _Queries) -> None:
        self._queries = queries

    def onQueryStarted(self, event: Any) -> None:
        self._queries.started(event.id().toString(), event.runId().toString(), event.name())

    def onQueryProgress(self, event: Any) -> None:
        self._queries.progressed(event.progress().json())

    def onQueryIdle(self, event: Any) -> None:
        self._queries.idle(event.id().toString())

    def onQueryTerminated(self, event: Any) -> None:
        exception = event.exception()
        text = exception.get() if exception.isDefined() else None
        self._queries.ended(event.id().toString(), event.runId().toString(), text)

    class Java:
        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)


def _find(identity: str) -> StreamingQuery | None:
    """Return the query that runs in this process's session."""
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession() or getattr(SparkSession, "_instantiatedSession", None)
    return None if session is None else session.streams.get(identity)
