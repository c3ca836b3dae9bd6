"""Steps of a batch in threads and as tasks of Spark."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from headrace.errors import HeadraceError
from headrace.sinks.replicas.applying.batches import Batch, Limits, apply_batch
from headrace.sinks.replicas.changes.part import Operation
from headrace.sinks.replicas.runners import Argument, HereRunner, Result, SparkRunner
from tests.sinks.replicas.applying.folder_storage import FolderTable
from tests.sinks.replicas.applying.histories import INTEGER
from tests.sinks.replicas.applying.replay import Change, Replay, write_part

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def refuse(argument: int) -> int:
    """A step that fails."""
    if argument == 2:
        raise HeadraceError("replicas.of_a_test", "It is two", "Take another.")
    return argument


@pytest.mark.parametrize("threads", [1, 3])
def test_results_have_the_order_of_the_arguments(threads: int) -> None:
    runner = HereRunner(threads)
    assert runner.run(str, range(20)) == [str(number) for number in range(20)]
    assert runner.run(str, []) == []


def test_an_error_of_a_step_is_raised() -> None:
    with pytest.raises(HeadraceError, match="It is two"):
        HereRunner().run(refuse, [1, 2, 3])


class ProcessRunner:
    """Runs in other processes, as tasks do."""

    def run(
        self, function: Callable[[Argument], Result], arguments: Sequence[Argument]
    ) -> list[Result]:
        spawning = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(2, mp_context=spawning) as pool:
            return list(pool.map(function, arguments))


def test_the_memory_of_the_command_does_not_grow_with_a_large_batch(tmp_path: Path) -> None:
    table = FolderTable(tmp_path / "table", INTEGER)
    values = {"text": "a" * 1_000, "number": 1, "amount": None}
    steps = [(key, Change(Operation.INSERT, (key,), values)) for key in range(20_000)]
    part = write_part(tmp_path, "p", steps, INTEGER, divided=True)
    assert part.size > 20_000_000
    batch = Batch([part], tmp_path, INTEGER, "b")
    before = pa.default_memory_pool()
    counted = pa.proxy_memory_pool(before)
    pa.set_memory_pool(counted)
    try:
        _, applied = apply_batch(table.begin(), batch, ProcessRunner(), Limits(changes=5_000))
    finally:
        pa.set_memory_pool(before)
    assert applied.upserted == 20_000
    assert counted.max_memory() < 1_000_000


@pytest.mark.spark
def test_tasks_of_spark_apply_a_batch(spark: SparkSession, tmp_path: Path) -> None:
    runner = SparkRunner(spark.sparkContext)
    assert runner.run(str, []) == []
    with pytest.raises(HeadraceError) as caught:
        runner.run(refuse, [1, 2, 3])
    assert (caught.value.code, caught.value.message) == ("replicas.of_a_test", "It is two")
    table, replay = FolderTable(tmp_path / "table", INTEGER), Replay()
    (tmp_path / "table").mkdir()
    for number in range(3):
        steps = [
            Change(Operation.UPDATE, (key,), {"number": number, "text": f"t{number}"})
            if number and key % 2
            else Change(Operation.INSERT, (key,), {"text": "a", "number": key, "amount": None})
            for key in range(number * 20, 100)
            if not number or key < 90
        ]
        numbered = list(enumerate(steps, number * 1000))
        part = write_part(tmp_path, f"p{number}", numbered, INTEGER, divided=True)
        batch = Batch([part], tmp_path, INTEGER, f"b{number}")
        change, applied = apply_batch(
            table.begin(), batch, runner, Limits(changes=10, file_rows=40, task_rows=20)
        )
        assert applied.files > 4
        table.begin().commit(change, {})
        replay.apply(steps, INTEGER)
    rows_by_key = {(row["id"],): row for row in table.rows()}
    assert len(rows_by_key) == len(table.rows())
    assert rows_by_key == replay.rows
