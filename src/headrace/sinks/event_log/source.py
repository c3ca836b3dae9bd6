"""The `headrace_event_log` data source: writes a log's files where the events are read.

Only the descriptions of files cross the JVM. A range that takes milliseconds to read is not worth a
task: the source process reads it, and adds it to the log, when Spark asks for its partitions, of
which it then has none.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

from headrace.config.properties.connector import ConnectorConfig
from headrace.connect.slices import Slice
from headrace.sinks.checkpoint import query_of
from headrace.sinks.event_log.log import EventLog
from headrace.sinks.event_log.options import NAME, EventLogOptions
from headrace.sinks.event_log.staged import COLUMNS, StagedFile, StagedFiles, as_batch
from headrace.sinks.parts import note_expected_parts, task_part_name
from headrace.spark.checkpoint import force_plan_to_disk, planned_batch
from headrace.spark.query.source_options import CHECKPOINT, FOLDER
from headrace.spark.sink_source import SinkReader, SinkSource
from headrace.spark.sinks.registry import find_sink

if TYPE_CHECKING:
    import pyarrow as pa

    from headrace.offsets.offset import OffsetObject
    from headrace.sinks.event_log.formats.file_format import FileFormat
    from headrace.spark.kernels.needed import Kernels


class EventLogSource(SinkSource):
    """The data source. Its options are the sink's state folder and the query's checkpoint. A row is
    a staged file (headrace.sinks.event_log.staged.COLUMNS)."""

    columns = COLUMNS

    @classmethod
    def name(cls) -> str:
        return "headrace_event_log"

    def sink_reader(self, config: ConnectorConfig) -> EventLogReader:
        options = EventLogOptions.of(find_sink(NAME).own_options(config))
        return EventLogReader(
            config, options, Path(self.options[FOLDER]), Path(self.options[CHECKPOINT])
        )


class EventLogReader(SinkReader):
    """Reads the same slices as other sources, and writes them where they are read."""

    sink = NAME

    def __init__(
        self, config: ConnectorConfig, options: EventLogOptions, folder: Path, checkpoint: Path
    ) -> None:
        super().__init__(config, checkpoint, sync=options.sync)
        self._options = options
        self._log = EventLog(options.path, folder, sync=options.sync)

    def sink_kernels(self) -> Kernels:
        """See HeadraceReader."""
        return find_sink(NAME).kernels_of(self.config)

    def plan(self, start: OffsetObject, end: OffsetObject) -> Sequence[InputPartition]:
        slices = self.session().slices(start, end)
        of_tasks = not self.is_small(slices)
        batch = planned_batch(self.checkpoint, end)
        if self._options.sync:
            # Events that readers have seen cannot be revoked if the plan is lost.
            force_plan_to_disk(self.checkpoint, batch)
        note_expected_parts(self._log.staged, batch, of_tasks=of_tasks)
        if of_tasks:
            return self.session().partitions(slices)
        files = self._write(f"{batch}-source", slices)
        self._log.commit(files, batch, query_of(str(self.checkpoint)))
        return []

    def batches(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        files = self._write(task_part_name(), self.slices(partition))
        return iter([as_batch(files)] if files else [])

    def _write(self, name: str, slices: Iterable[Slice]) -> list[StagedFile]:
        from headrace.spark.task import read_slice_with_times

        options = self._options
        staged = StagedFiles(
            self._log.staged, name, _format(options, self.config), options.layout, options.limits,
            sync=options.sync,
        )  # fmt: skip
        batches = (batch for part in slices for batch in read_slice_with_times(part, self.config))
        return staged.write(batches, time.time_ns() // 1000)


_formats: dict[EventLogOptions, tuple[ConnectorConfig, FileFormat]] = {}


def _format(options: EventLogOptions, config: ConnectorConfig) -> FileFormat:
    """The format of this process, which caches compiled schemas and answers for its
    configuration."""
    from headrace.sinks.event_log.formats.configured import file_format

    known = _formats.get(options)
    if known is None or known[0] != config:
        known = _formats[options] = config, file_format(options, config)
    return known[1]
