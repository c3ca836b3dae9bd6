"""Source processes of the tests' session are forks of a template, and end as others do."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headrace.spark.starting.process import RUNNER
from tests.spark.numbered_source import NumberedSource
from tests.spark.worker_session import WorkerSession

pytestmark = pytest.mark.spark
_WITHIN_S = 120


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + _WITHIN_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def query(spark: SparkSession, worker_session: WorkerSession, tmp_path: Path) -> StreamingQuery:
    """A query that has read something, whose source process is a fork."""
    assert worker_session.template is not None
    wait_until(Path(worker_session.template.place).exists)
    spark.dataSource.register(NumberedSource)
    (tmp_path / "head").write_text("10")
    frame = spark.readStream.format("numbered").option("folder", str(tmp_path)).load()
    writer = frame.writeStream.format("noop")
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    wait_until(lambda: query.lastProgress is not None and query.lastProgress.numInputRows)
    return query


@pytest.fixture
def forks(worker_session: WorkerSession) -> Callable[[], list[psutil.Process]]:
    def running() -> list[psutil.Process]:
        assert worker_session.template is not None
        return [
            process
            for process in psutil.Process(worker_session.template.pid).children()
            if process.status() != psutil.STATUS_ZOMBIE
        ]

    return running


def waiting() -> list[psutil.Process]:
    """The processes that Spark started in this session, and that wait for their forks."""
    children = psutil.Process().children(recursive=True)
    return [process for process in children if RUNNER in process.cmdline()]


def test_a_source_process_is_a_fork_and_ends_with_its_query(
    query: StreamingQuery, forks: Callable[[], list[psutil.Process]]
) -> None:
    assert len(forks()) == len(waiting()) == 1
    query.stop()
    wait_until(lambda: not forks() and not waiting())


def test_a_fork_ends_when_what_waits_for_it_is_killed(
    query: StreamingQuery, forks: Callable[[], list[psutil.Process]]
) -> None:
    (process,) = waiting()
    process.kill()
    wait_until(lambda: not forks())
    query.stop()
