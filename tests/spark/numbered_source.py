"""A stream of numbers up to what a file says, for tests of the supervisor and of sinks.

Files in the option `folder`: `head` (how many numbers exist), `fail` (a text: reading raises
it as HeadraceError once per restart), `die` (a task kills its worker and removes the file),
`bug` (reading raises ZeroDivisionError), `void` (the next micro-batch has no task; the file is
removed).
"""

import json
import os
import signal
import time
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamReader,
    InputPartition,
)

from headrace.errors import HeadraceError

SCHEMA = (
    "topic string not null, partition int, key string, value string, "
    "headers array<struct<key:string,value:binary>>, sequence string not null"
)

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


class NumberedSource(DataSource):
    @classmethod
    def name(cls):
        return "numbered"

    def schema(self):
        return SCHEMA

    def streamReader(self, schema):
        return NumberedReader(Path(self.options["folder"]), int(self.options.get("limit", 5000)))


class NumberedReader(DataSourceStreamReader):
    def __init__(self, folder, limit):
        self.folder, self.limit = folder, limit
        self.end = {}

    def initialOffset(self):
        return {"lsn_commit": 0}

    def getDefaultReadLimit(self):
        from pyspark.sql.streaming.datasource import ReadAllAvailable

        return ReadAllAvailable()

    def head(self):
        return int((self.folder / "head").read_text())

    def latestOffset(self, start=None, limit=None):
        if start is None:  # Spark 4.0 and 4.1
            start = self.start()
        if (self.folder / "void").exists():
            (self.folder / "void").unlink()
            self.end = start | {"void": start.get("void", 0) + 1}
            return self.end
        deadline = time.monotonic() + 0.3
        while self.head() <= start["lsn_commit"] and time.monotonic() < deadline:
            time.sleep(0.01)
        self.end = start | {
            "lsn_commit": max(
                start["lsn_commit"], min(start["lsn_commit"] + self.limit, self.head())
            )
        }
        return self.end

    def reportLatestOffset(self):
        return self.end | {"lsn_commit": self.head()}

    def start(self):
        """The end of the last micro-batch that Spark planned, in this run or a former one."""
        planned = self.folder / "planned"
        return json.loads(planned.read_text()) if planned.exists() else self.initialOffset()

    def partitions(self, start, end):
        (self.folder / "planned").write_text(json.dumps(end))
        first, last = start["lsn_commit"], end["lsn_commit"]
        if first == last:
            return []
        middle = (first + last) // 2
        return [InputPartition((middle, last)), InputPartition((first, middle))]

    def read(self, partition):
        first, last = partition.value
        if (self.folder / "die").exists():
            (self.folder / "die").unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        if (self.folder / "fail").exists():
            retriable = (self.folder / "fail").read_text() == "retriable"
            (self.folder / "fail").unlink()
            raise HeadraceError(
                "numbers.broken", "The numbers are broken", "Repair them.", retriable=retriable
            )
        if (self.folder / "bug").exists():
            _ = 1 / 0
        for at in range(first, last, 1000):
            numbers = range(at, min(at + 1000, last))
            yield pa.RecordBatch.from_arrays(
                [
                    pa.array(["t"] * len(numbers)),
                    pa.nulls(len(numbers), pa.int32()),
                    pa.array([f'{{"id":{n}}}' for n in numbers]),
                    pa.array([f'{{"op":"c","after":{{"id":{n}}}}}' for n in numbers]),
                    pa.array([None] * len(numbers), HEADERS),
                    pa.array([f"{n:016x}" for n in numbers]),
                ],
                schema=pa.schema([
                    pa.field("topic", pa.string(), nullable=False),
                    pa.field("partition", pa.int32()),
                    pa.field("key", pa.string()),
                    pa.field("value", pa.string()),
                    pa.field("headers", HEADERS),
                    pa.field("sequence", pa.string(), nullable=False),
                ]),
            )  # fmt: skip
