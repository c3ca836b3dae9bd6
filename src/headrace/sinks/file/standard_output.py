"""Events as JSON lines on standard output, in total order within a micro-batch, at least once."""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import TYPE_CHECKING, BinaryIO

from headrace.sinks.closed import output_closed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_COLUMNS = ("topic", "key", "value", "headers", "sequence")


class StandardOutputSink:
    """`write` goes to `foreachBatch`. A micro-batch passes through the driver whole; one that a
    killed run began comes again. `texts` are those of key, value and header that are plain texts,
    not JSON."""

    def __init__(self, stream: BinaryIO | None = None, *, texts: Collection[str] = ()) -> None:
        self._stream = sys.stdout.buffer if stream is None else stream
        self._texts = texts

    def write(self, frame: DataFrame, _batch: int) -> None:
        """Raises HeadraceError("console.closed") when nobody reads the lines any more,
        ("file.not_json") for what cannot be JSON."""
        from headrace.sinks.file.lines import LineWriter

        lines = LineWriter(texts=self._texts)
        # Sorted here: Spark would read the source twice, once for the bounds of its ranges.
        table = frame.select(*_COLUMNS).toArrow().sort_by("sequence")
        try:
            for batch in table.to_batches():
                self._stream.write(lines.render(batch))
            self._stream.flush()
        except BrokenPipeError:
            raise output_closed() from None
