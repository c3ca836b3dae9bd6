"""Small files, and files with many dead rows, become larger ones with the same rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyroaring import BitMap

from headrace.sinks.replicas.files.compacting import compact, files_to_compact, live_rows
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
    made = FolderTable(tmp_path, SCHEMA)
    for number in range(8):
        ids = pa.array([number + 100, number, number + 50], pa.int32())
        rows = pa.table({"id": ids, "note": [f"n{number}", None, "x"]})
        file = made.storage.write_rows(rows, f"f{number}")
        if number % 3 == 0:
            vector = made.storage.write_vector(file, BitMap([0, 2]), f"v{number}")
            file = replace(file, vector=vector, deleted=2)
        made.files[file.path] = file
    return made


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


def test_merged_files_have_a_good_size(table: FolderTable, monkeypatch: pytest.MonkeyPatch) -> None:
    size = sum(file.size for file in table.files.values())
    monkeypatch.setattr("headrace.sinks.replicas.files.compacting.FILE_BYTES", size // 2)
    change = compact(table.begin(), "merged")
    assert change is not None
    assert len(change.added) == 2
    assert sum(file.rows for file in change.added) == 18
