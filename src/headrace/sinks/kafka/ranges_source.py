"""The `headrace_kafka_ranges` data source: writes records to Kafka where they are read.

Rows do not cross the JVM; a task gives Spark one row that describes its work. Small ranges need no
task: the source process writes them when Spark asks for their partitions. Ranges with queried rows
are written by tasks as parts, which the driver then sends by one producer
(headrace.sinks.kafka.ranges_sink), because such a range arrives whole or not at all (Invariant 2b).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

from headrace.config.properties.connector import ConnectorConfig
from headrace.connect.slices import Slice
from headrace.sinks.checkpoint import query_of
from headrace.sinks.kafka.markers import Turn
from headrace.sinks.kafka.options import KafkaOptions
from headrace.sinks.kafka.plan import PlanFolder, Way, digest_of
from headrace.sinks.parts import task_part_name
from headrace.spark.checkpoint import force_plan_to_disk, planned_batch
from headrace.spark.query.source_options import CHECKPOINT, FOLDER
from headrace.spark.sink_source import SinkReader, SinkSource
from headrace.spark.slice_partition import SlicePartition

if TYPE_CHECKING:
    import pyarrow as pa

    from headrace.offsets.offset import OffsetObject
    from headrace.sinks.kafka.ranges import Ranges


class KafkaRangesSource(SinkSource):
    """The data source. Its options are the sink's state folder and the query's checkpoint."""

    columns = "slice int, events bigint, part string"

    @classmethod
    def name(cls) -> str:
        return "headrace_kafka_ranges"

    def sink_reader(self, config: ConnectorConfig) -> KafkaReader:
        return KafkaReader(config, Path(self.options[FOLDER]), Path(self.options[CHECKPOINT]))


class SliceOfTurn(InputPartition):
    """A slice of a micro-batch, as a partition. `is_first`: the slice has no marker yet."""

    def __init__(
        self, partition: SlicePartition, turn: Turn, number: int, way: Way, *, is_first: bool
    ) -> None:
        self._partition = partition
        self.turn, self.number, self.way, self.is_first = turn, number, way, is_first

    def unpack(self) -> Slice:
        """Return the slice."""
        return self._partition.unpack()


class KafkaReader(SinkReader):
    """Reads the same slices as other sources, and writes them where they are read."""

    sink = "kafka"

    def __init__(self, config: ConnectorConfig, folder: Path, checkpoint: Path) -> None:
        super().__init__(config, checkpoint, sync=True)
        self.options = KafkaOptions.of_configuration(config)
        self.folder = PlanFolder(folder)

    def plan(self, start: OffsetObject, end: OffsetObject) -> Sequence[InputPartition]:
        source = self.session()
        slices = source.slices(start, end)
        batch = planned_batch(self.checkpoint, end)
        # Records in Kafka cannot be revoked if the plan is lost.
        force_plan_to_disk(self.checkpoint, batch)
        ranges = _ranges(self)
        plan = ranges.plan(batch, len(slices), digest_of(end), self._way(slices))
        if plan.way is Way.DIRECT:
            ranges.write(plan, lambda: chain.from_iterable(map(self._read, slices)))
            return []
        return [
            SliceOfTurn(part, plan.turn, number, plan.way, is_first=ranges.begins(number))
            for number, part in enumerate(source.partitions(slices))
        ]

    def _way(self, slices: Sequence[Slice]) -> Way:
        if self.is_small(slices):
            return Way.DIRECT
        queried = any(part.log_bytes is None for part in slices)
        return Way.PARTS if queried and self.options.is_transactional else Way.SLICES

    def _read(self, part: Slice) -> Iterable[pa.RecordBatch]:
        from headrace.spark.task import read_slice

        return read_slice(part, self.config)

    def batches(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Write a slice, or a part; runs in a task."""
        import pyarrow as pa

        assert isinstance(partition, SliceOfTurn)
        name = ""
        if partition.way is Way.PARTS:
            from headrace.sinks.kafka.parts import write_part

            name = task_part_name()
            events = write_part(self.folder.parts / name, self._read(partition.unpack()))
        else:
            events = self._write(partition)
        columns = {
            "slice": pa.array([partition.number], pa.int32()),
            "events": pa.array([events], pa.int64()),
            "part": [name if events else ""],
        }
        return iter([pa.RecordBatch.from_pydict(columns)])

    def _write(self, partition: SliceOfTurn) -> int:
        from headrace.sinks.kafka.bookkeeping import Bookkeeping
        from headrace.sinks.kafka.ranges import step_of_slice
        from headrace.sinks.kafka.writer import Writer

        turn, number = partition.turn, partition.number
        bookkeeping = Bookkeeping(self.options)
        writer = Writer(self.options, str(number))
        try:
            return (
                writer.write(
                    turn,
                    number,
                    lambda: self._read(partition.unpack()),
                    lambda: step_of_slice(bookkeeping, turn, number, is_first=partition.is_first),
                )
                or 0
            )
        finally:
            writer.close()


_opened: Ranges | None = None


def _ranges(reader: KafkaReader) -> Ranges:
    """The ranges of this source process, which belongs to one query."""
    import os

    from headrace.connectors.waiting import Waiting
    from headrace.sinks.kafka.ranges import Ranges
    from headrace.spark.source_process import Orphaned

    global _opened
    if _opened is None:
        _opened = Ranges(
            reader.options,
            reader.folder,
            query_of(str(reader.checkpoint)),
            Waiting(Orphaned()).pause,
            reader.config.headrace_slices or os.cpu_count() or 1,
        )
    return _opened
