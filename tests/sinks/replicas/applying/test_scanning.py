"""Rows of keys in data files: where they are, and their values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyroaring import BitMap

from headrace.errors import HeadraceError
from headrace.sinks.replicas.applying.scanning import scan
from headrace.sinks.replicas.files import data_files
from headrace.sinks.replicas.files.reading import DataFileReader
from headrace.sinks.replicas.keys import KeySet
from headrace.sinks.replicas.lake import Column, DataFile, TableSchema
from tests.sinks.replicas.applying.folder_storage import FolderStorage

SCHEMA = TableSchema(
    (Column("note", pa.string()), Column("id", pa.int64()), Column("amount", pa.int64())), ("id",)
)
IDS = {"note": 4, "id": 9, "amount": 2}


@pytest.fixture
def storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FolderStorage:
    """A storage with row groups of ten rows."""
    monkeypatch.setattr(data_files, "ROW_GROUP", 10)
    return FolderStorage(tmp_path, SCHEMA, IDS)


def written(storage: FolderStorage, first: int, count: int = 40) -> DataFile:
    ids = range(first, first + count)
    rows = pa.table(
        {"note": [f"n{number}" for number in ids], "id": list(ids), "amount": [n * n for n in ids]}
    )
    return storage.write_rows(rows, f"from{first}")


def keys(*numbers: int) -> pa.Table:
    return pa.table({"id": pa.array(numbers, pa.int64())})


def test_positions_and_needed_values_of_several_files_are_found(storage: FolderStorage) -> None:
    files = [written(storage, 0), written(storage, 100), written(storage, 200)]
    scanned = scan(
        storage, files, keys(205, 7, 31, 100, 39, 50), (keys(31, 205, 50), ("amount", "note"))
    )
    assert dict(scanned.positions) == {
        files[0].path: BitMap([7, 31, 39]),
        files[1].path: BitMap([0]),
        files[2].path: BitMap([5]),
    }
    assert scanned.found == BitMap([0, 1, 2, 3, 4])
    assert scanned.kept is not None
    assert sorted(scanned.kept.to_pylist(), key=lambda row: int(row["id"])) == [
        {"id": 31, "amount": 961, "note": "n31"},
        {"id": 205, "amount": 205**2, "note": "n205"},
    ]


def test_a_row_that_is_deleted_already_is_not_found(storage: FolderStorage) -> None:
    file = written(storage, 0)
    vector = storage.write_vector(file, BitMap([3, 20]), "v")
    file = replace(file, vector=vector, deleted=2)
    later = written(storage, 3, 1)
    scanned = scan(storage, [file, later], keys(3, 20, 21), (keys(3, 20), ("note",)))
    assert dict(scanned.positions) == {file.path: BitMap([21]), later.path: BitMap([0])}
    assert scanned.kept is not None
    assert scanned.kept.to_pylist() == [{"id": 3, "note": "n3"}]


def test_only_row_groups_that_may_have_a_key_are_read(
    storage: FolderStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [written(storage, 0), written(storage, 100)]
    read: list[tuple[str, tuple[str, ...], list[int]]] = []
    really = DataFileReader.read

    def noting(self: Any, columns: Any, groups: Any, defaults: Any = None) -> pa.Table:
        read.append((self._file.path, tuple(columns), list(groups)))
        return really(self, columns, groups, defaults)

    monkeypatch.setattr(DataFileReader, "read", noting)
    scanned = scan(storage, files, keys(8, 35, 60), (keys(35), ("note",)))
    assert dict(scanned.positions) == {files[0].path: BitMap([8, 35])}
    assert read == [(files[0].path, ("id",), [0, 3]), (files[0].path, ("note",), [3])]


def test_large_values_inside_of_nested_columns_make_small_batches(tmp_path: Path) -> None:
    member = pa.struct([("text", pa.string()), ("b", pa.int64())])
    columns = {
        "id": pa.int64(), "tags": pa.list_(pa.string()), "a": member,
        "notes": pa.map_(pa.string(), member), "last": pa.int64(),
    }  # fmt: skip
    schema = TableSchema(tuple(Column(*each) for each in columns.items()), ("id",))
    ids = {name: number for number, name in enumerate(columns, 1)}
    storage = FolderStorage(tmp_path, schema, ids)
    for large in ("tags", "a", "notes"):
        texts = [f"{number}".zfill(100_000) for number in range(200)]
        rows = pa.table(
            {
                "id": list(range(200)),
                "tags": [[text] if large == "tags" else [] for text in texts],
                "a": [{"text": text if large == "a" else "", "b": -5} for text in texts],
                "notes": [[("k", {"text": text})] if large == "notes" else [] for text in texts],
                "last": list(range(1000, 1200)),
            },
            schema=pa.schema(list(columns.items())),
        )
        with DataFileReader(storage, storage.write_rows(rows, large)) as reader:
            assert reader.bytes_of([large], 0) > 19_000_000
            assert reader.bounds("last", 0) == (1000, 1199)
            batches = list(reader.batches(list(columns)))
            assert pa.concat_tables(batches).equals(rows)
            assert max(batch.num_rows for batch in batches) < 64


@pytest.mark.parametrize("at_once", [1, 15, 10**6])
def test_how_much_is_looked_up_at_a_time_changes_nothing(
    storage: FolderStorage, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr("headrace.sinks.replicas.applying.scanning.MIN_ROWS", at_once)
    monkeypatch.setattr("headrace.sinks.replicas.applying.scanning.ROWS_PER_KEY", 0)
    files = [written(storage, 0), written(storage, 100)]
    scanned = scan(storage, files, keys(0, 9, 10, 25, 39, 139), (keys(25, 9), ("amount",)))
    assert dict(scanned.positions) == {
        files[0].path: BitMap([0, 9, 10, 25, 39]),
        files[1].path: BitMap([39]),
    }
    assert scanned.kept is not None
    assert scanned.kept["amount"].to_pylist() == [81, 625]


def test_two_live_rows_of_a_key_are_an_error_that_names_table_and_file(
    storage: FolderStorage,
) -> None:
    files = [written(storage, 0), written(storage, 30)]
    with pytest.raises(HeadraceError) as caught:
        scan(storage, files, keys(35), table="shop.orders")
    assert caught.value.code == "replicas.key_not_unique"
    assert "shop.orders" in caught.value.message
    assert files[1].path in caught.value.message
    assert "35" not in caught.value.message.replace(files[1].path, "")


def test_an_older_file_has_narrower_types_other_names_and_fewer_columns(tmp_path: Path) -> None:
    old = TableSchema((Column("number", pa.int32()), Column("amount", pa.int32())), ("number",))
    before = FolderStorage(tmp_path, old, {"number": 9, "amount": 2})
    kinds = pa.schema([("number", pa.int32()), ("amount", pa.int32())])
    file = before.write_rows(pa.table([[1, 2, 3], [10, 20, None]], schema=kinds), "old")
    now = FolderStorage(tmp_path, SCHEMA, IDS)
    sought_keys = keys(2, 3, 2**40)
    scanned = scan(
        now, [file], sought_keys, (sought_keys, ("amount", "note")), defaults={"note": "new"}
    )
    assert dict(scanned.positions) == {file.path: BitMap([1, 2])}
    assert scanned.kept is not None
    assert scanned.kept.schema.types == [pa.int64(), pa.int64(), pa.string()]
    assert scanned.kept.to_pylist() == [
        {"id": 2, "amount": 20, "note": "new"},
        {"id": 3, "amount": None, "note": "new"},
    ]


def test_a_file_without_a_column_of_the_key_is_an_error(tmp_path: Path) -> None:
    old = TableSchema((Column("note", pa.string()),), ("note",))
    file = FolderStorage(tmp_path, old, {"note": 4}).write_rows(pa.table({"note": ["a"]}), "old")
    with pytest.raises(HeadraceError) as caught:
        scan(FolderStorage(tmp_path, SCHEMA, IDS), [file], keys(1), table="shop.orders")
    assert caught.value.code == "replicas.key_not_in_file"
    assert "column id" in caught.value.message


def test_no_file_is_opened_where_there_is_no_key(storage: FolderStorage) -> None:
    file = replace(written(storage, 0), path="/missing")
    scanned = scan(storage, [file], KeySet(keys()))
    assert (dict(scanned.positions), scanned.kept, len(scanned.found)) == ({}, None, 0)
