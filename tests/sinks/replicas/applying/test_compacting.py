"""Small files, and files with many dead rows, become larger ones with the same rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyroaring import BitMap

from headrace.sinks.replicas.files.compacting import compact, files_to_compact
from headrace.sinks.replicas.files.live_rows import live_rows
from headrace.sinks.replicas.lake import Column, DataFile, TableSchema
from tests.sinks.replicas.applying.folder_storage import FolderTable

SCHEMA = TableSchema((Column("id", pa.int32()), Column("note", pa.string())), ("id",))
MB = 1 << 20


def described(path: str, size: int = 100 * MB, deleted: int = 0) -> DataFile:
    return DataFile(path, 100, size, "", vector="v" if deleted else None, deleted=deleted)


def test_files_are_left_alone_until_eight_are_small() -> None:
    large = described("large")
    small = [described(f"small{number}", MB) for number in range(8)]
    assert files_to_compact([large, *small[:7]]) == []
    assert files_to_compact([*small[:3], large, *small[3:]]) == small


def test_a_file_with_more_than_a_fifth_of_dead_rows_is_written_again() -> None:
    files = [described("a", deleted=20), described("b", deleted=21), described("c", MB)]
    assert files_to_compact(files) == [files[1]]


@pytest.fixture
def table(tmp_path: Path) -> FolderTable:
    """Eight files of three rows each, in some of which rows are deleted."""
    folder_table = FolderTable(tmp_path, SCHEMA)
    for number in range(8):
        ids = pa.array([number + 100, number, number + 50], pa.int32())
        rows = pa.table({"id": ids, "note": [f"n{number}", None, "x"]})
        file = folder_table.storage.write_rows(rows, f"f{number}")
        if number % 3 == 0:
            vector = folder_table.storage.write_vector(file, BitMap([0, 2]), f"v{number}")
            file = replace(file, vector=vector, deleted=2)
        folder_table.files[file.path] = file
    return folder_table


def test_live_rows_are_the_same_in_one_file_and_in_the_order_of_the_key(
    table: FolderTable,
) -> None:
    before = sorted(table.rows(), key=lambda row: str(row["id"]))
    change = compact(table.begin(), "merged")
    assert change is not None
    assert change.is_compaction
    assert len(change.removed) == 8
    table.begin().commit(change, {})
    (file,) = table.files.values()
    assert sorted(table.rows(), key=lambda row: str(row["id"])) == before
    ids = live_rows(table.storage, file)["id"].to_pylist()
    assert ids == sorted(ids)
    assert len(ids) == 18
    assert compact(table.begin(), "again") is None


def test_old_files_get_the_columns_that_the_table_has_now(table: FolderTable) -> None:
    now = TableSchema(
        (Column("added", pa.int64()), Column("text", pa.string()), Column("id", pa.int64())),
        ("id",),
    )
    table.evolve(now, {"note": "text"})
    change = compact(table.begin(), "merged", defaults={"added": 7})
    assert change is not None
    table.begin().commit(change, {})
    rows = {row["id"]: row for row in table.rows()}
    assert rows[101] == {"added": 7, "text": "n1", "id": 101}
    assert rows[1] == {"added": 7, "text": None, "id": 1}


def test_files_without_a_live_row_are_only_removed(table: FolderTable) -> None:
    for file in list(table.files.values()):
        vector = table.storage.write_vector(file, BitMap([0, 1, 2]), f"all{Path(file.path).stem}")
        table.files[file.path] = replace(file, vector=vector, deleted=3)
    change = compact(table.begin(), "merged")
    assert change is not None
    assert (list(change.added), len(change.removed)) == ([], 8)


def test_gigabytes_of_rows_that_are_small_on_disk_are_merged_in_bounded_memory_and_once(
    tmp_path: Path,
) -> None:
    table, files, size = FolderTable(tmp_path, SCHEMA), 56, 40 << 20
    for number in range(files):
        ids = pa.array(range(number, 4000 * files, files), pa.int32())
        notes = pa.repeat(f"{number:02}" + "x" * (size // 4000), 4000)
        file = table.storage.write_rows(pa.table({"id": ids, "note": notes}), f"f{number}")
        table.files[file.path] = file
    del notes
    assert files * size > 1 << 31  # more than a column of Arrow takes
    assert sum(file.size for file in table.files.values()) < 100 * MB
    former, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(pool)
    try:
        change = compact(table.begin(), "merged")
    finally:
        pa.set_memory_pool(former)
    assert pool.max_memory() < 512 * MB
    assert change is not None
    assert len(change.added) < files // 2
    assert sum(file.rows for file in change.added) == 4000 * files
    table.begin().commit(change, {})
    assert compact(table.begin(), "again") is None


def test_a_row_that_is_larger_than_the_memory_is_a_file_of_its_own(
    table: FolderTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted(table.rows(), key=lambda row: str(row["id"]))
    monkeypatch.setattr("headrace.sinks.replicas.files.compacting.MEMORY_BYTES", 1)
    change = compact(table.begin(), "merged")
    assert change is not None
    table.begin().commit(change, {})
    assert len(table.files) == 8
    assert sorted(table.rows(), key=lambda row: str(row["id"])) == before


def test_merged_files_have_a_good_size(table: FolderTable, monkeypatch: pytest.MonkeyPatch) -> None:
    size = sum(file.size for file in table.files.values())
    monkeypatch.setattr("headrace.sinks.replicas.files.compacting.FILE_BYTES", size // 2)
    change = compact(table.begin(), "merged")
    assert change is not None
    assert len(change.added) == 2
    assert sum(file.rows for file in change.added) == 18
