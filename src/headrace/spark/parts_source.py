"""The `headrace_parts` data source: tasks write the file sink's parts where they read the events.

A row that goes from a source's task to a sink's task crosses the JVM, which costs more than making
the event. Between our own source and the file sink only the descriptions of parts do.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from headrace.config.connector import ConnectorConfig
from headrace.connectors.registry import parse_options
from headrace.sinks.file.parts import COLUMNS, as_row, task_part_name, write_part
from headrace.spark.source import HeadraceDataSource, HeadraceReader

FORMAT = "headrace_parts"
FOLDER = "headrace.sink.parts"


class PartsDataSource(HeadraceDataSource):
    """Options as those of `headrace`, and `headrace.sink.parts`: the output's folder of parts. The
    columns are headrace.sinks.file.parts.COLUMNS, a row a slice."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return COLUMNS

    def streamReader(self, schema: StructType) -> PartsReader:  # noqa: ARG002
        options = {name: self.options[name] for name in self.options if name.lower() != FOLDER}
        return PartsReader(parse_options(options), Path(self.options[FOLDER]))


class PartsReader(HeadraceReader):
    """Reads the same slices, and writes them where they are read."""

    def __init__(self, config: ConnectorConfig, folder: Path) -> None:
        super().__init__(config)
        self._folder = folder
        self._indexed = str(config.headrace_slice_order) != "position"

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        batches = super().read(partition)
        part = write_part(self._folder, task_part_name(), batches, indexed=self._indexed)
        return iter([as_row(part)] if part.rows else [])
