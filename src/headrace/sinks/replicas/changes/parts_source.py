"""The `headrace_replica_parts` data source: changes are written as parts by the process that reads
the log.

Only the descriptions of parts go through the JVM. A range that is read in milliseconds is not worth
a task: the source process writes its parts when Spark asks for its partitions, and notes them
beside the parts; the range has no partitions then.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

from headrace.config.properties.connector import ConnectorConfig
from headrace.connect.slices import Slice
from headrace.sinks.parts import task_part_name
from headrace.sinks.replicas.changes.declared_documents import DeclaredDocuments
from headrace.sinks.replicas.changes.parts import (
    COLUMNS,
    PartWriter,
    as_rows,
    describe,
    expect_tasks,
    note_end,
    parts_folder,
)
from headrace.sinks.replicas.modes.mode import TableModes
from headrace.spark.checkpoint import planned_batch
from headrace.spark.query.source_options import CHECKPOINT, FOLDER, SYNC
from headrace.spark.sink_source import SinkReader, SinkSource
from headrace.spark.sinks.registry import find_sink
from headrace.spark.slice_partition import SlicePartition

if TYPE_CHECKING:
    import pyarrow as pa

    from headrace.offsets.offset import OffsetObject
    from headrace.sinks.replicas.changes.part import Part
    from headrace.spark.kernels.needed import Kernels
    from headrace.spark.sinks.definition import SinkDefinition

OVERRIDES = {
    **dict.fromkeys(("key.converter", "value.converter", "header.converter"), "json"),
    "event.converting.failure.handling.mode": "fail",
}
"""Overrides of the configuration: no event is converted, and a value that its column cannot hold is
an error instead of null. They are passed as options of the source, from which the driver derives
the configuration, too, in order to find the source's status (`headrace.spark.query.status`)."""


class ReplicaPartsSource(SinkSource):
    """A data source whose rows are parts (see the module `parts`). Options: FOLDER, CHECKPOINT and
    SYNC of `headrace.spark.query.source_options`, and OVERRIDES."""

    columns = COLUMNS

    @classmethod
    def name(cls) -> str:
        return "headrace_replica_parts"

    def sink_reader(self, config: ConnectorConfig) -> ReplicaPartsReader:
        sync = self.options[SYNC] == "true"
        folder, checkpoint = Path(self.options[FOLDER]), Path(self.options[CHECKPOINT])
        return ReplicaPartsReader(config, folder, checkpoint, sync=sync)


class ReplicaPartsReader(SinkReader):
    """Reads the same slices as other sources, and writes their changes as parts."""

    converts = False
    modules = ("headrace.spark.task", "headrace.sinks.replicas.changes.change_tables")

    def __init__(
        self, config: ConnectorConfig, folder: Path, checkpoint: Path, *, sync: bool
    ) -> None:
        """Set the folder of the sink's state."""
        super().__init__(config, checkpoint, sync=sync)
        self._folder = folder

    def sink_kernels(self) -> Kernels:
        """See HeadraceReader."""
        return _sink(self.config).kernels_of(self.config)

    def plan(self, start: OffsetObject, end: OffsetObject) -> Sequence[InputPartition]:
        slices = self.session().slices(start, end)
        batch = planned_batch(self.checkpoint, end)
        note_end(self._folder, batch, self.session().summary(end))
        if not self.is_small(slices):
            expect_tasks(self._folder, batch)
            return self.session().partitions(slices)
        parts = write_parts(self._folder, f"{batch}-source-{os.getpid()}", slices, self.config)
        describe(self._folder, batch, parts)
        return []

    def batches(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, SlicePartition)
        parts = write_parts(self._folder, task_part_name(), [partition.unpack()], self.config)
        return iter([as_rows(parts)] if parts else [])


def write_parts(
    folder: Path, name: str, slices: Sequence[Slice], config: ConnectorConfig
) -> list[Part]:
    """Write the changes of slices as parts in the folder of the sink's state; the names of files
    begin with `name`. Raises HeadraceError."""
    # Only tasks load compiled code.
    from headrace.sinks.replicas.changes.change_tables import ChangeTables
    from headrace.spark.task import read_records

    options = _sink(config).own_options(config)
    tables = ChangeTables(
        looks_up_documents=not config.without_documents,
        documents=DeclaredDocuments.of(options),
        prefix=config.topic_prefix,
        modes=TableModes.of(options),
    )
    with PartWriter(parts_folder(folder), name) as writer:
        for part in slices:
            for records in read_records(part, config):
                changes_of_tables, failures = tables.of_piece(records, part.sequences)
                for changes in changes_of_tables:
                    writer.add(changes)
                for failure in failures:
                    writer.fail(failure)
        return writer.finish()


def _sink(config: ConnectorConfig) -> SinkDefinition:
    return find_sink(config.headrace_sink_type or "console")
