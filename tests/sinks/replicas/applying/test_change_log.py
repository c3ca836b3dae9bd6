"""Batches appended to a change log: a row for each change."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from headrace.sinks.replicas.applying.batches import Batch, Limits, apply_batch
from headrace.sinks.replicas.changes.part import Operation
from headrace.sinks.replicas.files.compacting import compact
from headrace.sinks.replicas.lake import TableName, TableSchema
from headrace.sinks.replicas.modes.mode import Mode
from headrace.sinks.replicas.modes.own_columns import with_own_columns
from tests.sinks.replicas.applying.folder_storage import FolderTable
from tests.sinks.replicas.applying.histories import INTEGER
from tests.sinks.replicas.applying.replay import (
    Change,
    Step,
    Truncate,
    commit_us,
    sequence,
    write_part,
)
from tests.sinks.replicas.applying.test_applying import LARGE, SMALL, PicklingRunner

INSERT, UPDATE, DELETE, READ = Operation
SCHEMA = TableSchema(INTEGER.columns, ())
WHOLE = {"text": "t", "number": 1, "amount": Decimal("0.50")}
STEPS: Sequence[tuple[int, Step]] = (
    (10, Change(READ, (1,), WHOLE)),
    (11, Change(INSERT, (2,), WHOLE)),
    (12, Change(UPDATE, (1,), {"text": None, "number": 2})),
    (13, Truncate()),
    (14, Change(DELETE, (1,), {"amount": Decimal(3)})),
    (15, Change(INSERT, (1,), WHOLE)),
    (16, Truncate()),
)


class Log:
    """A change log, and batches on their way."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "table").mkdir()
        name = TableName(("shop",), "orders")
        self.table = FolderTable(folder / "table", with_own_columns(name, SCHEMA, Mode.APPEND))
        self.batches = 0

    def apply(self, *parts: Sequence[tuple[int, Step]], limits: Limits = SMALL) -> int:
        """Return the number of data files."""
        self.batches += 1
        written = [
            write_part(self.folder, f"{self.batches}-{place}", steps, INTEGER, True, with_past=True)
            for place, steps in enumerate(parts)
        ]
        name = f"b{self.batches}"
        batch = Batch(written, self.folder, SCHEMA, name, "shop.orders", Mode.APPEND)
        change, applied = apply_batch(self.table.begin(), batch, PicklingRunner(), limits)
        assert not change.removed
        assert not change.vectors
        assert applied.upserted == sum(map(len, parts))
        self.table.begin().commit(change, {})
        return len(change.added)

    def rows(self) -> list[dict[str, Any]]:
        """The rows in the order of the source."""
        return sorted(self.table.rows(), key=lambda row: str(row["__position"]))


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


@pytest.mark.parametrize("limits", [SMALL, LARGE], ids=["small", "large"])
def test_each_change_and_each_truncate_is_a_row_with_what_the_log_carries(
    log: Log, limits: Limits
) -> None:
    files = log.apply(STEPS[::2], STEPS[1::2], limits=limits)
    assert files == (1 if limits is SMALL else 2)
    rows = log.rows()
    assert [row["__op"] for row in rows] == ["r", "c", "u", "t", "d", "c", "t"]
    assert [row["id"] for row in rows] == [1, 2, 1, None, 1, 1, None]
    assert [row["text"] for row in rows] == ["t", "t", None, None, None, "t", None]
    absent = [row["__absent"] for row in rows]
    assert absent == [None, None, ["amount"], None, ["text", "number"], None, None]
    assert [row["__position"] for row in rows] == [sequence(n) for n, _ in STEPS]
    micros = [int(row["__commit_time"].timestamp() * 1_000_000) for row in rows]
    assert micros == [commit_us(number) for number, _ in STEPS]


def test_the_rows_of_a_file_are_in_the_order_of_the_source_and_stay_so_when_files_are_merged(
    log: Log,
) -> None:
    log.apply(STEPS[::2], STEPS[1::2])
    assert [row["__position"] for row in log.table.rows()] == [sequence(n) for n, _ in STEPS]
    for place in range(8, 0, -1):
        log.apply([(place, Change(INSERT, (place,), WHOLE))])
    change = compact(log.table.begin(), "merged")
    assert change is not None
    log.table.begin().commit(change, {})
    assert len(log.table.files) == 1
    places = [sequence(number) for number in (*range(1, 9), *range(10, 17))]
    assert [row["__position"] for row in log.table.rows()] == places


def test_the_same_row_in_two_changes_is_there_twice(log: Log) -> None:
    log.apply([(1, Change(READ, (1,), WHOLE))])
    log.apply([(2, Change(READ, (1,), WHOLE))])
    assert [(row["id"], row["__op"]) for row in log.rows()] == [(1, "r"), (1, "r")]
