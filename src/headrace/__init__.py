"""Debezium's connectors, native to Apache Spark."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError, HeadraceWarning

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.spark.metrics import Metrics
    from headrace.spark.query.status import Status

__all__ = [
    "HeadraceError",
    "HeadraceWarning",
    "__version__",
    "error",
    "metrics",
    "options",
    "register",
    "signal",
    "status",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`headrace.spark`, which most of what imports this package does without."""
    if name == "spark":
        return import_module("headrace.spark")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def options(
    configuration: Mapping[str, object] | str | PathLike[str] | None = None,
    /,
    **properties: object,
) -> dict[str, str]:
    """A checked configuration, for `spark.readStream.format("headrace").options(**…)`.

    It is a dict with Debezium's or Debezium Server's names, a body for Kafka Connect
    (`{"name": …, "config": {…}}`), the path of a file (properties or JSON), or such a text. Keyword
    arguments (`topic_prefix="shop"` is topic.prefix) win over it. Values may be texts, numbers and
    booleans; None leaves a property out. References such as `${env:NAME}` stay references, so that
    no secret enters a Spark plan.

    Raises HeadraceError with everything that is wrong; `parts` has each error by itself. What is
    accepted, and yet worth knowing, is a warning (HeadraceWarning).
    """
    from headrace.spark.query.options import options as checked

    return checked(configuration, **properties)


def register(spark: SparkSession) -> None:
    """Make `format("headrace")` known to a session (Spark also finds it by itself)."""
    from headrace.spark.source import HeadraceDataSource

    spark.dataSource.register(HeadraceDataSource)


def metrics(query: StreamingQuery) -> Metrics | None:
    """What the source of a query measured, as of the query's last progress; None before it."""
    from headrace.spark.metrics import metrics as reported

    return reported(query)


def error(query: StreamingQuery) -> HeadraceError | None:
    """What ended a query: its code, its message and its remedy; None while the query runs, and
    where it was stopped."""
    from headrace.spark.failures import error as failure

    return failure(query)


def status(query: StreamingQuery) -> Status:
    """What the source of a query is doing right now: also that its database does not answer, and is
    tried again, which `query.status` cannot tell."""
    from headrace.spark.query.status import status as current

    return current(query)


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
