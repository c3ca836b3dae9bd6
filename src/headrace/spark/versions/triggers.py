"""Queries of headrace's own, with the triggers of a configuration (decision 27)."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.config.kinds import AVAILABLE_NOW
from headrace.spark.query.source_options import BOUNDED, CHECKPOINT
from headrace.spark.query.status import source_is_over
from headrace.spark.versions.installed import REPORTS_STARTS

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_LOOK_S = 0.1


def source_options(checkpoint: Path, trigger: str) -> dict[str, str]:
    """Return the options by which a source knows its query, if Spark does not report it."""
    if REPORTS_STARTS:
        return {}
    bounded = "true" if trigger == AVAILABLE_NOW else "false"
    return {CHECKPOINT: str(checkpoint), BOUNDED: bounded}


def start(writer: DataStreamWriter, trigger: str) -> StreamingQuery:
    """Start a query with availableNow, or the interval between its micro-batches. If Spark runs
    only one micro-batch with availableNow, the source reports when it has returned all, and the
    query is stopped then, between two micro-batches."""
    if trigger != AVAILABLE_NOW:
        return writer.trigger(processingTime=trigger).start()
    if REPORTS_STARTS:
        return writer.trigger(availableNow=True).start()
    query = writer.trigger(processingTime="0 seconds").start()
    threading.Thread(
        target=_stop_when_over, args=(query,), name="headrace end", daemon=True
    ).start()
    return query


def _stop_when_over(query: StreamingQuery) -> None:
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    # If the query ends, or the JVM is gone, nothing is left to stop.
    with contextlib.suppress(Py4JError, PySparkException, OSError):
        while query.isActive:
            if source_is_over(query):
                query.stop()
                return
            time.sleep(_LOOK_S)
