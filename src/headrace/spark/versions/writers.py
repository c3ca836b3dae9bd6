"""The base class of stream writers whose tasks receive Arrow batches, for each version of Spark."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from pyspark.sql import datasource
from pyspark.sql.datasource import DataSourceStreamWriter, WriterCommitMessage
from pyspark.sql.types import Row, StructType

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_PER_BATCH = 10_000


class BatchWriter(getattr(datasource, "DataSourceStreamArrowWriter", DataSourceStreamWriter)):  # type: ignore[misc]
    """A writer of Arrow batches: Spark 4.1 and later passes batches, 4.0 passes rows, which are
    converted. `columns` is the schema of the rows."""

    columns: StructType

    @abstractmethod
    def write_batches(self, batches: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the batches of a task."""

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        """Write the rows or batches of a task; called by Spark."""
        if hasattr(datasource, "DataSourceStreamArrowWriter"):
            return self.write_batches(iterator)
        return self.write_batches(_batches(iterator, self.columns))


def _batches(rows: Iterator[Row], columns: StructType) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    from headrace.spark.versions.types import arrow_schema

    schema = arrow_schema(columns)
    while rows_as_dicts := [row.asDict(recursive=True) for row in islice(rows, _ROWS_PER_BATCH)]:
        yield pa.RecordBatch.from_pylist(rows_as_dicts, schema=schema)
