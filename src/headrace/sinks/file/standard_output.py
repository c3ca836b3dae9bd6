"""Events as JSON lines on standard output, in total order within a micro-batch, at least once."""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import TYPE_CHECKING, BinaryIO

from headrace.sinks.closed import output_closed
from headrace.sinks.file.definition import DEFINITION
from headrace.spark.sinks.definition import (
    BY_POSITION,
    Delivery,
    EventStream,
    Sink,
    SinkDefinition,
    SinkQuery,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_COLUMNS = ("topic", "key", "value", "headers", "sequence")


class StandardOutputDefinition(SinkDefinition):
    """The sink of `headrace events --output -`, which no configuration can name."""

    name = "standard output"
    delivery = Delivery.AT_LEAST_ONCE
    overrides = BY_POSITION
    needs_checkpoint = False
    shows_events = True
    kernels = DEFINITION.kernels

    def make(self, query: SinkQuery) -> Sink:
        """See SinkDefinition. Raises as `require_texts`."""
        from headrace.sinks.texts import require_texts

        require_texts(query.config)
        return StandardOutputSink(texts=query.config.plain_texts())


class StandardOutputSink(Sink):
    """Lines of JSON. A micro-batch passes through the driver as a whole; it is repeated if a run
    was killed within it. `texts` are those of key, value and header that are plain texts, not
    JSON."""

    def __init__(self, stream: BinaryIO | None = None, *, texts: Collection[str] = ()) -> None:
        self._stream = sys.stdout.buffer if stream is None else stream
        self._texts = texts

    def writer(self, stream: EventStream) -> DataStreamWriter:
        """See Sink."""
        return stream.events().writeStream.foreachBatch(self.write)

    def write(self, frame: DataFrame, _batch: int) -> None:
        """Write a micro-batch. Raises HeadraceError("console.closed") when nobody reads the lines
        any more, ("file.not_json") for values that cannot be JSON."""
        from headrace.sinks.lines import LineWriter

        lines = LineWriter(texts=self._texts)
        # Sorted here, because Spark would read the source twice, once for the bounds of its ranges.
        table = frame.select(*_COLUMNS).toArrow().sort_by("sequence")
        try:
            for batch in table.to_batches():
                self._stream.write(lines.render(batch))
            self._stream.flush()
        except BrokenPipeError:
            raise output_closed() from None
