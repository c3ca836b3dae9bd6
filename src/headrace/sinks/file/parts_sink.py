"""Commits the micro-batches of `headrace_parts`."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.sinks.checkpoint import query_of
from headrace.sinks.file.output import Output
from headrace.sinks.file.parts import of_rows
from headrace.sinks.parts import expects_parts
from headrace.spark.query.source_options import CHECKPOINT, FOLDER, OUTPUT, SYNC
from headrace.spark.sinks.batches import BatchSink
from headrace.spark.sinks.definition import EventStream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class PartsSink(BatchSink):
    """A query's events in one output: a micro-batch may be repeated, but is appended once."""

    def __init__(self, output: Output, checkpoint: Path) -> None:
        self._output, self._checkpoint = output, checkpoint
        self._before = self._rows = 0
        self._held = contextlib.ExitStack()

    def open(self) -> None:
        """See Sink. Raises as Output.open and Output.owned."""
        self._before = self._rows = self._output.open().rows
        self._held.enter_context(self._output.owned())

    def read(self, stream: EventStream) -> DataFrame:
        """See BatchSink: one row per part."""
        from headrace.sinks.file.parts_source import PartsDataSource

        output = self._output
        options = {
            OUTPUT: str(output.path),
            FOLDER: str(output.folder),
            CHECKPOINT: str(self._checkpoint),
            SYNC: str(output.sync).lower(),
        }
        return stream.read(PartsDataSource, options)

    def end(self, frame: Any, batch: int) -> None:
        """Join the parts of a micro-batch, unless the source process did, as it does for small
        ones."""
        if not expects_parts(self._output.parts, batch):
            return
        batches = self.rows_of(frame).to_batches()
        query = query_of(str(self._checkpoint))
        self._output.commit(of_rows(iter(batches)), batch, query, keep_files=True)

    def new_rows(self, _progress: Mapping[str, Any]) -> int:
        """See Sink."""
        before, self._rows = self._rows, self._output.rows()
        return self._rows - before

    @property
    def rows(self) -> int:
        """See Sink."""
        return self._output.rows() - self._before

    def close(self) -> None:
        """See Sink."""
        with self._held, contextlib.suppress(OSError):
            self._output.close()
