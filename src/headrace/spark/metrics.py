"""Metrics of a running query, as its source reported them with Spark's last progress."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from headrace.spark.progress import source_offset
from headrace.spark.sinks.figures import figures_of
from headrace.spark.versions.reports import complete

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass(frozen=True)
class Metrics:
    """Metrics of a connector. `snapshot` and `streaming` have the names of Debezium's JMX metrics;
    `incremental` is an incremental snapshot's progress, with Debezium's names for its chunk (None:
    no incremental snapshot yet); `database` has the database's state of its log and of this reader
    (None: not read yet; the connector's guide lists the members); `oldest_unacknowledged_ms` is the
    age of the oldest change that the database must still keep, `silent_ms` the time for which the
    database has not answered a request. `tables` are the figures of replicas
    by their names, if the query's sink runs in this process. `source` has the labels `plugin` and
    `server` of Debezium's metrics."""

    snapshot: Mapping[str, Any]
    streaming: Mapping[str, Any]
    database: Mapping[str, Any] | None
    oldest_unacknowledged_ms: int | None
    incremental: Mapping[str, Any] | None = None
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    source: Mapping[str, str] = field(default_factory=dict)
    silent_ms: int = 0

    @property
    def slot(self) -> Mapping[str, Any] | None:
        """`database`, by the name that PostgreSQL's guide has for it."""
        return self.database


def metrics(query: StreamingQuery) -> Metrics | None:
    """Return the metrics of the first headrace source of `query`, as of its last progress (after
    every micro-batch, and every ten seconds without one); None before the first."""
    progress = query.lastProgress
    if progress is None:
        return None
    members = json.loads(progress.json)
    complete(members, query)
    reported = reported_metrics(members)
    if reported is None:
        return None
    return replace(reported, tables=figures_of(str(query.id)))


def reported_metrics(progress: Mapping[str, Any]) -> Metrics | None:
    """Return the metrics of the first headrace source in Spark's progress (its JSON); None without
    a headrace source."""
    return next(_reported(progress), None)


def _reported(progress: Mapping[str, Any]) -> Iterator[Metrics]:
    for source in progress.get("sources") or ():
        metrics = metrics_in(source_offset(source.get("latestOffset")))
        if metrics is not None:
            yield metrics


def metrics_in(latest: object) -> Metrics | None:
    """Return the metrics in the head of the log as a source reported it; None if it has none."""
    figures = latest.get("metrics") if isinstance(latest, dict) else None
    if not isinstance(figures, dict):
        return None
    return Metrics(
        figures["snapshot"],
        figures["streaming"],
        figures.get("database"),
        figures.get("oldest_unacknowledged_ms"),
        figures.get("incremental"),
        source=figures.get("source") or {},
        silent_ms=int(figures.get("silent_ms") or 0),
    )
