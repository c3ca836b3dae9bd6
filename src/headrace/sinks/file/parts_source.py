"""The `headrace_parts` data source: writes the file sink's parts where the events are read.

Only the descriptions of parts cross the JVM. A range that takes milliseconds to read is not worth a
task: when Spark asks for its partitions, the source process reads the range, appends it to the
output, and returns no partitions.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

from headrace.config.properties.connector import ConnectorConfig
from headrace.connect.slices import Slice
from headrace.sinks.checkpoint import query_of
from headrace.sinks.file.output import Output
from headrace.sinks.file.parts import COLUMNS, FilePart, as_row, write_part
from headrace.sinks.parts import note_expected_parts, task_part_name
from headrace.spark.checkpoint import planned_batch
from headrace.spark.query.source_options import CHECKPOINT, FOLDER, OUTPUT, SYNC
from headrace.spark.sink_source import SinkReader, SinkSource

if TYPE_CHECKING:
    import pyarrow as pa

    from headrace.offsets.offset import OffsetObject


class PartsDataSource(SinkSource):
    """The data source. Its options are all of SINK_OPTIONS. A row is a part
    (headrace.sinks.file.parts.COLUMNS), which headrace.sinks.file.parts_sink commits."""

    columns = COLUMNS

    @classmethod
    def name(cls) -> str:
        return "headrace_parts"

    def sink_reader(self, config: ConnectorConfig) -> PartsReader:
        sync = self.options[SYNC] == "true"
        output = Output(self.options[OUTPUT], self.options[FOLDER], sync=sync)
        return PartsReader(config, output, Path(self.options[CHECKPOINT]))


class PartsReader(SinkReader):
    """Reads the same slices as other sources, and writes them where they are read."""

    sink = "file"

    def __init__(self, config: ConnectorConfig, output: Output, checkpoint: Path) -> None:
        super().__init__(config, checkpoint, sync=output.sync)
        self._output = output
        self._indexed = str(config.headrace_slice_order) != "position"

    def plan(self, start: OffsetObject, end: OffsetObject) -> Sequence[InputPartition]:
        slices = self.session().slices(start, end)
        of_tasks = not self.is_small(slices)
        batch = planned_batch(self.checkpoint, end)
        note_expected_parts(self._output.parts, batch, of_tasks=of_tasks)
        if of_tasks:
            return self.session().partitions(slices)
        self._append(slices, batch)
        return []

    def _append(self, slices: Sequence[Slice], batch: int) -> None:
        """Write a range as a part and commit it. The commit does nothing if the range was committed
        before: after a restart Spark plans each micro-batch again that is not in its commit log."""
        from headrace.spark.task import read_slice

        batches = chain.from_iterable(read_slice(slice_, self.config) for slice_ in slices)
        # A process left over from a killed run may write the same micro-batch.
        name = f"{batch}-source-{os.getpid()}"
        part = self._write(name, batches)
        self._output.commit([part], batch, query_of(str(self.checkpoint)))

    def batches(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        part = self._write(task_part_name(), super().batches(partition))
        return iter([as_row(part)] if part.rows else [])

    def _write(self, name: str, batches: Iterator[pa.RecordBatch]) -> FilePart:
        texts = self.config.plain_texts()
        return write_part(self._output.parts, name, batches, indexed=self._indexed, texts=texts)
