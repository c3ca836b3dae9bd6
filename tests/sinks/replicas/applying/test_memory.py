"""The memory of the command's process while it applies a batch that is larger than its bound."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from headrace.sinks.iceberg.format import FORMAT
from headrace.sinks.replicas.changes.changed_rows import Changes
from headrace.sinks.replicas.changes.part import OPERATION, SEQUENCE, Operation, Part
from headrace.sinks.replicas.changes.parts import PartWriter, parts_folder
from headrace.sinks.replicas.changes.schemas import TableShape, to_json
from headrace.sinks.replicas.comments import SourceComments
from headrace.sinks.replicas.lake import Column, TableName, TableSchema
from headrace.sinks.replicas.options import ReplicaOptions
from headrace.sinks.replicas.outcomes import MicroBatch
from headrace.sinks.replicas.replica import Replica
from headrace.sinks.replicas.runners import SparkRunner
from tests.sinks.lake.readers import IcebergLake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.chaos]

BATCH_BYTES, BOUND = 2_000_000_000, 512 << 20
NAME = TableName(("shop",), "pictures")
SCHEMA = TableSchema(
    (
        Column("id", pa.int64()),
        Column("text", pa.string()),
        Column("n", pa.int32()),
        Column("at", pa.timestamp("us")),
    ),
    ("id",),
)
SHAPE = TableShape(SCHEMA, to_json(SCHEMA), {})
TEXT_BYTES, ROWS, PARTS = 1000, 120_000, 17
OLD_ROWS, DELETED = 200_000, 5_000
"""Rows that the table has before, and how many of them each part of the batch deletes."""


def write_part(folder: Path, number: int, ids: np.ndarray, deleted: int) -> Sequence[Part]:
    """A part with changes of keys, of which the first so many are deletes. Texts do not compress to
    less than half."""
    chance = np.random.default_rng(number)
    size = len(ids)
    texts = chance.integers(97, 113, size * TEXT_BYTES, np.uint8)
    ends = np.arange(size + 1, dtype=np.int32) * np.int32(TEXT_BYTES)
    places = number * 1_000_000 + np.arange(size)
    operations = np.full(size, Operation.INSERT, np.int8)
    operations[:deleted] = Operation.DELETE
    has_values = pa.array(operations != Operation.DELETE)
    values = {
        "text": pa.StringArray.from_buffers(size, pa.py_buffer(ends), pa.py_buffer(texts)),
        "n": pa.array(places.astype(np.int32)),
        "at": pa.array(places, pa.timestamp("us")),
    }
    rows = pa.table(
        {
            SEQUENCE: pa.array([f"{place:020}" for place in places]),
            OPERATION: pa.array(operations),
            "id": pa.array(ids),
            **{name: pa.compute.if_else(has_values, array, None) for name, array in values.items()},
        }
    )
    with PartWriter(parts_folder(folder), f"{number}") as writer:
        writer.add(Changes("shop.pictures", SHAPE, rows))
        return writer.finish()


def write_parts(folder: Path) -> tuple[Sequence[Part], Sequence[Part]]:
    """The parts of a first batch, and those of a large one."""
    first = write_part(folder, 0, np.arange(OLD_ROWS), 0)
    large: list[Part] = []
    for number in range(1, PARTS + 1):
        gone = np.arange(DELETED) + (number - 1) * DELETED
        changed = np.arange(DELETED) + OLD_ROWS // 2 + (number - 1) * DELETED
        new = OLD_ROWS + number * ROWS + np.arange(ROWS - 2 * DELETED)
        large += write_part(folder, number, np.concatenate([gone, changed, new]), DELETED)
    return first, large


def resident(peak: bool) -> int:
    """Bytes of this process in memory, now or at most since `forget_peak`."""
    name = "VmHWM:" if peak else "VmRSS:"
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1]) * 1024


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux tells the peak")
def test_a_batch_of_two_gigabytes_takes_half_a_gigabyte_of_the_commands_process_at_most(
    spark: SparkSession, tmp_path: Path
) -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        first, large = pool.submit(write_parts, tmp_path).result()
    size = sum(part.size for part in large)
    assert size >= BATCH_BYTES
    lake = FORMAT.open(spark, {"warehouse": str(tmp_path / "lake")})
    runner = SparkRunner(spark.sparkContext)
    replica = Replica(lake, NAME, ReplicaOptions(), runner, SourceComments(lambda: None))
    replica.apply(MicroBatch("query", 1, "{}"), first, parts_folder(tmp_path))
    before, began = resident(peak=False), time.monotonic()
    forget_peak()
    outcome = replica.apply(MicroBatch("query", 2, "{}"), large, parts_folder(tmp_path))
    more = resident(peak=True) - before
    lake.close()
    print(
        f"{size >> 20} MB in {len(large)} parts, {outcome.changes} changes: the process had "
        f"{before >> 20} MB, and {more >> 20} MB more at most; {time.monotonic() - began:.0f} s"
    )
    assert more <= BOUND, f"{more >> 20} MB more than {before >> 20} MB"
    assert (outcome.deleted, outcome.changes) == (PARTS * DELETED, PARTS * ROWS)
    table = IcebergLake(tmp_path / "lake").catalog.load_table(("shop", "pictures"))
    ids = table.scan(selected_fields=("id",)).to_arrow()["id"].to_numpy()
    assert len(ids) == len(np.unique(ids)) == OLD_ROWS + PARTS * (ROWS - 3 * DELETED)
