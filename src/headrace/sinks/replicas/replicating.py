"""Implements `headrace.replicate`: a query into replicas on an existing session."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.listener import StreamingQueryListener

from headrace.config.formats import OF_SPARK, Properties
from headrace.config.packing import pack
from headrace.config.properties.connector import ConnectorConfig
from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError
from headrace.sinks.replicas.definition import ReplicaDefinition
from headrace.sinks.replicas.modes.mode import Mode
from headrace.spark.jvm.jars import find_jars
from headrace.spark.query.format_options import read_configuration, with_sampled_schemas
from headrace.spark.sinks.definition import EventStream, SinkQuery
from headrace.spark.sinks.registry import find_sink, sinks
from headrace.spark.state_folder import exclusive
from headrace.spark.versions.registering import register as register_source
from headrace.spark.versions.triggers import source_options, start

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.datasource import DataSource
    from pyspark.sql.streaming.query import StreamingQuery

_TYPE, _CHECKPOINT, _TRIGGER = "type", "checkpoint", "trigger"
_SINK = "headrace.sink."


@dataclass(frozen=True)
class _Stream(EventStream):
    """The events of a configuration on a session. `of_query` are options that inform the source
    about the query."""

    spark: SparkSession
    properties: Properties
    config: ConnectorConfig
    of_query: Mapping[str, str]

    def events(self) -> DataFrame:
        raise AssertionError("replicas have a source of their own")

    def read(self, source: type[DataSource], options: Mapping[str, str]) -> DataFrame:
        register_source(self.spark, source)
        packed = pack(with_sampled_schemas(self.properties, self.config))
        reader = self.spark.readStream.format(source.name())
        return reader.options(**{**self.of_query, **options}).options(**packed).load()


class _Ending(StreamingQueryListener):
    """Releases the resources of a query when it ends."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._held = contextlib.ExitStack()
        self._query: StreamingQuery | None = None
        self._one = threading.Lock()

    def follow(self, query: StreamingQuery, resources: contextlib.ExitStack) -> None:
        """Release the `resources` when the query ends, which may be over already."""
        with self._one:
            self._held.push(resources)
            self._query = query
        self.end_if_over()

    def end_if_over(self) -> None:
        """Release the resources if the query is over: Spark reports it some time later."""
        with self._one:  # Spark's listener thread may be about to end it, too
            if self._query is not None and not self._query.isActive:
                self._end()

    def _end(self) -> None:
        self._query = None
        self._held.close()
        self._spark.streams.removeListener(self)

    def onQueryStarted(self, event: Any) -> None:
        """Do nothing."""

    def onQueryProgress(self, event: Any) -> None:
        """Do nothing."""

    def onQueryIdle(self, event: Any) -> None:
        """Do nothing."""

    def onQueryTerminated(self, event: Any) -> None:
        """Close the sink. A late event of the query's former run, which has the same id, is
        ignored."""
        with self._one:
            if self._query is not None and str(event.runId) == str(self._query.runId):
                self._end()


_endings: dict[Path, _Ending] = {}
"""Listeners by folder, each of the last query of this process in the folder."""


def replicate(
    spark: SparkSession,
    source: Mapping[str, object] | str | PathLike[str],
    sink: Mapping[str, object],
) -> StreamingQuery:
    """See `headrace.replicate`."""
    options = {name: str(value) for name, value in sink.items()}
    table_format = options.pop(_TYPE, "")
    folder = options.pop(_CHECKPOINT, "")
    trigger = options.pop(_TRIGGER, None)
    definition = _definition(table_format)
    if not folder:
        raise HeadraceError(
            "replicas.no_checkpoint",
            "headrace.replicate: the sink names no checkpoint",
            "Add checkpoint to the sink: a folder for the query's checkpoint and state.",
        )
    connector_properties, _ = read_configuration(source, "headrace.replicate").split(OF_SPARK)
    of_sink = {f"{_SINK}type": table_format, f"{_SINK}mode": Mode.REPLICA.value}
    of_sink |= {f"{_SINK}{name}": text for name, text in options.items()}
    properties = connector_properties.with_overrides(of_sink)
    config = parse_configuration(properties)
    missing = {
        name: text for name, text in definition.defaults(config).items() if name not in properties
    }
    properties = properties.with_overrides(missing)
    config = parse_configuration(properties)
    unknown = definition.unknown_options(config)
    if unknown:
        near = filter(None, map(definition.nearest_option, unknown))
        meant = " or ".join(dict.fromkeys(near))
        raise HeadraceError(
            "replicas.option_unknown",
            f"headrace.replicate: the sink {definition.name} has no option {', '.join(unknown)}"
            f"{f'; did you mean {meant}?' if meant else ''}",
            "Leave it out, or write it as the guide of replicas has it.",
        )
    state = Path(folder).absolute()
    checkpoint = state / "checkpoint"
    replica_sink = definition.make(SinkQuery(config, state / definition.name, checkpoint))
    if state in _endings:
        _endings[state].end_if_over()
    with contextlib.ExitStack() as resources:
        resources.enter_context(exclusive(state, definition.name))
        resources.callback(replica_sink.close)
        replica_sink.open()
        trigger = trigger or config.headrace_trigger
        of_query = source_options(checkpoint, trigger)
        writer = replica_sink.writer(_Stream(spark, properties, config, of_query))
        writer = writer.option("checkpointLocation", str(checkpoint))
        if config.name:
            writer = writer.queryName(config.name)
        ending = _Ending(spark)
        spark.streams.addListener(ending)
        try:
            query = start(writer, trigger)
        except BaseException:
            spark.streams.removeListener(ending)
            raise
        _endings[state] = ending
        ending.follow(query, resources.pop_all())
    return query


def sink_jars(name: str, options: Mapping[str, object]) -> list[str]:
    """See `headrace.sink_jars`."""
    texts = {key: str(value) for key, value in options.items()}
    packages = _definition(name).format().packages(texts)
    return [str(jar) for jar in find_jars(packages, texts.get("jars"))]


def _definition(name: str) -> ReplicaDefinition:
    definition = find_sink(name) if name else None
    if not isinstance(definition, ReplicaDefinition):
        known = ", ".join(sink.name for sink in sinks() if isinstance(sink, ReplicaDefinition))
        raise HeadraceError(
            "replicas.no_such_format",
            f"There is no table format {name!r}" if name else "The sink names no type",
            f"Set type to one of: {known}.",
        )
    return definition
