"""The definition of the `event-log` sink in headrace's registry."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from headrace.config.properties.connector import ConnectorConfig
from headrace.findings import Findings, counted
from headrace.spark.sinks.definition import (
    BY_POSITION,
    Delivery,
    Sink,
    SinkDefinition,
    SinkQuery,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.sinks.event_log.log import EventLog
    from headrace.sinks.event_log.merging import Merging
    from headrace.sinks.event_log.options import EventLogOptions


class EventLogDefinition(SinkDefinition):
    """Immutable files of JSON lines, Parquet or Avro, by topic and hour."""

    name = "event-log"
    delivery = Delivery.EXACTLY_ONCE
    overrides = BY_POSITION
    writes_small_ranges = True
    worker_modules = (
        "headrace.sinks.event_log.source",
        "headrace.sinks.event_log.formats.configured",
    )
    kernels: ClassVar[Mapping[str, Sequence[str]]] = {"headrace.sinks.lines": ("_write_lines",)}

    @property
    def options(self) -> Sequence[str]:
        """See SinkDefinition."""
        from headrace.sinks.event_log.options import OPTIONS

        return OPTIONS

    def defaults(self, config: ConnectorConfig) -> Mapping[str, str]:  # noqa: ARG002
        """See SinkDefinition: a longer trigger, because each micro-batch writes files."""
        return {"headrace.trigger": "5 seconds"}

    def kernels_of(self, config: ConnectorConfig) -> Mapping[str, Sequence[str]]:
        """See SinkDefinition: a kernel writes lines of JSON."""
        from headrace.sinks.event_log.options import Format

        kind = self.own_options(config).get("format", Format.JSON).strip().lower()
        return self.kernels if kind == Format.JSON else {}

    def make(self, query: SinkQuery) -> Sink:
        """See SinkDefinition. Raises as EventLogOptions.of, `require_converters` and
        EventLog.look."""
        from headrace.sinks.event_log.sink import EventLogSink

        options = self._checked(query.config)
        log, merging = self._log(query, options)
        log.look()
        return EventLogSink(log, options, merging, query.checkpoint)

    def require_upkeep(self, config: ConnectorConfig) -> None:
        """See SinkDefinition. Raises HeadraceError for invalid options."""
        self._checked(config)

    def maintain(self, spark: SparkSession, query: SinkQuery) -> Iterator[str]:  # noqa: ARG002
        """Merge the small files of every finished folder; yields a line for each folder with merged
        files."""
        log, merging = self._log(query, self._checked(query.config))
        log.require_begun()
        for merged in merging.merge_all(time.time_ns() // 1_000_000):
            if merged.files:
                yield f"{merged.folder}: {counted(merged.files, 'file')} merged into {merged.made}"

    def check(self, config: ConnectorConfig) -> Findings:
        """See SinkDefinition."""
        findings = Findings()

        def look() -> None:
            options = self._checked(config)
            findings.add(
                "event_log.options",
                "ok",
                f"The options of the sink {self.name} are valid: {options.format} files below "
                f"{options.path}",
            )

        findings.guard(look)
        return findings

    def _checked(self, config: ConnectorConfig) -> EventLogOptions:
        from headrace.sinks.event_log.options import EventLogOptions, require_converters

        options = EventLogOptions.of(self.own_options(config))
        require_converters(config, options)
        return options

    def _log(self, query: SinkQuery, options: EventLogOptions) -> tuple[EventLog, Merging]:
        from headrace.sinks.event_log.formats.configured import file_format
        from headrace.sinks.event_log.log import EventLog
        from headrace.sinks.event_log.merging import Merging

        log = EventLog(options.path, query.state, sync=options.sync)
        return log, Merging(log, options, file_format(options, query.config))


DEFINITION = EventLogDefinition()
