"""What a micro-batch into `noop` takes, and what of it is ours: `python -m
benchmarks.postgresql.micro_batch`.

Two streams in turn, in one session with our settings: a Python source that yields one row of the
same columns, made of constants, and headrace with a row now and then. Prints the median and 95th
percentile of each part of Spark's progress, in milliseconds. `latestOffset` is waiting.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.query import StreamingQuery

import headrace
from headrace.spark.session import build_session
from headrace.testing.embedded import PostgresServer

_BATCHES, _WARM_UP = 80, 15
_COLUMNS = (
    "topic STRING NOT NULL, partition INT, key STRING, value STRING, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>, sequence STRING NOT NULL"
)
_PARTS = ("addBatch", "queryPlanning", "walCommit", "commitOffsets", "latestOffset")


class Constants(DataSource):
    """A stream of one row per micro-batch."""

    @classmethod
    def name(cls) -> str:
        return "constants"

    def schema(self) -> str:
        return _COLUMNS

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: ARG002
        return ConstantsReader()


class ConstantsReader(DataSourceStreamReader):
    """Offsets count micro-batches."""

    def initialOffset(self) -> dict[str, int]:
        return {"n": 0}

    def latestOffset(self, start: dict[str, int], limit: object = None) -> dict[str, int]:  # noqa: ARG002
        time.sleep(0.05)
        return {"n": start["n"] + 1}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:  # noqa: ARG002
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[Any]:  # noqa: ARG002
        import pyarrow as pa

        header = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
        schema = pa.schema(
            [
                pa.field("topic", pa.string(), nullable=False),
                pa.field("partition", pa.int32()),
                pa.field("key", pa.string()),
                pa.field("value", pa.string()),
                pa.field("headers", pa.list_(header)),
                pa.field("sequence", pa.string(), nullable=False),
            ]
        )
        row = {"topic": "t", "key": "k", "value": "v", "sequence": "s"}
        yield pa.RecordBatch.from_pylist([row], schema=schema)


def _measure(name: str, stream: Any) -> None:
    with tempfile.TemporaryDirectory() as checkpoint:
        query: StreamingQuery = (
            stream.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
        )
        while query.isActive and len(_with_rows(query)) < _BATCHES:
            time.sleep(0.1)
        batches = _with_rows(query)[_WARM_UP:]
        query.stop()
    percentiles = []
    for part in _PARTS:
        took = [batch["durationMs"].get(part, 0) for batch in batches]
        p50, p95 = np.percentile(took, [50, 95])
        percentiles.append(f"{part} {p50:.0f} / {p95:.0f}")
    print(f"{name:10s} ms p50 / p95: {', '.join(percentiles)}", flush=True)


def _with_rows(query: StreamingQuery) -> list[dict[str, Any]]:
    return [batch for batch in query.recentProgress if batch["numInputRows"]]


def _headrace(spark: SparkSession, server: PostgresServer, slot: str) -> None:
    options = headrace.options(
        {
            "connector.class": "postgres",
            "topic.prefix": "bench",
            "database.hostname": "127.0.0.1",
            "database.port": str(server.port),
            "database.user": "postgres",
            "database.dbname": "postgres",
            "plugin.name": "pgoutput",
            "slot.name": slot,
            "snapshot.mode": "no_data",
        }
    )
    ended = threading.Event()

    def write() -> None:
        with server.connect() as connection:
            while not ended.wait(0.15):
                connection.execute("INSERT INTO orders (name) VALUES ('a name')")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        _measure("headrace", spark.readStream.format("headrace").options(**options).load())
    finally:
        ended.set()
        writer.join()


def main() -> None:
    """Both streams, twice."""
    spark = build_session("benchmark")
    headrace.register(spark)
    spark.dataSource.register(Constants)
    with PostgresServer() as server:
        server.execute("CREATE TABLE orders (id serial PRIMARY KEY, customer int, name text)")
        for number in range(2):
            _measure("constants", spark.readStream.format("constants").load())
            _headrace(spark, server, f"slot_{number}")
    spark.stop()


if __name__ == "__main__":
    main()
