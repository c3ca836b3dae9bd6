"""The `headrace_parts` data source: the file sink's parts are written where the events are read.

A row that goes from a source's task to a sink's task crosses the JVM, which costs more than making
the event. Between our own source and the file sink only the descriptions of parts do. And a range
that takes milliseconds to read is not worth a task: the source process reads it, and appends it to
the output, when Spark asks for its partitions; there are none then.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from headrace.config.properties.connector import ConnectorConfig
from headrace.connect.slices import Slice
from headrace.connectors.registry import parse_options
from headrace.sinks.checkpoint import query_of
from headrace.sinks.file.output import Output
from headrace.sinks.file.parts import COLUMNS, Part, as_row, write_part
from headrace.sinks.parts import task_part_name
from headrace.spark.checkpoint import planned_batch
from headrace.spark.query.told import CHECKPOINT, FOLDER, OUTPUT, PARTS_OPTIONS, SYNC
from headrace.spark.sinks.reader import SinkReader
from headrace.spark.source import HeadraceDataSource, HeadraceReader

if TYPE_CHECKING:
    import pyarrow as pa

    from headrace.offsets.offset import OffsetObject

FORMAT = "headrace_parts"


class PartsDataSource(HeadraceDataSource):
    """Options as those of `headrace`, and those of the sink: its output, its state folder, and the
    query's checkpoint, on this host. The columns are headrace.sinks.file.parts.COLUMNS, a row a
    slice. headrace.spark.parts_sink commits them."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return COLUMNS

    def streamReader(self, schema: StructType) -> HeadraceReader:  # noqa: ARG002
        return self._reader(self._parts_reader)

    def _parts_reader(self) -> PartsReader:
        options = {
            name: self.options[name] for name in self.options if name.lower() not in PARTS_OPTIONS
        }
        sync = self.options[SYNC] == "true"
        output = Output(self.options[OUTPUT], self.options[FOLDER], sync=sync)
        return PartsReader(parse_options(options), output, Path(self.options[CHECKPOINT]))


class PartsReader(SinkReader):
    """Reads the same slices, and writes them where they are read."""

    sinks = ("file",)

    def __init__(self, config: ConnectorConfig, output: Output, checkpoint: Path) -> None:
        super().__init__(config, checkpoint, sync=output.sync)
        self._output = output
        self._indexed = str(config.headrace_slice_order) != "position"

    def plan(self, start: OffsetObject, end: OffsetObject) -> Sequence[InputPartition]:
        slices = self.session().slices(start, end)
        of_tasks = not self._is_small(slices)
        batch = planned_batch(self.checkpoint, end)
        self._output.await_parts(batch, of_tasks=of_tasks)
        if of_tasks:
            return self.session().partitions(slices)
        self._append(slices, batch)
        return []

    def _append(self, slices: Sequence[Slice], batch: int) -> None:
        """Write a range as a part and commit it, which does nothing when it was committed before:
        Spark plans the micro-batches again that are not in its commit log."""
        from headrace.spark.task import read_slice

        batches = chain.from_iterable(read_slice(part, self.config) for part in slices)
        # What a killed run left behind may be at the same micro-batch.
        name = f"{batch}-source-{os.getpid()}"
        part = self._write(name, batches)
        self._output.commit([part], batch, query_of(str(self.checkpoint)))

    def batches(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        part = self._write(task_part_name(), super().batches(partition))
        return iter([as_row(part)] if part.rows else [])

    def _write(self, name: str, batches: Iterator[pa.RecordBatch]) -> Part:
        texts = self.config.plain_texts()
        return write_part(self._output.parts, name, batches, indexed=self._indexed, texts=texts)
