"""A query into a sink, in the session of the tests, as the command runs it."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headrace.cli.messages import Messages
from headrace.cli.pipeline import Pipeline, check_pipeline
from headrace.cli.sinks import PipelineStream, with_sink
from headrace.config.formats import read_mapping
from headrace.errors import HeadraceError
from headrace.spark.checkpoint import finished_batch
from headrace.spark.sinks.definition import Sink, SinkDefinition, SinkQuery
from tests.chaos.run import newest_of
from tests.servers.postgresql import Database
from tests.sinks.contract.subjects import SinkSubject

WITHIN_S = 300


class SinkRun:
    """Runs of one query, each of which goes on where the last one ended."""

    def __init__(
        self,
        spark: SparkSession,
        definition: SinkDefinition,
        subject: SinkSubject,
        database: Database,
    ) -> None:
        self._spark, self._definition = spark, definition
        self.subject, self.database = subject, database
        self.state = subject.folder / "state"
        self.checkpoint = self.state / "checkpoint"
        self._sink: Sink | None = None
        database.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")

    def insert(self, first: int, last: int, text: str = "7") -> None:
        """Rows in one transaction."""
        statement = "INSERT INTO t SELECT i, %s FROM generate_series(%s::int, %s::int) i"
        self.database.execute(statement, (text, first, last))

    def _pipeline(self, **more: str) -> Pipeline:
        is_replica = "headrace.sink.mode" in self.subject.properties()
        properties = {
            **self.database.properties(snapshot_mode="no_data", headrace_trigger="availableNow"),
            **({"headrace.sink.incomplete": "true"} if is_replica else {}),
            "key.converter.schemas.enable": "false",
            "value.converter.schemas.enable": "false",
            **self.subject.properties(),
            **{name.replace("_", "."): text for name, text in more.items()},
        }
        overrides = {"headrace.checkpoint.dir": str(self.state)}
        pipeline = check_pipeline(read_mapping(properties), overrides, Messages(quiet=True))
        return with_sink(pipeline, self._definition)

    def _query(self, pipeline: Pipeline) -> SinkQuery:
        return SinkQuery(pipeline.config, self.state / self._definition.name, self.checkpoint)

    def start(self, **more: str) -> StreamingQuery:
        """A query that ends with what the log has now; `more` are properties with `_` for `.`."""
        pipeline = self._pipeline(**more)
        self._sink = self._definition.make(self._query(pipeline))
        self._sink.open()
        writer = self._sink.writer(PipelineStream(self._spark, pipeline, self.checkpoint))
        return pipeline.start(writer, self.checkpoint)

    def maintain(self, **more: str) -> list[str]:
        """What `headrace maintain` prints."""
        query = self._query(self._pipeline(**more))
        self._definition.require_upkeep(query.config)
        return list(self._definition.maintain(self._spark, query))

    def end(self, query: StreamingQuery) -> None:
        """Wait for the end of a query. Raises what it ended with."""
        try:
            assert query.awaitTermination(WITHIN_S)
        finally:
            query.stop()
            self.close()

    def close(self) -> None:
        """Close the sink, if there is one."""
        if self._sink is not None:
            self._sink.stop(finished_batch(self.checkpoint))
            self._sink.close()
            self._sink = None

    def run(self, **more: str) -> None:
        """`start` and `end`."""
        self.end(self.start(**more))

    def error(self, **more: str) -> str:
        """The error with which a run ends."""
        try:
            self.run(**more)
        except (HeadraceError, StreamingQueryException, Py4JJavaError) as error:
            self.close()
            return str(error)
        raise AssertionError("the query ended without an error")

    def uncommitted(self, **more: str) -> bool:
        """A run whose first micro-batch is in the target, and cannot be written to Spark's log of
        commits: as if it were killed between the two. False: it was written too soon."""
        number = newest_of(self.checkpoint / "offsets") + 1
        entry = self.checkpoint / "commits" / str(number)
        query = self.start(**more)
        await_file(self.checkpoint / "offsets" / str(number))
        try:
            entry.mkdir()
        except FileExistsError:
            self.end(query)
            return False
        with suppress(StreamingQueryException):
            self.end(query)
        entry.rmdir()
        return True


def await_file(path: Path) -> None:
    """Waits until the file exists."""
    deadline = time.monotonic() + WITHIN_S
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.005)
