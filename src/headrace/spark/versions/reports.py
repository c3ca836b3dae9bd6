"""The head of the log and the metrics, if Spark's progress does not have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.spark.query.status import source_report
from headrace.spark.versions.installed import REPORTS_STARTS

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery


def complete(progress: dict[str, Any], query: StreamingQuery | None) -> None:
    """Put the last report of the source of `query` into the place where a newer Spark has it: the
    `latestOffset` of the first headrace source of `progress`, Spark's JSON."""
    if REPORTS_STARTS or query is None:
        return
    sources = (
        reported
        for reported in progress.get("sources") or ()
        if _is_ours(reported.get("endOffset"))
    )
    source = next(sources, None)
    report = None if source is None else source_report(query)
    if source is not None and report is not None:
        source["latestOffset"] = dict(report)


def _is_ours(end: object) -> bool:
    return (isinstance(end, dict) and "server" in end) or '"server"' in str(end)
