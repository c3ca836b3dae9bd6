"""Debezium's connectors, native to Apache Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError, HeadraceWarning
from headrace.version import VERSION

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.types import StructType

    from headrace.sinks.replicas.cuts.reading import ConsistentVersions
    from headrace.spark.metrics import Metrics
    from headrace.spark.monitoring.listener import MetricsListener
    from headrace.spark.query.status import Status

__all__ = [
    "HeadraceError",
    "HeadraceWarning",
    "MetricsListener",
    "__version__",
    "consistent_versions",
    "error",
    "fold",
    "metrics",
    "options",
    "read_consistent",
    "register",
    "replicate",
    "signal",
    "sink_jars",
    "status",
    "table",
]

__version__ = VERSION


def __getattr__(name: str) -> Any:
    """Imports `headrace.spark` and `headrace.MetricsListener` when they are first used, because
    most programs that import this package do not need them."""
    if name == "spark":
        return import_module("headrace.spark")
    if name == "MetricsListener":
        return import_module("headrace.spark.monitoring.listener").MetricsListener
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def options(
    configuration: Mapping[str, object] | str | PathLike[str] | None = None,
    /,
    **properties: object,
) -> dict[str, str]:
    """Check a configuration and return it for `spark.readStream.format("headrace").options(**…)`.

    The configuration is a dict with Debezium's or Debezium Server's names, a body for Kafka Connect
    (`{"name": …, "config": {…}}`), the path of a file (properties or JSON), or the text of one.
    Keyword arguments (`topic_prefix="shop"` is topic.prefix) override it. Values may be texts,
    numbers and booleans; None leaves a property out. References such as `${env:NAME}` stay
    references, so that no secret enters a Spark plan.

    Raises HeadraceError with all errors of the configuration; `parts` has each one separately.
    Remarks about accepted properties are warnings (HeadraceWarning).
    """
    from headrace.spark.query.format_options import options as checked

    return checked(configuration, **properties)


def register(spark: SparkSession) -> None:
    """Register `format("headrace")` in a session (Spark also finds it by itself)."""
    from headrace.spark.data_source import HeadraceDataSource
    from headrace.spark.versions.registering import register as register_source

    register_source(spark, HeadraceDataSource)


def replicate(
    spark: SparkSession,
    source: Mapping[str, object] | str | PathLike[str],
    sink: Mapping[str, object],
) -> StreamingQuery:
    """Start a query that keeps a table of a lake equal to each table that a configuration captures,
    and return it.

    `source` is a configuration, as for `options`. `sink` has `type` (iceberg or delta),
    `checkpoint` (a folder on this host for the query's checkpoint and state, as for `headrace run
    --checkpoint`), `trigger` (availableNow, or an interval such as `10 seconds`) and the sink's
    options, without `headrace.sink.`. The session needs the format's jars: see `sink_jars`.

    Raises HeadraceError.
    """
    from headrace.sinks.replicas.replicating import replicate as started

    return started(spark, source, sink)


def sink_jars(name: str, /, **options: object) -> list[str]:
    """Return the jars that `replicate` needs for a table format, for the setting `spark.jars`:
    `.config("spark.jars", ",".join(headrace.sink_jars("iceberg")))`. They are downloaded once, or
    read from the folder that the option `jars` names.

    Raises HeadraceError.
    """
    from headrace.sinks.replicas.replicating import sink_jars as found

    return found(name, options)


def consistent_versions(
    checkpoint: str | PathLike[str] | Sequence[str | PathLike[str]],
    tables: Sequence[str] | None = None,
    *,
    at: datetime | str | ConsistentVersions | None = None,
) -> ConsistentVersions:
    """Return one version of each replica of a query at the same position of the source: the rows
    after all transactions up to it, and nothing of later ones.

    `checkpoint` is the folder of the query, as for `headrace run --checkpoint`, on this host;
    several folders of queries over the same database have a common position only if each of them
    has ended a micro-batch there. `tables` are names of replicas such as `inventory.orders` (None:
    all). Without `at`, the cut is the last one; `at` is a time of the source, the position of a
    cut, or what this function returned for another query.

    The result has `position`, `time` (of the last change, by the clock of the database), `versions`
    (Iceberg's snapshot ids or Delta's versions by table; None: the table was empty) and `expires`,
    until when they can be read at least.

    Raises HeadraceError: `replicas.no_cut`, `replicas.no_common_cut`, `replicas.other_source`,
    `replicas.table_not_in_cut` for a table that has stopped, waits or is being copied again,
    `replicas.no_such_table`, `replicas.ambiguous_table`, `replicas.cuts_not_understood`.
    """
    from headrace.sinks.replicas.cuts.reading import consistent_versions as chosen

    return chosen(checkpoint, tables, at)


def read_consistent(
    spark: SparkSession,
    checkpoint: str | PathLike[str] | Sequence[str | PathLike[str]],
    tables: Sequence[str] | None = None,
    *,
    at: datetime | str | ConsistentVersions | None = None,
    catalog: str | None = None,
) -> dict[str, DataFrame]:
    """Return the replicas of `consistent_versions` as DataFrames by table, all at the same position
    of the source.

    The session needs the package of the table format for reading. Iceberg tables are found in the
    catalog `catalog` of the session (None: with the name of the sink's option `catalog.name`),
    Delta tables by their path. Raises HeadraceError as `consistent_versions`.
    """
    from headrace.sinks.replicas.cuts.reading import read_consistent as read

    return read(spark, checkpoint, tables, at, catalog)


def metrics(query: StreamingQuery) -> Metrics | None:
    """Return the metrics of a query's source, as of the query's last progress; None before it."""
    from headrace.spark.metrics import metrics as reported

    return reported(query)


def error(query: StreamingQuery) -> HeadraceError | None:
    """Return the error that ended a query: code, message and remedy; None while the query runs, and
    if it was stopped."""
    from headrace.spark.failures import error as failure

    return failure(query)


def status(query: StreamingQuery) -> Status:
    """Return the current activity of a query's source, including attempts to reach a database that
    does not answer, which `query.status` does not show."""
    from headrace.spark.query.status import status as current

    return current(query)


def signal(
    properties: Mapping[str, object] | str | PathLike[str],
    type: str,  # noqa: A002 - the column's name
    data: str | Mapping[str, object] = "{}",
    *,
    id: str | None = None,  # noqa: A002
) -> str:
    """Send a signal (`execute-snapshot`, `stop-snapshot`, `pause-snapshot`, `resume-snapshot`,
    `log`) to the query that runs with these properties (a configuration, as for `options`);
    return its id.

    The signal goes through the signal table, otherwise through Kafka, otherwise through the signal
    file.
    Raises HeadraceError.
    """
    from headrace.config.formats import OF_SPARK
    from headrace.connectors.registry import parse_configuration, send_signal
    from headrace.spark.query.format_options import read_configuration

    connector_properties, _ = read_configuration(properties, "headrace.signal").split(OF_SPARK)
    return send_signal(parse_configuration(connector_properties), type, data, name=id)


def table(
    events: DataFrame,
    name: str,
    schema: str | StructType | Mapping[str, object] | PathLike[str],
    *,
    key: str | Sequence[str] | None = (),
    documents: bool = False,
    conflict: str = "fail",
) -> DataFrame:
    """Return one table of a DataFrame of change events, batch or stream, as typed columns.

    `events` has a column `value` (Debezium's JSON with or without schemas as string or binary, or a
    column of the converters `variant` and `row`), likewise `key`, and `topic`: events of this
    stream, or events that Spark reads from Kafka. The result has the events whose topic is `name`
    or ends in `.name` (`inventory.orders`); without a column `topic`, all events.

    `schema` is the columns of the rows: a DDL text or a StructType, or the configuration of the
    source, as for `options` (a dict, the path of its file, or the result of `options`): then
    the columns are read from its catalogue (for a database of documents: from a sample of the
    collection). The comment of a declared column names the schema that its values have in JSON if
    that differs from Debezium's default
    (`at TIMESTAMP_NTZ COMMENT 'io.debezium.time.Timestamp'`); see docs/guides/tables.md. `key`
    names the columns of the key when `schema` is declared. `documents`: the events are from a
    database of documents, and the declared columns are fields of the Extended JSON in `before` and
    `after`; the schema `VARIANT` or `STRING` takes whole documents. If a type cannot hold a value
    of a document exactly, there is a conflict: `conflict` is `fail` (an error), `null`, or `rest`,
    which makes the value null and keeps it in a column `__rest` of the row (VARIANT, by its path),
    as it does for fields that are not declared.

    Columns: key (struct; the text of the key when its columns are not known), op (string; null in
    tombstones), before and after (structs of the columns, or documents), source (the struct of
    the source block; map<string, string> if the schema is declared), ts_ms (bigint, milliseconds
    since 1970-01-01 UTC), and sequence, partition, offset and timestamp if the events have them.

    A value that does not have its column's type ends the query with an error. If `schema` is the
    configuration of the source, a column that events have and the table did not have when the query
    started does so, too (`spark.unknown_columns`), unless headrace.table.unknown.columns=drop.
    Raises HeadraceError: `spark.schema_not_understood`, `spark.no_such_table`,
    `spark.no_such_column`, `spark.no_such_policy`, `spark.events_not_understood`,
    `documents.schema_not_understood`, and what the connector raises."""
    from headrace.spark.tables.table import table as typed_table

    return typed_table(events, name, schema, key=key, documents=documents, conflict=conflict)


def fold(
    changes: DataFrame,
    configuration: Mapping[str, object] | str | PathLike[str] | None = None,
    *,
    key: str | Sequence[str] = (),
    order: str | Column | Sequence[str | Column] = (),
    unavailable: str | None = None,
) -> DataFrame:
    """Return the last change of each key, one row for each key, for a MERGE. `changes` is a batch,
    for example one that `foreachBatch` receives.

    `changes` has the columns op, before and after of `table`, and key, unless `key` names the key's
    columns in the rows. The changes are ordered by `order` (columns or their names), by default by
    `sequence`, otherwise by Kafka's `offset`, which orders one partition only: all changes of a key
    have to be in one partition. If different changes of a key have the same place in the order, or
    one has none, the last change is undefined, and the query fails (`spark.ambiguous_order`).

    Columns of the result: the columns of the key that the rows lack; the columns of the rows;
    `__deleted` (boolean: the row was deleted, and its columns except the key's are null); and
    `__kept` (array<string>: columns whose value no change of the key contains, because the database
    does not log unchanged large values; the result has the placeholder for `unavailable` in their
    type, and the target keeps its own values). `unavailable` is by default the
    unavailable.value.placeholder of `configuration`, the source's configuration as for `options`,
    or without it Debezium's default. A change of a key is a delete of the old key and a create of
    the new one; tombstones are deletes. An update without `after` is left out. A TRUNCATE fails the
    query (`spark.truncate_in_fold`), and so does a change without a key
    (`spark.change_without_key`).

    Raises HeadraceError: `spark.fold_of_a_stream`, `spark.no_changes`, `spark.no_key`,
    `spark.no_such_column`, `spark.no_order`.
    """
    from headrace.spark.tables.fold import fold as folded

    return folded(changes, configuration, key=key, order=order, unavailable=unavailable)
