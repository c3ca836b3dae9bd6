"""Debezium's connectors, native to Apache Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from headrace.config.packing import options
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.spark.metrics import Metrics

__all__ = ["HeadraceError", "__version__", "metrics", "options", "register", "signal"]

__version__ = "0.1.0"


def register(spark: SparkSession) -> None:
    """Make `format("headrace")` known to a session (Spark also finds it by itself)."""
    from headrace.spark.source import HeadraceDataSource

    spark.dataSource.register(HeadraceDataSource)


def metrics(query: StreamingQuery) -> Metrics | None:
    """What the source of a query measured, as of the query's last progress; None before it."""
    from headrace.spark.metrics import metrics as reported

    return reported(query)


def signal(
    properties: Mapping[str, str],
    type: str,  # noqa: A002 - the column's name
    data: str | Mapping[str, object] = "{}",
    *,
    id: str | None = None,  # noqa: A002
) -> str:
    """Send a signal (`execute-snapshot`, `stop-snapshot`, `pause-snapshot`, `resume-snapshot`,
    `log`) to the query that runs with these properties; returns its id.

    It travels through the signal table, or else Kafka, or else the signal file.
    Raises HeadraceError.
    """
    from headrace.connectors.registry import parse_configuration, send_signal

    return send_signal(parse_configuration(properties), type, data, name=id)
