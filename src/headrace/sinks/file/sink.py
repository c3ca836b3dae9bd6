"""The `headrace_file` format: a Spark stream sink that appends events to one JSON lines file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext
from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import ArrayType, BinaryType, StringType, StructType

from headrace.errors import HeadraceError
from headrace.sinks.file.output import Output, Part, write_all

if TYPE_CHECKING:
    from pyarrow import RecordBatch

FORMAT = "headrace_file"
_SLICES = ("any", "position")


class FileSink(DataSource):
    """Writes the columns topic, key, value, headers and sequence; others are ignored.

    Options: `path` (the output), `state` (a folder of its own, on the same file system if
    possible), `slices`: `any` (default; parts that overlap are merged) or `position` (the source
    was asked for position slices; parts that overlap are an error); `sync`: `true` (default) or
    `false` (commits do not wait for the disk). Register it with
    `spark.dataSource.register(FileSink)`.
    """

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def streamWriter(self, schema: StructType, overwrite: bool) -> FileWriter:  # noqa: ARG002
        """Raises HeadraceError: "file.option_missing", "file.impossible_option", "file.column"."""
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
        return FileWriter(
            self.options["path"],
            self.options["state"],
            indexed=slices == "any",
            sync=sync == "true",
        )


@dataclass(frozen=True)
class PartWritten(WriterCommitMessage):
    """A task's answer: its part, and the query that it belongs to."""

    part: Part
    query: str


class FileWriter(DataSourceStreamArrowWriter):
    """Tasks write parts; the driver joins them. No row passes through the driver."""

    def __init__(self, path: str, folder: str, *, indexed: bool, sync: bool = True) -> None:
        self.output = Output(path, folder, sync=sync)
        self.indexed = indexed

    def write(self, iterator: Iterator[RecordBatch]) -> PartWritten:
        """Runs in a task: one part, in the order given."""
        context = TaskContext.get()
        assert context is not None
        batch = int(context.getLocalProperty("streaming.sql.batchId") or 0)
        query = context.getLocalProperty("sql.streaming.queryId") or ""
        name = f"{batch}-{context.partitionId()}-{context.taskAttemptId()}"
        return PartWritten(self._write_part(name, iterator), query)

    def _write_part(self, name: str, batches: Iterator[RecordBatch]) -> Part:
        # Loading the compiled pass is for tasks only; the committing process does without.
        from headrace.sinks.file.lines import LineWriter

        lines = LineWriter(with_ends=self.indexed)
        path = self.output.part_path(name)
        index = IndexWriter() if self.indexed else None
        file = -1
        rows = length = 0
        try:
            for batch in batches:
                content = lines.render(batch)
                if not content:
                    continue
                if file < 0:
                    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
                write_all(file, content)
                if index is not None:
                    index.add(batch.column("sequence"), lines.ends + length)
                rows += batch.num_rows
                length += len(content)
            if index is not None and rows:
                self.output.part_path(f"{name}.index").write_bytes(index.content())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        finally:
            if file >= 0:
                os.close(file)
        return Part(
            name, rows, length, lines.first or b"", lines.last, lines.sorted, index is not None
        )

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        written = [message for message in messages if isinstance(message, PartWritten)]
        query = written[0].query if written else ""
        self.output.commit([message.part for message in written], batchId, query)

    def abort(
        self,
        messages: Sequence[WriterCommitMessage | None],  # noqa: ARG002
        batchId: int,
    ) -> None:
        self.output.sweep(batchId)


class IndexWriter:
    """Collects the index of a part: line ends, then sequences of one width."""

    def __init__(self) -> None:
        self._ends: list[bytes] = []
        self._sequences: list[bytes] = []
        self._width = 0

    def add(self, sequences: Any, ends: Any) -> None:
        """One batch's sequences (an Arrow string array) and line ends (int64, from the start)."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        extremes = pc.min_max(pc.binary_length(sequences)).as_py()
        width = self._width or extremes["max"]
        if extremes["min"] != width or extremes["max"] != width:
            raise HeadraceError(
                "file.sequence_width",
                "The sequences of a micro-batch have different widths",
                "Keep the column `sequence` as the headrace source gives it.",
            )
        self._width = width
        self._ends.append(ends.tobytes())
        text = sequences.cast(pa.string())
        _, offsets, data = text.buffers()
        start = int(np.frombuffer(offsets, np.int32)[text.offset])
        self._sequences.append(bytes(data)[start : start + width * len(text)])

    def content(self) -> bytes:
        """The index file's content."""
        return b"".join(self._ends + self._sequences)


def _check_columns(schema: StructType) -> None:
    """Refuse a stream that this sink cannot write as JSON lines."""
    types = {field.name: field.dataType for field in schema.fields}
    wanted = {"topic": StringType, "key": StringType, "value": StringType, "sequence": StringType}
    for name, kind in wanted.items():
        if name not in types:
            raise HeadraceError(
                "file.column",
                f"The file sink needs the column {name}",
                "Write the stream of the headrace source with its columns as they are.",
            )
        if not isinstance(types[name], kind):
            raise HeadraceError(
                "file.column",
                f"The file sink takes {name} as string, not {types[name].simpleString()}",
                "Use key.converter=json and value.converter=json.",
            )
    headers = types.get("headers")
    if headers is not None and not _are_headers(headers):
        raise HeadraceError(
            "file.column",
            f"The file sink cannot take headers as {headers.simpleString()}",
            "Keep the column as array<struct<key:string,value:binary>>.",
        )


def _are_headers(kind: Any) -> bool:
    if not isinstance(kind, ArrayType) or not isinstance(kind.elementType, StructType):
        return False
    fields = [field.dataType for field in kind.elementType.fields]
    return (
        len(fields) == 2
        and isinstance(fields[0], StringType)
        and isinstance(fields[1], StringType | BinaryType)
    )
