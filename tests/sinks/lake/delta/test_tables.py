"""Tables that Delta Kernel commits, read by independent readers."""

from __future__ import annotations

import datetime as dt
import json
import random
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from headrace.errors import HeadraceError
from headrace.sinks.delta.format import FORMAT
from headrace.sinks.replicas.lake import (
    BATCH,
    POSITION,
    Column,
    ColumnChange,
    Lake,
    LakeTable,
    TableChange,
    TableName,
    TableSchema,
)
from headrace.sinks.replicas.maintaining import merge_small_files
from headrace.sinks.replicas.runners import HereRunner
from tests.sinks.lake.delta.applying import (
    Row,
    apply,
    arrow_rows,
    batch_properties,
    live_rows,
    planned,
    seen_by_delta_rs,
    seen_by_duckdb,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ORDERS = TableName(("shop",), "orders")
SMALL = TableSchema((Column("id", pa.int64()), Column("name", pa.string())), ("id",))
TAGS = pa.list_(pa.struct([("t", pa.string())]))
ALL = TableSchema(
    (
        Column("id", pa.int64(), "the key"),
        Column("flag", pa.bool_()),
        Column("tiny", pa.int8()),
        Column("little", pa.int16()),
        Column("number", pa.int32()),
        Column("real", pa.float32()),
        Column("precise", pa.float64()),
        Column("price", pa.decimal128(20, 4)),
        Column("text", pa.string()),
        Column("bytes", pa.binary()),
        Column("day", pa.date32()),
        Column("at", pa.timestamp("us", "UTC")),
        Column("local", pa.timestamp("us")),
        Column("many", pa.list_(pa.int32())),
        Column("pairs", pa.map_(pa.string(), pa.int64())),
        Column("place", pa.struct([("x", pa.int32()), ("tags", TAGS)])),
    ),
    ("id",),
    "Everything",
)  # fmt: skip


def every_type(number: int) -> Row:
    """A row of ALL; each third one has nulls only."""
    if number % 3 == 0:
        return {"id": number}
    moment = dt.datetime(2024, 2, 29, 23, 59, 59, 999_999 - number, tzinfo=dt.UTC)
    return {
        "id": number,
        "flag": number % 2 == 0,
        "tiny": number % 100 - 50,
        "little": -number,
        "number": number * 1000,
        "real": number / 4,
        "precise": number / 7,
        "price": Decimal(number) / 16,
        "text": f"{'Zürich' * 9} {number}",
        "bytes": bytes([number % 256, 0]),
        "day": dt.date(1900, 1, 1) + dt.timedelta(days=number),
        "at": moment,
        "local": moment.replace(tzinfo=None),
        "many": [number, None],
        "pairs": [("a", number), ("b", None)],
        "place": {"x": None, "tags": [{"t": "z"}, None]},
    }


def test_a_table_of_every_type_is_read_by_duckdb_and_by_delta_rs(
    lake: Lake, tmp_path: Path
) -> None:
    table = lake.create(ORDERS, ALL, {"headrace.made": "yes"})
    assert table.schema() == ALL
    assert table.version() == "0"

    rows = [every_type(number) for number in range(1, 8)]
    apply(table, 1, rows)

    expected = arrow_rows(ALL, rows).to_pylist()
    assert [_pairs(row) for row in seen_by_duckdb(tmp_path / "lake/shop/orders")] == expected
    assert seen_by_delta_rs(tmp_path / "lake/shop/orders") == expected


def test_large_arrow_types_are_written_as_small_ones(lake: Lake, tmp_path: Path) -> None:
    table = lake.create(ORDERS, ALL, {})
    transaction = table.begin(ColumnChange())
    rows = arrow_rows(ALL, [every_type(1)])
    for name, large in (
        ("text", pa.large_string()),
        ("bytes", pa.large_binary()),
        ("many", pa.large_list(pa.int32())),
    ):
        rows = rows.set_column(rows.schema.get_field_index(name), name, rows[name].cast(large))
    file = transaction.storage.write_rows(rows, "large")
    transaction.commit(TableChange([file]), batch_properties(1))
    (read_row,) = seen_by_delta_rs(tmp_path / "lake/shop/orders")
    assert read_row == arrow_rows(ALL, [every_type(1)]).to_pylist()[0]


def test_many_batches_with_checkpoints_between_them_equal_a_replay(
    lake: Lake, kernel_spark: SparkSession, tmp_path: Path
) -> None:
    draw = random.Random(25)
    table = lake.create(ORDERS, SMALL, {})
    replay: dict[int, str] = {}
    for batch in range(1, 24):
        rows = {draw.randrange(200): f"{batch}-{draw.random()}" for _ in range(20)}
        deleted = set(draw.sample(range(200), 15)) - rows.keys()
        if batch == 15:
            deleted = set(replay) - rows.keys()  # every older file loses its last row
        apply(table, batch, [{"id": i, "name": name} for i, name in rows.items()], deleted)
        replay = {i: name for i, name in replay.items() if i not in deleted} | rows
        assert table.version() == str(batch)
        if batch == 15:
            assert len(table.begin(ColumnChange()).files) == 1

    expected = [{"id": i, "name": replay[i]} for i in sorted(replay)]
    root = tmp_path / "lake/shop/orders"
    assert list(root.glob("_delta_log/*.checkpoint*.parquet"))
    assert list(root.glob("_delta_log/*23.crc"))
    assert not list(root.glob("_delta_log/.*.crc")), "a file of Hadoop's checksums"
    assert seen_by_duckdb(root) == seen_by_delta_rs(root) == expected

    other = FORMAT.open(kernel_spark, {"path": f"file://{tmp_path}/lake"})
    again = other.table(ORDERS)
    assert again is not None
    ours, theirs = table.begin(ColumnChange()), again.begin(ColumnChange())
    assert _known(ours.files) == _known(theirs.files)
    rows = pa.concat_tables(live_rows(theirs.storage, file) for file in theirs.files)
    assert rows.sort_by("id").to_pylist() == expected
    other.close()


def test_a_batch_that_was_committed_is_known_after_the_log_before_it_is_gone(
    lake: Lake, kernel_spark: SparkSession, tmp_path: Path
) -> None:
    table = lake.create(ORDERS, SMALL, {})
    for batch in range(1, 13):
        apply(table, batch, [{"id": batch, "name": "x"}])
    log = tmp_path / "lake/shop/orders/_delta_log"
    for version in range(10):
        (log / f"{version:020}.json").unlink()
        (log / f"{version:020}.crc").unlink()

    other = FORMAT.open(kernel_spark, {"path": str(tmp_path / "lake")})
    again = other.table(ORDERS)
    assert again is not None
    assert again.properties()[BATCH] == "12"
    assert json.loads(again.properties()[POSITION]) == {"lsn": 12}
    assert again.properties()["headrace.key"] == '["id"]'
    # The transaction of the application refuses it, too, where the property is overlooked.
    again.begin(ColumnChange()).commit(TableChange(), {BATCH: "3"})
    with pytest.raises(HeadraceError, match=r"\[replicas.conflict, retriable\]"):
        apply(again, 12, [{"id": 12, "name": "y"}])
    other.close()


def test_files_that_are_merged_keep_what_is_in_structs(lake: Lake, tmp_path: Path) -> None:
    table = lake.create(ORDERS, ALL, {})
    rows = [every_type(number) for number in range(1, 13)]
    for batch, row in enumerate(rows, 1):
        apply(table, batch, [row])
    merge_small_files(table, HereRunner(1), only_small=True)
    assert len(table.begin(ColumnChange()).files) == 1
    expected = arrow_rows(ALL, rows).to_pylist()
    assert seen_by_delta_rs(tmp_path / "lake/shop/orders") == expected


def test_a_compaction_changes_files_and_no_rows(lake: Lake, tmp_path: Path) -> None:
    table = lake.create(ORDERS, SMALL, {})
    for batch in range(1, 5):
        apply(
            table, batch, [{"id": batch, "name": "old"}, {"id": -batch, "name": "x"}], [batch - 1]
        )
    transaction = table.begin(ColumnChange())
    rows = pa.concat_tables(live_rows(transaction.storage, f) for f in transaction.files)
    file = transaction.storage.write_rows(rows, "compact-4")
    change = TableChange([file], (), transaction.files, is_compaction=True)
    transaction.commit(change, batch_properties(4))

    root = tmp_path / "lake/shop/orders"
    lines = (root / "_delta_log" / f"{5:020}.json").read_text().splitlines()
    actions = [json.loads(line) for line in lines]
    moved = [action.get("add") or action.get("remove") for action in actions]
    assert {each["dataChange"] for each in moved if each} == {False}
    assert not any("txn" in action for action in actions)
    expected = [{"id": -i, "name": "x"} for i in (4, 3, 2, 1)] + [{"id": 4, "name": "old"}]
    assert seen_by_delta_rs(root) == expected
    assert len(table.begin(ColumnChange()).files) == 1


def test_several_tables_commit_side_by_side(lake: Lake, tmp_path: Path) -> None:
    def fill(number: int) -> LakeTable:
        table = lake.create(TableName(("many", "of them"), f"täble {number}"), SMALL, {})
        for batch in range(1, 6):
            apply(table, batch, [{"id": batch, "name": str(number)}])
        return table

    with ThreadPoolExecutor(4) as threads:
        tables = list(threads.map(fill, range(6)))
    for number, table in enumerate(tables):
        assert table.version() == "5"
        root = tmp_path / f"lake/many/of them/täble {number}"
        assert seen_by_delta_rs(root) == [{"id": i, "name": str(number)} for i in range(1, 6)]


def test_what_is_no_table_of_headrace_is_refused_and_an_empty_folder_is_not(
    lake: Lake, tmp_path: Path
) -> None:
    from deltalake import write_deltalake

    root = tmp_path / "lake/shop/orders"
    assert lake.table(ORDERS) is None
    (root / "_delta_log").mkdir(parents=True)
    assert lake.table(ORDERS) is None
    (root / "notes.txt").write_text("x")
    with pytest.raises(HeadraceError, match="is not empty and not a Delta table") as refused:
        lake.table(ORDERS)
    assert refused.value.code == "delta.not_a_table"
    (root / "notes.txt").unlink()
    write_deltalake(str(root), pa.table({"id": [1]}))
    with pytest.raises(
        HeadraceError, match=r"shop\.orders .* cannot be kept as a replica"
    ) as refused:
        lake.table(ORDERS)
    assert refused.value.code == "delta.not_a_replica"
    with pytest.raises(HeadraceError) as refused:
        lake.create(ORDERS, SMALL, {})
    assert (refused.value.code, refused.value.retriable) == ("replicas.conflict", True)


def test_properties_of_new_tables_come_from_the_options(
    kernel_spark: SparkSession, tmp_path: Path
) -> None:
    options = {"path": str(tmp_path), "table.delta.checkpointInterval": "2"}
    lake = FORMAT.open(kernel_spark, options)
    table = lake.create(ORDERS, SMALL, {})
    apply(table, 1, [{"id": 1, "name": "x"}])
    apply(table, 2, [{"id": 2, "name": "x"}])
    log = tmp_path / "shop/orders/_delta_log"
    assert (log / f"{2:020}.checkpoint.parquet").exists()
    lake.close()


def test_a_session_without_the_jars_names_them(tmp_path: Path) -> None:
    class Nothing:
        """A package of a JVM without the classes; py4j answers so."""

        def __getattr__(self, name: str) -> Nothing:
            return Nothing()

    class Spark:
        _jvm = Nothing()
        _jsc = Nothing()

    with pytest.raises(HeadraceError, match="Delta Kernel's jars") as missing:
        FORMAT.open(Spark(), {"path": str(tmp_path)})  # type: ignore[arg-type]
    assert missing.value.code == "delta.no_kernel"


def _pairs(row: Row) -> Row:
    """DuckDB gives maps as dicts."""
    pairs = row["pairs"]
    return {**row, "pairs": list(pairs.items()) if isinstance(pairs, dict) else pairs}


def _known(files: object) -> object:
    """The facts of files, sorted."""
    assert isinstance(files, tuple)
    facts = [(f.path, f.rows, f.size, f.bounds, f.deleted) for f in files]
    return sorted(facts, key=str)


def test_planned_changes_of_an_empty_batch_commit_the_batch_alone(lake: Lake) -> None:
    table = lake.create(ORDERS, SMALL, {})
    transaction = table.begin(ColumnChange())
    transaction.commit(planned(transaction, [], []), batch_properties(7))
    assert table.properties()[BATCH] == "7"
    assert table.begin(ColumnChange()).files == ()


def test_a_session_whose_catalog_is_not_deltas_is_refused_where_tables_are_to_be_in_it(
    kernel_spark: SparkSession, tmp_path: Path
) -> None:
    options = {"path": str(tmp_path), "catalog.name": "spark_catalog"}
    with pytest.raises(HeadraceError, match=r"catalog is not Delta's: .* is not set") as caught:
        FORMAT.open(kernel_spark, options)
    assert caught.value.code == "delta.no_catalog"
