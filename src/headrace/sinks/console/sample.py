"""The first records of every slice and how many more there were: one pass, bounded results."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

SCHEMA = "topic string, key string, value string, sequence string, more long"
_MOST_BYTES = 4 << 20


def sample(rows: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """For `DataFrame.mapInArrow`: at most `rows` rows and 4 MB per slice, then a count.

    In the counting row only `more` is set; it comes last and only when rows were left out.
    """

    def take(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        taken = size = more = 0
        for batch in batches:
            count = 0 if size > _MOST_BYTES else min(rows - taken, batch.num_rows)
            more += batch.num_rows - count
            if not count:
                continue
            # Copied, so that sizes count the rows taken and not the batch they are cut from.
            head = batch.select(["topic", "key", "value", "sequence"]).take(pa.array(range(count)))
            columns = [column.cast(pa.string()) for column in head.columns]
            size += sum(column.nbytes for column in columns)
            taken += count
            yield _batch([*columns, pa.nulls(count, pa.int64())])
        if more:
            yield _batch([*[pa.nulls(1, pa.string())] * 4, pa.array([more], pa.int64())])

    return take


def _batch(columns: list[pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(columns, ["topic", "key", "value", "sequence", "more"])
