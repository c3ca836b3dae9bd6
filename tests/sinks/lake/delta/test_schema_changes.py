"""Columns that change with the rows of a batch, in one commit."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from headrace.errors import HeadraceError
from headrace.sinks.replicas.lake import Column, ColumnChange, Lake, TableName, TableSchema
from tests.sinks.lake.delta.applying import apply, seen_by_delta_rs, seen_by_duckdb

pytestmark = pytest.mark.spark

ORDERS = TableName(("shop",), "orders")
SCHEMA = TableSchema(
    (
        Column("id", pa.int32(), "the key"),
        Column("real", pa.float32()),
        Column("price", pa.decimal128(6, 2)),
        Column("name", pa.string()),
        Column("place", pa.struct([("x", pa.int32())])),
    ),
    ("id",),
)
OLD = {"id": 1, "real": 0.5, "price": Decimal("12.50"), "name": "one", "place": {"x": 1}}


def test_columns_are_added_dropped_and_renamed_in_the_commit_of_the_rows(
    lake: Lake, tmp_path: Path
) -> None:
    table = lake.create(ORDERS, SCHEMA, {})
    apply(table, 1, [OLD])
    change = ColumnChange(
        added=(
            Column("born", pa.date32(), "new"),
            Column("tags", pa.list_(pa.struct([("t", pa.string())]))),
        ),
        dropped=("price", "real"),
        renamed={"name": "title"},
        commented={"title": "was name", "id": None},
    )
    new = {
        "id": 2,
        "title": "two",
        "place": None,
        "born": dt.date(2024, 1, 1),
        "tags": [{"t": "a"}],
    }
    apply(table, 2, [new], change=change)

    assert table.version() == "2"
    names = table.schema().names
    assert names == ("id", "title", "place", "born", "tags")
    assert [column.comment for column in table.schema().columns[:2]] == [None, "was name"]
    root = tmp_path / "lake/shop/orders"
    expected = [
        {"id": 1, "title": "one", "place": {"x": 1}, "born": None, "tags": None},
        new,
    ]
    assert seen_by_delta_rs(root) == seen_by_duckdb(root) == expected

    # A column of a name that was dropped is another one.
    apply(table, 3, [], change=ColumnChange(added=(Column("price", pa.string()),)))
    assert [row["price"] for row in seen_by_delta_rs(root)] == [None, None]


def test_types_become_wider_with_the_rows_and_only_then_the_table_needs_a_reader_of_that(
    lake: Lake, tmp_path: Path
) -> None:
    table = lake.create(ORDERS, SCHEMA, {})
    apply(table, 1, [OLD])
    root = tmp_path / "lake/shop/orders"
    assert "typeWidening" not in _protocols(root)
    apply(table, 2, [], change=ColumnChange(added=(Column("more", pa.string()),)))
    assert "typeWidening" not in _protocols(root)
    wider = {
        "id": pa.int64(),
        "real": pa.float64(),
        "price": pa.decimal128(12, 4),
        "place": pa.struct([("x", pa.int64()), ("y", pa.string())]),
    }
    new = {
        "id": 2**40,
        "real": 1e300,
        "price": Decimal("12345678.1234"),
        "name": "two",
        "place": {"x": 2**50, "y": "y"},
        "more": None,
    }
    apply(table, 3, [new], change=ColumnChange(retyped=wider))
    assert "typeWidening" in _protocols(root)
    assert {
        column.name: column.type for column in table.schema().columns if column.name in wider
    } == wider
    before = {**OLD, "place": {"x": 1, "y": None}, "more": None}
    assert seen_by_duckdb(root) == [before, new]

    # What became wider stays so through other changes, and rows of old files are still found.
    apply(table, 4, [{**new, "id": 3}], [1], change=ColumnChange(renamed={"real": "really"}))
    assert [row["id"] for row in seen_by_duckdb(root)] == [3, 2**40]


def test_the_key_follows_a_column_that_is_renamed(lake: Lake) -> None:
    table = lake.create(ORDERS, SCHEMA, {})
    transaction = table.begin(ColumnChange(renamed={"id": "number"}))
    assert transaction.storage.schema.key == ("number",)
    apply(table, 1, [], change=ColumnChange(renamed={"id": "number"}))
    assert table.schema().key == ("number",)
    assert table.properties()["headrace.key"] == '["number"]'


def test_ids_and_names_in_files_of_new_columns_are_those_of_the_log(
    lake: Lake, tmp_path: Path
) -> None:
    table = lake.create(ORDERS, SCHEMA, {})
    change = ColumnChange(added=(Column("born", pa.date32()),))
    transaction = table.begin(change)
    planned = transaction.storage.field_id("born")
    apply(table, 1, [OLD | {"born": None}], change=change)
    assert table.begin(ColumnChange()).storage.field_id("born") == planned
    assert planned > max(map(transaction.storage.field_id, SCHEMA.names))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (ColumnChange(retyped={"name": pa.int32()}), "name .* cannot make int32 of string"),
        (ColumnChange(retyped={"id": pa.int16()}), "id .* cannot make int16 of integer"),
        (ColumnChange(retyped={"id": pa.float32()}), "id .* cannot make float of integer"),
        (ColumnChange(retyped={"price": pa.decimal128(7, 4)}), r"price .* decimal128\(7, 4\) of"),
        (ColumnChange(retyped={"place": pa.struct([("y", pa.int32())])}), "its members"),
        (ColumnChange(added=(Column("NAME", pa.int32()),)), "NAME .* distinguish it from name"),
        (ColumnChange(added=(Column("none", pa.null()),)), "none .* no type for null"),
        (ColumnChange(added=(Column("s", pa.struct([])),)), "s .* no type for an empty struct"),
        (ColumnChange(added=(Column("a\nb", pa.int32()),)), "a line break"),
        (ColumnChange(dropped=("nothing",)), "nothing .* no such column"),
        (ColumnChange(dropped=SCHEMA.names), "one column at least"),
    ],
)
def test_a_change_that_delta_cannot_take_names_the_column(
    lake: Lake, change: ColumnChange, named: str
) -> None:
    table = lake.create(ORDERS, SCHEMA, {})
    with pytest.raises(HeadraceError, match=named) as refused:
        table.begin(change)
    assert refused.value.code == "replicas.column_not_taken"
    assert table.version() == "0"


def test_a_table_with_a_type_that_delta_has_not_is_not_created(lake: Lake, tmp_path: Path) -> None:
    schema = TableSchema((Column("id", pa.int64()), Column("t", pa.time64("us"))), ("id",))
    with pytest.raises(HeadraceError, match=r"The column t .* time64\[us\]") as refused:
        lake.create(ORDERS, schema, {})
    assert refused.value.code == "replicas.column_not_taken"
    assert not (tmp_path / "lake/shop/orders").exists()


def _protocols(root: Path) -> str:
    """The log's entries on features."""
    lines = [
        line
        for file in sorted((root / "_delta_log").glob("*.json"))
        for line in file.read_text().splitlines()
    ]
    return json.dumps([each for line in lines if "protocol" in (each := json.loads(line))])
