"""A commit is in the table, or it is not, whenever the process and its JVM are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

import pytest

from headrace.sinks.replicas.lake import BATCH, Lake
from tests.sinks.lake.iceberg.committer import batches
from tests.sinks.lake.iceberg.replica import NO_CHANGE, KeptTable
from tests.sinks.lake.iceberg.rows import NAME, by_pyiceberg

pytestmark = pytest.mark.spark


def killed_after(warehouse: Path, batch: int, seconds: float) -> None:
    """Let a process commit this many batches, wait, and kill it and its JVM."""
    command = [sys.executable, "-m", "tests.sinks.lake.iceberg.committer", str(warehouse)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            jvm = int(process.stdout.readline())
            while int(process.stdout.readline()) < batch:
                pass
            time.sleep(seconds)
            os.kill(jvm, signal.SIGKILL)
        finally:
            process.kill()


def numbers(warehouse: Path) -> set[int]:
    """The batches of which there are data files or vectors."""
    files = [path for path in warehouse.rglob("data/**/*") if path.is_file()]
    assert files
    return {int(path.name[1:].partition("-")[0]) for path in files}


@pytest.mark.chaos
@pytest.mark.parametrize("seconds", [0, 0.1, 0.3])
def test_a_killed_commit_leaves_nothing_but_files_of_its_name(
    lake: Lake, tmp_path: Path, seconds: float
) -> None:
    killed_after(tmp_path, 3, seconds)
    table = lake.table(NAME)
    assert table is not None
    kept_table = KeptTable(table)
    kept_table.batch = int(table.properties()[BATCH])
    assert kept_table.batch >= 3
    for rows, deleted in islice(batches(1), kept_table.batch):
        kept_table.rows |= {each["id"]: each for each in rows}
        for key in deleted:
            kept_table.rows.pop(key, None)
    assert by_pyiceberg(tmp_path) == kept_table.expected()
    assert numbers(tmp_path) <= {*range(1, kept_table.batch + 2)}
    begun = table.begin(NO_CHANGE)
    begun.storage.sweep(f"b{kept_table.batch + 1}-")
    assert numbers(tmp_path) == {*range(1, kept_table.batch + 1)}
    assert by_pyiceberg(tmp_path) == kept_table.expected()
    for rows, deleted in islice(batches(kept_table.batch + 1), 2):
        kept_table.apply(rows, deleted)
    assert by_pyiceberg(tmp_path) == kept_table.expected()
