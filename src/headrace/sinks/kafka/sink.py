"""The `headrace_kafka` format: a Spark stream sink that sends a DataFrame's rows to Kafka."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, WriterCommitMessage
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructType

from headrace.connect.disk import force_to_disk
from headrace.errors import HeadraceError, one_sentence
from headrace.sinks.checkpoint import query_of
from headrace.sinks.columns import are_headers
from headrace.sinks.kafka.options import KafkaOptions
from headrace.sinks.parts import sweep_parts, task_part_name
from headrace.spark.checkpoint import local_path
from headrace.spark.versions.writers import BatchWriter

if TYPE_CHECKING:
    from pyarrow import RecordBatch

FORMAT = "headrace_kafka"
_FOLDER = "headrace-kafka"
_NEEDED = ("topic", "key", "value")
_TYPES: Mapping[str, tuple[type, ...]] = {
    "topic": (StringType,),
    "partition": (IntegerType,),
    "key": (StringType, BinaryType),
    "value": (StringType, BinaryType),
    "sequence": (StringType,),
}


class KafkaSink(DataSource):
    """Writes the columns topic, key, value, and, if they exist, partition and headers; with
    `sequence.header` also sequence. Ignores other columns.

    Options: `kafka.bootstrap.servers` and other settings of Kafka's producer with the prefix
    `kafka.`; `name` (of the query, in transactional ids; default: the checkpoint's id), `state` (a
    folder for parts that the driver and all executors see; default: one in a checkpoint on a local
    disk), `delivery`, `sequence.header`, `bookkeeping.topic`, `bookkeeping.lost`,
    `topic.creation.*`: see docs/guides/kafka.md. Each micro-batch arrives whole, by one transaction
    of one producer, because its rows may differ when Spark computes them again. Spark finds the
    format by itself as `headrace_kafka`.
    """

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def streamWriter(self, schema: StructType, overwrite: bool) -> KafkaWriter:  # noqa: ARG002
        """Create the writer. Raises HeadraceError: "kafka.column", "kafka.no_state", and as
        KafkaOptions.of."""
        checkpoint = self.options.get("checkpointLocation", "")
        options_of_sink = {name: text for name, text in self.options.items() if name != "path"}
        folder = options_of_sink.get("state") or _inside(checkpoint)
        # The checkpoint's id exists once the query runs.
        options = KafkaOptions.of(options_of_sink, name=query_of(checkpoint) or "-")
        is_named = bool(options_of_sink.get("name"))
        _check_columns(schema, with_sequence=options.sequence_header)
        writer = KafkaWriter(
            options if is_named else None, options_of_sink, Path(folder), checkpoint
        )
        writer.columns = schema
        return writer


@dataclass(frozen=True)
class PartWritten(WriterCommitMessage):
    """The commit message of a task: the slice that it wrote, its part (empty: no rows), and the id
    of the query."""

    number: int
    part: str
    query: str


class KafkaWriter(BatchWriter):
    """A writer whose tasks write parts, which the driver sends. No row passes through the driver's
    JVM."""

    def __init__(
        self,
        options: KafkaOptions | None,
        unread_options: Mapping[str, str],
        folder: Path,
        checkpoint: str,
    ) -> None:
        """`options` None: read from `unread_options` when the checkpoint's id is known."""
        self.options, self.given = options, dict(unread_options)
        # Queries may share a folder.
        query = hashlib.sha256(checkpoint.encode()).hexdigest()[:16]
        self.parts, self.checkpoint = folder / "parts" / query, checkpoint

    def write_batches(self, batches: Iterator[RecordBatch]) -> PartWritten:
        """Write one part, in the order given; runs in a task."""
        with one_sentence():
            return self._write(batches)

    def _write(self, iterator: Iterator[RecordBatch]) -> PartWritten:
        from pyspark import TaskContext

        from headrace.sinks.kafka.parts import write_part

        context = TaskContext.get()
        assert context is not None
        self.parts.mkdir(parents=True, exist_ok=True)
        name = task_part_name()
        records = write_part(self.parts / name, iterator)
        query = context.getLocalProperty("sql.streaming.queryId") or ""
        return PartWritten(context.partitionId(), name if records else "", query)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Send the parts of tasks, unless Kafka has the micro-batch. Raises HeadraceError."""
        with one_sentence():
            self._commit(messages, batchId)

    def _commit(self, messages: Sequence[WriterCommitMessage | None], batch: int) -> None:
        from headrace.sinks.kafka.parts import read_parts
        from headrace.sinks.kafka.ranges import send_range

        written = [message for message in messages if isinstance(message, PartWritten)]
        query = written[0].query if written else query_of(self.checkpoint)
        if not query:
            raise _no_checkpoint()
        options = self.options or KafkaOptions.of(self.given, name=query)
        written.sort(key=lambda message: message.number)
        paths = [self.parts / message.part for message in written if message.part]
        send_range(
            options, query, batch, _digest(self.checkpoint, batch), lambda: read_parts(paths)
        )
        self._sweep(batch)

    def abort(
        self,
        messages: Sequence[WriterCommitMessage | None],  # noqa: ARG002
        batchId: int,
    ) -> None:
        self._sweep(batchId)

    def _sweep(self, batch: int) -> None:
        if self.parts.exists():
            sweep_parts(self.parts, batch)


def _inside(checkpoint: str) -> str:
    """The default folder of the state, in a checkpoint on a local disk."""
    path = local_path(checkpoint)
    if not path or "://" in path:
        raise HeadraceError(
            "kafka.no_state",
            "The kafka sink has no folder for its parts: the checkpoint "
            f"{checkpoint!r} is not on a local disk",
            "Set the option state to a folder that the driver and all executors see.",
        )
    return str(Path(path) / _FOLDER)


def _digest(checkpoint: str, batch: int) -> str:
    """The digest of a micro-batch's entry in Spark's log, which it forces to the disk; empty if the
    log is not on this host."""
    path = local_path(checkpoint)
    entry = Path(path) / "offsets" / str(batch)
    try:
        _version, _metadata, *offsets = entry.read_bytes().splitlines()
        for place in (entry, entry.parent):
            force_to_disk(place)
    except (OSError, ValueError):
        return ""
    return hashlib.sha256(b"\n".join(offsets)).hexdigest()[:32]


def _no_checkpoint() -> HeadraceError:
    return HeadraceError(
        "kafka.no_checkpoint",
        "The kafka sink does not know which checkpoint its query has",
        "Set checkpointLocation as an option of this stream.",
    )


def _check_columns(schema: StructType, *, with_sequence: bool) -> None:
    """Refuse a stream without the columns of records."""
    types = {field.name: field.dataType for field in schema.fields}
    needed = (*_NEEDED, "sequence") if with_sequence else _NEEDED
    for name in needed:
        if name not in types:
            raise HeadraceError(
                "kafka.column",
                f"The kafka sink needs the column {name}",
                "Write the stream of the headrace source, or columns named topic, key and value.",
            )
    for name, kinds in _TYPES.items():
        if name in types and not isinstance(types[name], kinds):
            expected = " or ".join(kind().simpleString() for kind in kinds)
            raise HeadraceError(
                "kafka.column",
                f"The kafka sink takes {name} as {expected}, not {types[name].simpleString()}",
                f"Cast the column {name}, or choose another converter.",
            )
    headers = types.get("headers")
    if headers is not None and not are_headers(headers):
        raise HeadraceError(
            "kafka.column",
            f"The kafka sink does not accept headers of type {headers.simpleString()}",
            "Keep the column as array<struct<key:string,value:binary>>.",
        )
