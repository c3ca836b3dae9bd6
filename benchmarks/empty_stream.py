"""What Spark itself takes to start: `python -m benchmarks.empty_stream FILE`.

A session with our settings and a streaming query over a Python source of one row, which needs no
database and no kernel. Writes a line to FILE when its first micro-batch is done.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from headrace.spark.session import build_session


class OneRow(DataSource):
    """A stream of one row."""

    @classmethod
    def name(cls) -> str:
        return "one_row"

    def schema(self) -> str:
        return "value string"

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: ARG002
        return OneRowReader()


class OneRowReader(DataSourceStreamReader):
    """The row is between offsets 0 and 1."""

    def initialOffset(self) -> dict[str, int]:
        return {"n": 0}

    def latestOffset(self, start: dict[str, int], limit: object = None) -> dict[str, int]:  # noqa: ARG002
        time.sleep(0.01)
        return {"n": 1}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:  # noqa: ARG002
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[tuple[str]]:  # noqa: ARG002
        return iter([("x",)])


def main() -> None:
    """Run until it is killed."""
    output = Path(sys.argv[1])
    spark = build_session("benchmark")
    spark.dataSource.register(OneRow)
    with tempfile.TemporaryDirectory() as checkpoint:
        stream = spark.readStream.format("one_row").load()
        query = stream.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
        query.processAllAvailable()
        output.write_text("x\n")
        query.awaitTermination()


if __name__ == "__main__":
    main()
