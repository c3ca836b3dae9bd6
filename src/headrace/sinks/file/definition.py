"""The definition of the `file` sink in headrace's registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from headrace.config.properties.connector import ConnectorConfig
from headrace.findings import Findings
from headrace.spark.sinks.definition import (
    BY_POSITION,
    Delivery,
    Sink,
    SinkDefinition,
    SinkQuery,
)


class FileDefinition(SinkDefinition):
    """A single file with a line of JSON per event, in total order."""

    name = "file"
    delivery = Delivery.EXACTLY_ONCE
    options = ("path", "sync")
    overrides = BY_POSITION
    writes_small_ranges = True
    kernels: ClassVar[Mapping[str, Sequence[str]]] = {
        "headrace.sinks.lines": ("_write_lines",),
        "headrace.sinks.file.merge": ("_gather",),
    }
    worker_modules = (
        "headrace.sinks.lines",
        "headrace.sinks.file.parts_source",
        "headrace.sinks.file.sink",
    )

    def __init__(self, output: Path | None = None) -> None:
        """`output`: the output file, which overrides the configuration."""
        self._output = output

    def own_options(self, config: ConnectorConfig) -> dict[str, str]:
        """See SinkDefinition."""
        if self._output is not None:
            return {"path": str(self._output)}
        return super().own_options(config)

    def make(self, query: SinkQuery) -> Sink:
        """See SinkDefinition. Raises as FileOptions.of, `require_texts` and Output.look."""
        from headrace.sinks.file.options import FileOptions
        from headrace.sinks.file.output import Output
        from headrace.sinks.file.parts_sink import PartsSink
        from headrace.sinks.texts import require_texts

        options = FileOptions.of(self.own_options(query.config))
        require_texts(query.config)
        output = Output(options.path, query.state, sync=options.sync)
        output.look()
        return PartsSink(output, query.checkpoint)

    def check(self, config: ConnectorConfig) -> Findings:
        """See SinkDefinition."""
        from headrace.sinks.file.options import FileOptions
        from headrace.sinks.texts import require_texts

        def options() -> None:
            FileOptions.of(self.own_options(config))

        findings = Findings()
        findings.guard(options)
        findings.guard(lambda: require_texts(config))
        return findings


DEFINITION = FileDefinition()
