"""The `headrace_file` format: a Spark stream sink that appends events to one JSON lines file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import DataSource, WriterCommitMessage
from pyspark.sql.types import StringType, StructType

from headrace.errors import HeadraceError, one_sentence
from headrace.sinks.checkpoint import query_of
from headrace.sinks.columns import are_headers
from headrace.sinks.file.output import Output
from headrace.sinks.file.parts import FilePart, write_part
from headrace.sinks.parts import task_part_name
from headrace.spark.versions.writers import BatchWriter

if TYPE_CHECKING:
    from pyarrow import RecordBatch

FORMAT = "headrace_file"
_SLICES = ("any", "position")


class FileSink(DataSource):
    """Writes the columns topic, key, value, headers and sequence; ignores others.

    Options: `path` (the output), `state` (a separate folder, on the same file system if possible),
    `slices`: `any` (default; overlapping parts are merged) or `position` (the source has position
    slices; overlapping parts are an error); `sync`: `true` (default) or `false` (commits do not
    wait for the disk). Register it with `spark.dataSource.register(FileSink)`.
    """

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def streamWriter(self, schema: StructType, overwrite: bool) -> FileWriter:  # noqa: ARG002
        """Create the writer. Raises HeadraceError: "file.option_missing", "file.impossible_option",
        "file.column"."""
        for option in ("path", "state"):
            if not self.options.get(option):
                raise HeadraceError(
                    "file.option_missing",
                    f"The file sink needs the option {option}",
                    "Set path to the output file and state to a folder for its state.",
                )
        sync = self.options.get("sync", "true").lower()
        slices = self.options.get("slices", "any")
        if slices not in _SLICES or sync not in ("true", "false"):
            raise HeadraceError(
                "file.impossible_option",
                f"slices = {slices!r}, sync = {sync!r}: the file sink does not know one of them",
                f"Use {' or '.join(_SLICES)} for slices, true or false for sync.",
            )
        _check_columns(schema)
        writer = FileWriter(
            self.options["path"],
            self.options["state"],
            indexed=slices == "any",
            sync=sync == "true",
            checkpoint=self.options.get("checkpointLocation", ""),
        )
        writer.columns = schema
        return writer


@dataclass(frozen=True)
class PartsWritten(WriterCommitMessage):
    """The commit message of a task: its parts, and the id of the query."""

    parts: tuple[FilePart, ...]
    query: str


class FileWriter(BatchWriter):
    """A writer whose tasks write parts, which the driver joins. No row passes through the
    driver."""

    def __init__(
        self, path: str, folder: str, *, indexed: bool, sync: bool = True, checkpoint: str = ""
    ) -> None:
        """The folder `checkpoint` identifies the query if no task runs that does."""
        self.output = Output(path, folder, sync=sync)
        self.indexed = indexed
        self.checkpoint = checkpoint

    def write_batches(self, batches: Iterator[RecordBatch]) -> PartsWritten:
        """Write one part, in the order given; runs in a task."""
        with one_sentence():
            return self._write(batches)

    def _write(self, iterator: Iterator[RecordBatch]) -> PartsWritten:
        context = TaskContext.get()
        assert context is not None
        query = context.getLocalProperty("sql.streaming.queryId") or ""
        name = task_part_name()
        part = write_part(self.output.parts, name, iterator, indexed=self.indexed)
        return PartsWritten((part,), query)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        written = [message for message in messages if isinstance(message, PartsWritten)]
        query = written[0].query if written else query_of(self.checkpoint)
        parts = [part for message in written for part in message.parts]
        with one_sentence():
            self.output.commit(parts, batchId, query)

    def abort(
        self,
        messages: Sequence[WriterCommitMessage | None],  # noqa: ARG002
        batchId: int,
    ) -> None:
        self.output.sweep(batchId)


def _check_columns(schema: StructType) -> None:
    """Refuse a stream that this sink cannot write as JSON lines."""
    types = {field.name: field.dataType for field in schema.fields}
    required = {"topic": StringType, "key": StringType, "value": StringType, "sequence": StringType}
    for name, kind in required.items():
        if name not in types:
            raise HeadraceError(
                "file.column",
                f"The file sink needs the column {name}",
                "Write the stream of the headrace source with unchanged columns.",
            )
        if not isinstance(types[name], kind):
            raise HeadraceError(
                "file.column",
                f"The file sink takes {name} as string, not {types[name].simpleString()}",
                "Use key.converter=json and value.converter=json.",
            )
    headers = types.get("headers")
    if headers is not None and not are_headers(headers):
        raise HeadraceError(
            "file.column",
            f"The file sink does not accept headers of type {headers.simpleString()}",
            "Keep the column as array<struct<key:string,value:binary>>.",
        )
