"""Commits to Iceberg tables: batches, changes of columns, repeats, and what others do meanwhile."""

from __future__ import annotations

import datetime as dt
import json
import random
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyroaring import BitMap

from headrace.errors import HeadraceError
from headrace.sinks.iceberg.table import IcebergTable
from headrace.sinks.replicas.lake import (
    BATCH,
    QUERY,
    Column,
    ColumnChange,
    Lake,
    TableChange,
    TableName,
    TableSchema,
)
from tests.sinks.lake.iceberg.replica import NO_CHANGE, KeptTable, compact, found
from tests.sinks.lake.iceberg.rows import (
    EVERY_TYPE,
    NAME,
    by_duckdb,
    by_pyiceberg,
    pyiceberg_table,
    row,
    table_of,
)

if TYPE_CHECKING:
    pass

pytestmark = pytest.mark.spark


def key_column(name: str = "id") -> Column:
    return Column(name, pa.int64())


def test_batches_leave_the_rows_that_a_replay_leaves(lake: Lake, tmp_path: Path) -> None:
    chosen = random.Random(7)
    kept_table = KeptTable(lake.create(NAME, EVERY_TYPE, {}))
    kept_table.apply([row(number) for number in range(60)])
    for batch in range(8):
        keys = sorted(kept_table.rows)
        changed = chosen.sample(keys, 12)
        back = [number for number in range(60) if number not in kept_table.rows][:3]
        new = [*back, *range(100 + 5 * batch, 105 + 5 * batch)]
        rows = [row(number, small=batch) for number in [*changed[:8], *new]]
        kept_table.apply(rows, changed[8:])
        if batch == 4:
            assert compact(kept_table.table) > 2
        assert by_pyiceberg(tmp_path) == kept_table.expected()
    counted = by_duckdb(tmp_path, "SELECT count(*), sum(small), sum(price) FROM {table}")
    rows = kept_table.expected()
    assert counted == [(len(rows), sum(r["small"] for r in rows), sum(r["price"] for r in rows))]
    # What a new process reads is what this one followed from commit to commit.
    again = found(lake).begin(NO_CHANGE).files
    followed = kept_table.table.begin(NO_CHANGE).files
    file_lists = [
        sorted((f.path, f.rows, f.size, f.deleted, f.bounds) for f in files)
        for files in (again, followed)
    ]
    assert file_lists[0] == file_lists[1]


def test_a_file_without_rows_left_is_removed_with_its_vector(lake: Lake, tmp_path: Path) -> None:
    kept_table = KeptTable(lake.create(NAME, EVERY_TYPE, {}))
    kept_table.apply([row(1), row(2)])
    kept_table.apply([row(3)], [1])
    kept_table.apply([], [2])
    (left,) = found(lake).begin(NO_CHANGE).files
    assert (left.rows, left.deleted) == (1, 0)
    assert pyiceberg_table(tmp_path).current_snapshot().summary["total-delete-files"] == "0"
    assert by_pyiceberg(tmp_path) == kept_table.expected()


def test_all_rows_are_replaced_in_one_commit(lake: Lake, tmp_path: Path) -> None:
    kept_table = KeptTable(lake.create(NAME, EVERY_TYPE, {}))
    kept_table.apply([row(1), row(2)])
    kept_table.apply([row(3)], [1])
    begun = kept_table.table.begin(NO_CHANGE)
    fresh = begun.storage.write_rows(table_of(EVERY_TYPE, [row(9)]), "after-truncate")
    begun.commit(TableChange([fresh], removed=begun.files), {BATCH: "3"})
    assert by_pyiceberg(tmp_path) == table_of(EVERY_TYPE, [row(9)]).to_pylist()
    assert [file.path for file in found(lake).begin(NO_CHANGE).files] == [fresh.path]


def test_columns_change_with_the_rows_that_need_it(lake: Lake, tmp_path: Path) -> None:
    schema = TableSchema(
        (
            key_column(),
            Column("small", pa.int32()),
            Column("ratio", pa.float32()),
            Column("price", pa.decimal128(6, 2)),
            Column("gone", pa.string()),
            Column("old.name", pa.string()),
            Column("list", pa.list_(pa.int32())),
            Column("place", pa.struct([("x", pa.int32())])),
        ),
        ("id",),
    )
    kept_table = KeptTable(lake.create(NAME, schema, {}))
    first: dict[str, Any] = {
        "id": 1, "small": 5, "ratio": 0.5, "price": Decimal("1.50"), "gone": "x",
        "old.name": "n", "list": [1], "place": {"x": 1},
    }  # fmt: skip
    kept_table.apply([first, {"id": 2}])
    change = ColumnChange(
        added=(Column("extra.text", pa.string(), "new"), Column("gone", pa.int64())),
        dropped=("gone",),
        renamed={"old.name": "new name"},
        retyped={
            "small": pa.int64(),
            "ratio": pa.float64(),
            "price": pa.decimal128(12, 2),
            "list": pa.list_(pa.int64()),
            "place": pa.struct([("x", pa.int64()), ("y", pa.string())]),
        },
        commented={"new name": "it had another one", "small": "wider"},
    )
    snapshots = len(pyiceberg_table(tmp_path).snapshots())
    large: dict[str, Any] = {
        "id": 3, "small": 1 << 40, "ratio": 0.1, "price": Decimal("1234567890.12"), "gone": 7,
        "new name": "m", "list": [1 << 40], "place": {"x": 1 << 40, "y": "y"}, "extra.text": "e",
    }  # fmt: skip
    kept_table.apply([large], change=change)
    assert len(pyiceberg_table(tmp_path).snapshots()) == snapshots + 1
    kept_table.rows[1] = {
        "id": 1, "small": 5, "ratio": 0.5, "price": Decimal("1.50"), "new name": "n",
        "list": [1], "place": {"x": 1},
    }  # fmt: skip
    assert [c.name for c in kept_table.table.schema().columns] == [
        "id", "small", "ratio", "price", "new name", "list", "place", "extra.text", "gone",
    ]  # fmt: skip
    assert kept_table.table.schema().column("small") == Column("small", pa.int64(), "wider")
    assert kept_table.table.schema().column("new name") == Column(
        "new name", pa.string(), "it had another one"
    )
    assert by_pyiceberg(tmp_path) == kept_table.expected()
    assert by_duckdb(
        tmp_path, 'SELECT id, small, price, gone, "new name" FROM {table} ORDER BY 1'
    ) == [
        (r["id"], r["small"], r["price"], r["gone"], r["new name"]) for r in kept_table.expected()
    ]
    kept_table.apply([{"id": 1, "small": 6}], [2])  # bounds of files of before are those of the key
    assert by_pyiceberg(tmp_path) == kept_table.expected()


def test_a_key_column_is_renamed_and_widened(lake: Lake) -> None:
    schema = TableSchema((Column("id", pa.int32()), Column("v", pa.string())), ("id",))
    table = lake.create(NAME, schema, {})
    begun = table.begin(NO_CHANGE)
    rows = table_of(schema, [{"id": -3}, {"id": 70_000}])
    begun.commit(TableChange([begun.storage.write_rows(rows, "a")]), {})
    begun = table.begin(ColumnChange(renamed={"id": "number"}, retyped={"id": pa.int64()}))
    assert begun.storage.schema.key == ("number",)
    begun.commit(TableChange(), {BATCH: "2"})
    assert table.schema().key == ("number",)
    for handle in (table, found(lake)):
        begun = handle.begin(NO_CHANGE)
        (file,) = begun.files
        assert file.bounds == {begun.storage.field_id("number"): (-3, 70_000)}


@pytest.mark.parametrize(
    "change",
    [
        ColumnChange(retyped={"small": pa.string()}),
        ColumnChange(retyped={"small": pa.list_(pa.int32())}),
        ColumnChange(retyped={"price": pa.decimal128(12, 3)}),
        ColumnChange(added=(Column("name", pa.string()),)),
        ColumnChange(added=(Column("span", pa.duration("us")),)),
        ColumnChange(renamed={"small": "name"}),
        ColumnChange(dropped=("missing",)),
    ],
    ids=["text", "list", "scale", "twice", "duration", "renamed twice", "missing"],
)
def test_a_change_that_iceberg_refuses_is_named(lake: Lake, change: ColumnChange) -> None:
    table = lake.create(NAME, EVERY_TYPE, {})
    with pytest.raises(HeadraceError) as raised:
        table.begin(change)
    assert raised.value.code == "replicas.column_not_taken"
    assert not raised.value.retriable
    table.refresh()
    assert table.schema() == EVERY_TYPE


def test_a_repeated_batch_is_seen_after_all_snapshots_expired(lake: Lake, tmp_path: Path) -> None:
    kept_table = KeptTable(lake.create(NAME, EVERY_TYPE, {}))
    for number in range(3):
        kept_table.apply([row(number), row(5, small=number)])
    old = {file.path for file in found(lake).begin(NO_CHANGE).files}
    table = found(lake)
    compact(table)  # the snapshot that is left has no batch in it
    table.expire(dt.datetime.now(dt.UTC) + dt.timedelta(minutes=1))
    assert len(pyiceberg_table(tmp_path).snapshots()) == 1
    again = found(lake)
    assert again.properties()[BATCH] == "3"
    assert again.properties()[QUERY] == "q"
    assert again.foreign_changes() == []
    kept_table.apply([row(5, small=7)], [1])
    kept_table.table.expire(dt.datetime.now(dt.UTC) + dt.timedelta(minutes=1))
    assert not any(Path(path).exists() for path in old)
    kept_table.apply([row(2, small=8)])
    assert by_pyiceberg(tmp_path) == kept_table.expected()


def test_a_snapshot_expires_by_the_time_at_which_another_one_replaced_it(
    lake: Lake, tmp_path: Path
) -> None:
    kept_table, times = KeptTable(lake.create(NAME, EVERY_TYPE, {})), list[dt.datetime]()
    versions = []
    for number in range(4):
        kept_table.apply([row(number)])
        versions.append(int(kept_table.table.version()))
        committed_ms = pyiceberg_table(tmp_path).snapshots()[-1].timestamp_ms
        times.append(dt.datetime.fromtimestamp((committed_ms + 1) / 1000, dt.UTC))
        time.sleep(0.01)  # snapshots differ in milliseconds
    kept_table.table.expire(times[0] - dt.timedelta(days=1))
    assert [each.snapshot_id for each in pyiceberg_table(tmp_path).snapshots()] == versions
    kept_table.table.expire(times[1])
    assert [each.snapshot_id for each in pyiceberg_table(tmp_path).snapshots()] == versions[1:]
    read = pyiceberg_table(tmp_path).scan(snapshot_id=versions[1]).to_arrow()
    assert sorted(read.column("id").to_pylist()) == [0, 1]


def test_a_table_that_somebody_dropped_is_named(lake: Lake) -> None:
    table = lake.create(NAME, EVERY_TYPE, {})
    lake._catalog.dropTable(lake._identifier(NAME))  # type: ignore[attr-defined]
    gone = r"shop\.items: could not .*, because the table no longer exists"
    with pytest.raises(HeadraceError, match=gone) as raised:
        table.begin(NO_CHANGE)
    assert (raised.value.code, raised.value.retriable) == ("iceberg.no_table", False)
    assert lake.table(NAME) is None


def test_a_compaction_between_begin_and_commit_is_a_conflict(lake: Lake, tmp_path: Path) -> None:
    kept_table = KeptTable(lake.create(NAME, EVERY_TYPE, {}))
    kept_table.apply([row(number) for number in range(10)])
    kept_table.apply([row(20)], [3])
    begun = kept_table.table.begin(NO_CHANGE)
    change = kept_table.prepare(begun, [row(4, small=77)], [5])
    compact(found(lake))
    with pytest.raises(HeadraceError) as raised:
        begun.commit(change, {BATCH: "3"})
    assert (raised.value.code, raised.value.retriable) == ("replicas.conflict", True)
    assert by_pyiceberg(tmp_path) == kept_table.expected()
    kept_table.apply([row(4, small=77)], [5])
    assert by_pyiceberg(tmp_path) == kept_table.expected()
    assert kept_table.table.properties()[BATCH] == "3"


@pytest.mark.parametrize("files", [slice(1), slice(1, 3), slice(3)])
def test_a_compaction_of_files_that_are_removed_is_a_conflict(
    lake: Lake, tmp_path: Path, files: slice
) -> None:
    """The conflict is of one file of several, or of all of them."""
    kept_table = KeptTable(lake.create(NAME, EVERY_TYPE, {}))
    kept_table.apply([row(1)])
    kept_table.apply([row(2), row(3)])
    kept_table.apply([row(4)], [3])
    begun = kept_table.table.begin(NO_CHANGE)
    change = TableChange(removed=begun.files[files])
    compact(found(lake))
    with pytest.raises(HeadraceError) as raised:
        begun.commit(change, {BATCH: "9"})
    assert (raised.value.code, raised.value.retriable) == ("replicas.conflict", True)
    assert by_pyiceberg(tmp_path) == kept_table.expected()


def test_rows_of_others_are_a_conflict_and_named(lake: Lake) -> None:
    kept_table = KeptTable(lake.create(NAME, EVERY_TYPE, {}))
    kept_table.apply([row(1)])
    begun = kept_table.table.begin(NO_CHANGE)
    change = kept_table.prepare(begun, [row(2)], [])
    other = found(lake)
    others = other.begin(NO_CHANGE)
    added = others.storage.write_rows(table_of(EVERY_TYPE, [row(1)]), "somebody-else")
    others.commit(TableChange([added]), {})
    with pytest.raises(HeadraceError) as raised:
        begun.commit(change, {QUERY: "q", BATCH: "2"})
    assert (raised.value.code, raised.value.retriable) == ("replicas.conflict", True)
    kept_table.table.refresh()
    (change_of_others,) = kept_table.table.foreign_changes()
    assert change_of_others == (
        f"Snapshot {other.version()} of an unnamed writer: append (added-records 1)"
    )


def test_a_state_that_cannot_be_read_after_a_commit_is_read_before_its_version_is_returned(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept_table = KeptTable(lake.create(NAME, EVERY_TYPE, {}))
    kept_table.apply([row(1)])
    table = kept_table.table
    assert isinstance(table, IcebergTable)
    before, refuses = table.version(), True

    class Refusing:
        """The table, whose catalog does not answer after the commit."""

        def __init__(self, of: Any) -> None:
            self._of = of

        def refresh(self) -> None:
            if refuses:
                raise HeadraceError("replicas.not_written", "no answer", "", retriable=True)
            self._of.refresh()

        def __getattr__(self, name: str) -> Any:
            return getattr(self._of, name)

    monkeypatch.setattr(table, "_table", Refusing(table._table))
    begun = table.begin(NO_CHANGE)
    rows = begun.storage.write_rows(table_of(EVERY_TYPE, [row(2)]), "2")
    committed_version = begun.commit(TableChange([rows]), {QUERY: "q", BATCH: "2"})
    assert committed_version != before
    for reading in (table.version, table.properties, table.schema):
        with pytest.raises(HeadraceError, match="no answer"):
            reading()
    refuses = False
    assert table.version() == committed_version
    assert table.properties()[BATCH] == "2"


def test_columns_of_others_are_seen_at_the_next_begin(lake: Lake) -> None:
    kept_table = KeptTable(lake.create(NAME, EVERY_TYPE, {}))
    begun = kept_table.table.begin(NO_CHANGE)
    change = kept_table.prepare(begun, [row(2)], [])
    other = found(lake)
    other.begin(ColumnChange(added=(Column("theirs", pa.string()),))).commit(TableChange(), {})
    begun.commit(change, {BATCH: "1"})  # rows without a value for it
    assert kept_table.table.schema().column("theirs") == Column("theirs", pa.string())
    begun = kept_table.table.begin(ColumnChange(dropped=("theirs",)))
    other.begin(ColumnChange(added=(Column("more", pa.string()),))).commit(TableChange(), {})
    with pytest.raises(HeadraceError) as raised:
        begun.commit(TableChange(), {BATCH: "2"})
    assert (raised.value.code, raised.value.retriable) == ("replicas.conflict", True)


def test_a_harmless_compaction_is_kept_between_batches(lake: Lake, tmp_path: Path) -> None:
    kept_table = KeptTable(lake.create(NAME, EVERY_TYPE, {}))
    kept_table.apply([row(number) for number in range(5)])
    kept_table.apply([row(2, small=1)])
    compact(found(lake))
    kept_table.apply([row(3, small=1)], [4])
    assert kept_table.table.foreign_changes() == []
    assert by_pyiceberg(tmp_path) == kept_table.expected()


def test_tables_commit_side_by_side(lake: Lake, tmp_path: Path) -> None:
    names = [TableName(("shop", "deep"), f"t{number}") for number in range(5)]

    def keep(name: TableName) -> list[dict[str, Any]]:
        kept_table = KeptTable(lake.create(name, EVERY_TYPE, {}))
        for batch in range(4):
            kept_table.apply([row(number, small=batch) for number in range(batch, batch + 3)])
        return kept_table.expected()

    with ThreadPoolExecutor(5) as threads:
        expected = list(threads.map(keep, names))
    assert [by_pyiceberg(tmp_path, name) for name in names] == expected


def test_a_commit_waits_for_a_long_one_of_somebody_else(lake: Lake, tmp_path: Path) -> None:
    """SQLite's driver waits for three seconds unless its options say more."""
    kept_table = KeptTable(lake.create(NAME, EVERY_TYPE, {}))
    with (
        closing(sqlite3.connect(tmp_path / "catalog.db", check_same_thread=False)) as other,
        ThreadPoolExecutor(1) as thread,
    ):
        other.execute("BEGIN EXCLUSIVE")
        committing = thread.submit(kept_table.apply, [row(1)])
        with pytest.raises(TimeoutError):
            committing.result(5)
        other.rollback()
        committing.result()
    assert by_pyiceberg(tmp_path) == kept_table.expected()


def test_what_was_not_committed_is_swept_by_its_name(lake: Lake, tmp_path: Path) -> None:
    kept_table = KeptTable(lake.create(NAME, EVERY_TYPE, {}))
    kept_table.apply([row(1), row(2)])
    begun = kept_table.table.begin(NO_CHANGE)
    rows = begun.storage.write_rows(table_of(EVERY_TYPE, [row(3)]), "7-lost")
    dead = begun.storage.read_vector(begun.files[0])
    dead.add(0)
    begun.storage.write_vector(begun.files[0], dead, "7-lost-0")
    assert Path(rows.path).name == "7-lost.parquet"
    assert begun.storage.sweep("7-") == 2
    assert begun.storage.sweep("7-") == 0
    assert by_pyiceberg(tmp_path) == kept_table.expected()
    kept_table.apply([row(3)], [1])
    begun = kept_table.table.begin(NO_CHANGE)
    assert any(file.vector for file in begun.files)
    assert begun.storage.sweep("b", begun.files) == 0
    assert begun.storage.sweep("b2-", begun.files[:0]) == 2


def test_several_vectors_in_a_puffin_file_of_somebody_else_are_read(lake: Lake) -> None:
    """Spark's writer makes such files."""
    kept_table = KeptTable(lake.create(NAME, EVERY_TYPE, {}))
    kept_table.apply([row(1), row(2), row(3)])
    kept_table.apply([row(4), row(5)])
    begun = kept_table.table.begin(NO_CHANGE)
    first, second = begun.files
    written = [
        json.loads(begun.storage.write_vector(file, BitMap([place]), f"v{place}"))
        for place, file in enumerate(begun.files, 0)
    ]
    puffin, other = (Path(vector["file-path"]) for vector in written)
    joined = puffin.read_bytes() + other.read_bytes()
    written[1]["content-offset"] += puffin.stat().st_size
    puffin.with_name("both.puffin").write_bytes(joined)
    for vector in written:
        vector["file-path"] = str(puffin.with_name("both.puffin"))
        vector["file-size-in-bytes"] = len(joined)
    vectors = [
        (file, json.dumps(vector), 1) for file, vector in zip((first, second), written, strict=True)
    ]
    begun.commit(TableChange(vectors=vectors), {QUERY: "q"})
    read = found(lake).begin(NO_CHANGE)
    positions = {file.path: list(read.storage.read_vector(file)) for file in read.files}
    assert positions == {first.path: [0], second.path: [1]}
    for key in (1, 5):
        del kept_table.rows[key]
    again = KeptTable(found(lake))
    again.rows = kept_table.rows
    again.apply([row(2, small=9)])
    left = found(lake).begin(NO_CHANGE)
    assert sorted(file.rows - file.deleted for file in left.files) == [1, 1, 1]
