"""Parts of replicas: files of changes, and their descriptions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from headrace.errors import HeadraceError
from headrace.sinks.replicas.changes import parts as files
from headrace.sinks.replicas.changes.changed_rows import Changes, joined
from headrace.sinks.replicas.changes.part import OLD_KEY, OPERATION, SEQUENCE, UNAVAILABLE, Part
from headrace.sinks.replicas.changes.parts import (
    PartWriter,
    as_rows,
    describe,
    described,
    expect_tasks,
    of_rows,
    parts_folder,
)
from headrace.sinks.replicas.changes.schemas import TableShape, to_json
from headrace.sinks.replicas.keys import bucket_of
from headrace.sinks.replicas.lake import Column, TableSchema

SCHEMA = TableSchema((Column("id", pa.int64()), Column("name", pa.string())), ("id",))
TABLE = TableShape(SCHEMA, to_json(SCHEMA), {})
PART = Part("s.t", "1-0.arrow", 3, 99, TABLE.json, (0, 3, 15), "a", "b", "", True, False, 7)


def changes(
    numbers: range, topic: str = "s.t", table: TableShape = TABLE, **more: pa.Array
) -> Changes:
    """Inserts of these keys, at the places of the same numbers."""
    count = len(numbers)
    rows = pa.table(
        {
            SEQUENCE: [f"{number:08}" for number in numbers],
            OPERATION: pa.array(np.zeros(count, np.int8)),
            "id": pa.array(list(numbers), pa.int64()),
            "name": [f"n{number}" for number in numbers],
        }
        | more
    )
    return Changes(topic, table, rows, source_ms=numbers.stop)


def write(folder: Path, *all_changes: Changes) -> list[Part]:
    with PartWriter(folder, "7-0-0-ab") as writer:
        for each in all_changes:
            writer.add(each)
        return writer.finish()


def batches(folder: Path, part: Part) -> list[pa.RecordBatch]:
    reader = pa.ipc.open_file(folder / part.path)
    return [reader.get_batch(number) for number in range(reader.num_record_batches)]


def rows(folder: Path, part: Part) -> pa.Table:
    return pa.Table.from_batches(batches(folder, part))


def test_pieces_of_one_table_are_one_part_and_each_table_has_its_own(tmp_path: Path) -> None:
    first, other = write(
        tmp_path, changes(range(3)), changes(range(9), "s.other"), changes(range(5, 7))
    )
    assert rows(tmp_path, first).column("id").to_pylist() == [0, 1, 2, 5, 6]
    size = (tmp_path / first.path).stat().st_size
    assert first == Part(
        "s.t", first.path, 5, size, TABLE.json, (), "00000000", "00000006", "", False, False, 7
    )
    assert (other.topic, other.rows) == ("s.other", 9)
    assert {path.name for path in tmp_path.iterdir()} == {first.path, other.path}
    assert first.path.startswith("7-0-0-ab-")


def test_another_schema_of_a_table_is_another_part(tmp_path: Path) -> None:
    wide = TableSchema((*SCHEMA.columns, Column("more", pa.int32())), ("id",))
    table = TableShape(wide, to_json(wide), {})
    more = changes(range(3, 5), table=table, more=pa.array([1, 2], pa.int32()))
    first, second = write(tmp_path, changes(range(3)), more)
    assert (first.schema, second.schema) == (TABLE.json, to_json(wide))


def test_a_column_with_unavailable_values_in_one_piece_has_none_in_the_others(
    tmp_path: Path,
) -> None:
    unavailable = {UNAVAILABLE + "name": pa.array([True, False])}
    keys = {OLD_KEY: pa.array([{"id": 5}, None])}
    (part,) = write(tmp_path, changes(range(1)), changes(range(1, 3), **unavailable, **keys))
    written = rows(tmp_path, part)
    assert (part.has_untold, part.has_old_keys) == (True, True)
    assert written.column(UNAVAILABLE + "name").to_pylist() == [False, True, False]
    assert written.column(OLD_KEY).to_pylist() == [None, {"id": 5}, None]


def test_slices_that_do_not_follow_one_another_are_written_in_the_order_of_the_log(
    tmp_path: Path,
) -> None:
    (part,) = write(tmp_path, changes(range(5, 9)), changes(range(2)), changes(range(10, 11)))
    written = rows(tmp_path, part).column("id").to_pylist()
    assert written == [0, 1, 5, 6, 7, 8, 10]
    assert (part.first, part.last) == ("00000000", "00000010")


def test_many_rows_are_divided_into_batches_of_one_bucket_each(tmp_path: Path) -> None:
    count = files.UNDIVIDED_ROWS + 1
    (part,) = write(tmp_path, changes(range(count)))
    bucket_batches = batches(tmp_path, part)
    assert len(bucket_batches) == len(part.buckets) == 16
    for batch, bucket in zip(bucket_batches, part.buckets, strict=True):
        keys = pa.table({"id": batch.column("id")})
        assert set(bucket_of(keys).tolist()) == {bucket}
        ids = batch.column("id").to_pylist()
        assert ids == sorted(ids)
    assert sum(batch.num_rows for batch in bucket_batches) == count


def test_rows_without_a_key_are_not_divided(tmp_path: Path) -> None:
    schema = TableSchema(SCHEMA.columns, ())
    table = TableShape(schema, to_json(schema), {})
    (part,) = write(tmp_path, changes(range(files.UNDIVIDED_ROWS + 1), table=table))
    assert part.buckets == ()


def test_what_does_not_fit_into_memory_is_written_before_the_slice_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "PENDING_BYTES", 0)
    parts = write(tmp_path, changes(range(3)), changes(range(3, 5)))
    assert [part.rows for part in parts] == [3, 2]
    assert len({part.path for part in parts}) == 2


def test_a_truncate_is_in_all_parts_of_its_table_or_in_one_without_rows(
    tmp_path: Path,
) -> None:
    nothing = changes(range(0))
    truncated = Changes("s.t", TABLE, nothing.rows, truncates=(("00000004", 5),))
    alone = Changes("s.other", TABLE, nothing.rows, truncates=(("00000009", 6),))
    part, without = write(tmp_path, changes(range(3)), truncated, alone)
    assert (part.rows, part.truncated) == (3, "00000004")
    assert part.truncates == '[["00000004", 5]]'
    assert (without.topic, without.path, without.schema) == ("s.other", "", "")
    assert (without.rows, without.truncated) == (0, "00000009")


def test_an_error_leaves_no_file_of_the_task(tmp_path: Path) -> None:
    def fail() -> None:
        with PartWriter(tmp_path, "1-0") as writer:
            writer.add(changes(range(3)))
            writer.finish()
            raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HeadraceError, match="file") as raised:
        write(tmp_path / "file", changes(range(3)))
    assert (raised.value.code, raised.value.retriable) == ("replicas.part_not_written", True)


def test_descriptions_come_back_from_rows() -> None:
    other = Part("s.u", "", 0, 0, "", (), "c", "c", "c", False, False, 0)
    assert of_rows([as_rows([PART, other]), as_rows([PART])]) == [PART, other, PART]


def test_the_driver_reads_what_the_source_described_last(tmp_path: Path) -> None:
    describe(tmp_path, 4, [PART, PART])
    describe(tmp_path, 4, [PART])
    describe(tmp_path, 5, [])
    assert (described(tmp_path, 4), described(tmp_path, 5)) == ([PART], [])
    assert described(tmp_path, 6) is None
    assert parts_folder(tmp_path).is_dir()


def test_what_the_source_described_is_forgotten_where_tasks_write_the_batch(tmp_path: Path) -> None:
    expect_tasks(tmp_path, 4)
    describe(tmp_path, 4, [PART])
    expect_tasks(tmp_path, 4)
    assert described(tmp_path, 4) is None


def test_tables_of_changes_are_joined_without_those_that_are_empty() -> None:
    unavailable = {UNAVAILABLE + "name": pa.array([], pa.bool_())}
    assert joined([changes(range(0), **unavailable).rows]).num_rows == 0
    whole = joined([changes(range(0), **unavailable).rows, changes(range(2)).rows])
    assert UNAVAILABLE + "name" not in whole.column_names
