"""Iceberg tables that headrace makes, read by others, what others change in them, tables of others,
and catalogs."""

from __future__ import annotations

import datetime as dt
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
import pytest

from headrace.errors import HeadraceError
from headrace.sinks.iceberg.format import FORMAT
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
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_a_table_with_a_column_of_every_type_is_read_back(lake: Lake, tmp_path: Path) -> None:
    assert lake.table(NAME) is None
    table = lake.create(NAME, EVERY_TYPE, {"headrace.topic": "t"})
    assert table.schema() == EVERY_TYPE
    assert table.version() == ""
    rows = [
        row(1),
        row(2, double=math.inf, name=None, tags=[], counts=None, place=None),
        {"id": 3},
    ]
    begun = table.begin(ColumnChange())
    added = begun.storage.write_rows(table_of(EVERY_TYPE, rows), "b1-0")
    begun.commit(TableChange(added=[added]), {QUERY: "q", BATCH: "1"})
    read = by_pyiceberg(tmp_path)
    expected = table_of(EVERY_TYPE, rows).to_pylist()
    assert read == expected
    assert by_duckdb(tmp_path, "SELECT id, price, name FROM {table} ORDER BY id") == [
        (each["id"], each["price"], each["name"]) for each in expected
    ]
    loaded_table = pyiceberg_table(tmp_path)
    assert loaded_table.properties["comment"] == "everything for sale"
    assert loaded_table.schema().find_field("price").doc == "in euros"
    assert table.version() == str(loaded_table.current_snapshot().snapshot_id)
    assert lake.table(NAME).schema() == EVERY_TYPE  # type: ignore[union-attr]
    assert table.properties() == {
        "headrace.topic": "t",
        "headrace.key": '["id"]',
        QUERY: "q",
        BATCH: "1",
        "headrace.rows": "3",
        "headrace.snapshot": f"{table.version()} 1",
    }


def test_a_table_that_exists_is_not_created_again(lake: Lake) -> None:
    lake.create(NAME, EVERY_TYPE, {})
    with pytest.raises(HeadraceError) as raised:
        lake.create(NAME, EVERY_TYPE, {})
    assert (raised.value.code, raised.value.retriable) == ("replicas.conflict", True)


def test_a_namespace_that_somebody_creates_meanwhile_is_used(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = lake._catalog  # type: ignore[attr-defined]
    lake.create(NAME, EVERY_TYPE, {})

    class LateNamespaceCatalog:
        """A catalog that shows the namespace only after an attempt to create it."""

        answers = [False, True]  # noqa: RUF012
        attempts = 0

        def __getattr__(self, name: str) -> Any:
            return getattr(catalog, name)

        def namespaceExists(self, _: Any) -> bool:
            return self.answers.pop(0)

        def createNamespace(self, namespace: Any) -> None:
            self.attempts += 1
            catalog.createNamespace(namespace)

    late = LateNamespaceCatalog()
    monkeypatch.setattr(lake, "_catalog", late)
    other = TableName(NAME.namespace, "more")
    lake.create(other, EVERY_TYPE, {})
    assert late.attempts == 1
    assert lake.table(other) is not None


def test_columns_that_iceberg_cannot_take_are_named_before_anything_is_made(lake: Lake) -> None:
    nested = Column("place", pa.struct([("at", pa.list_(pa.timestamp("ns")))]))
    for columns, text in (
        ((nested,), r"Column place\.at\.element: .* timestamp\[ns\]"),
        ((Column("a", pa.int64()), Column("a", pa.int32())), "two columns a"),
    ):
        with pytest.raises(HeadraceError, match=text) as raised:
            lake.create(NAME, TableSchema(columns, ()), {})
        assert raised.value.code == "replicas.column_not_taken"
    assert lake.table(NAME) is None


def test_types_that_iceberg_lacks_become_types_that_hold_their_values(lake: Lake) -> None:
    schema = TableSchema(
        (
            Column("id", pa.int16()),
            Column("text", pa.large_string()),
            Column("list", pa.large_list(pa.large_binary())),
            Column("A", pa.timestamp("us", "+02:00")),
            Column("a", pa.int8()),
        ),
        ("id",),
    )
    table = lake.create(NAME, schema, {})
    assert [column.type for column in table.schema().columns] == [
        pa.int32(),
        pa.string(),
        pa.list_(pa.binary()),
        pa.timestamp("us", "UTC"),
        pa.int32(),
    ]


def test_an_iceberg_that_is_too_old_is_refused_with_both_releases(lake: Lake) -> None:
    java = lake._java  # type: ignore[attr-defined]
    java._check_release("1.12.0")
    java._check_release("1.20.1")
    with pytest.raises(HeadraceError, match=r"has Iceberg 1\.10\.0, but headrace needs 1\.12\.0"):
        java._check_release("1.10.0")


def test_a_table_of_somebody_else_is_refused_with_what_is_wrong(
    lake: Lake, spark: SparkSession, tmp_path: Path
) -> None:
    def made(name: str, fields: list[dict[str, Any]], **properties: str) -> TableName:
        java = lake._java  # type: ignore[attr-defined]
        schema = java.iceberg.SchemaParser.fromJson(
            json.dumps({"type": "struct", "schema-id": 0, "fields": fields})
        )
        table = TableName(("shop",), name)
        builder = lake._catalog.buildTable(lake._identifier(table), schema)  # type: ignore[attr-defined]
        merged = {"format-version": "3"} | {k.replace("_", "-"): v for k, v in properties.items()}
        builder.withProperties(java.map_of(merged)).create()
        return table

    lake.create(NAME, EVERY_TYPE, {})  # makes the namespace
    field = {"id": 1, "name": "at", "required": False, "type": "time"}
    timed = found(lake, made("timed", [field]))
    with pytest.raises(
        HeadraceError, match=r"Column at of the Iceberg table shop\.timed has .* time"
    ):
        timed.schema()
    required = found(lake, made("required", [{**field, "type": "int", "required": True}]))
    with pytest.raises(HeadraceError, match=r"Column at .* is required"):
        required.schema()
    old = made("old", [{**field, "type": "int"}], format_version="2")
    with pytest.raises(HeadraceError, match="has the format version 2") as raised:
        lake.table(old)
    assert raised.value.code == "iceberg.no_table"


def test_a_hadoop_catalog_keeps_a_table(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    options = {"warehouse": (tmp_path / "hadoop").as_uri(), "catalog.type": "hadoop"}
    opened = FORMAT.open(spark, options)
    kept_table = KeptTable(opened.create(NAME, EVERY_TYPE, {}))
    kept_table.apply([row(1), row(2)])
    kept_table.apply([row(3)], [1])
    again = found(opened)
    assert again.properties()[BATCH] == "2"
    assert sum(f.rows - f.deleted for f in again.begin(NO_CHANGE).files) == 2
    opened.close()


def test_a_local_warehouse_stays_local_where_hadoop_has_another_file_system(
    spark: SparkSession, lake: Lake, tmp_path: Path
) -> None:
    configuration: Any = spark
    configuration = configuration._jsc.hadoopConfiguration()
    name = TableName(("my shop",), "Größe 1%")
    default = configuration.get("fs.defaultFS")
    configuration.set("fs.defaultFS", "hdfs://nowhere:1")
    try:
        opened = FORMAT.open(spark, {"warehouse": str(tmp_path)})
        kept_table = KeptTable(opened.create(name, EVERY_TYPE, {}))
        kept_table.apply([row(1), row(2)])
        kept_table.apply([row(3)], [1])
        again = KeptTable(found(opened, name))
        again.rows = kept_table.rows
        again.apply([row(4)], [2])
        opened.close()
    finally:
        configuration.set("fs.defaultFS", default)
    assert by_pyiceberg(tmp_path, name) == again.expected()
    assert by_duckdb(tmp_path, "SELECT count(*) FROM {table}", name) == [(2,)]


def test_rows_that_others_deleted_in_expired_snapshots_are_named(lake: Lake) -> None:
    kept_table = KeptTable(lake.create(NAME, EVERY_TYPE, {}))
    for number in range(3):
        kept_table.apply([row(number)])
    other = found(lake)
    others = other.begin(NO_CHANGE)
    others.commit(TableChange(removed=others.files[:1]), {})
    compact(other)
    other.expire(dt.datetime.now(dt.UTC) + dt.timedelta(minutes=1))
    kept_table.table.refresh()
    assert kept_table.table.foreign_changes() == [
        "Snapshots that have expired: the table has 2 rows instead of 3"
    ]


def test_a_rollback_by_others_is_named(lake: Lake) -> None:
    kept_table = KeptTable(lake.create(NAME, EVERY_TYPE, {}))
    kept_table.apply([row(1)])
    first = kept_table.table.version()
    kept_table.apply([row(2)])
    last = kept_table.table.version()
    assert kept_table.table.foreign_changes() == []
    found(lake)._table.manageSnapshots().rollbackTo(int(first)).commit()
    kept_table.table.refresh()
    assert kept_table.table.foreign_changes() == [
        f"Snapshot {last} of headrace was rolled back to {first}"
    ]
    assert len(kept_table.table.begin(NO_CHANGE).files) == 1


def test_a_rollback_by_others_after_another_commit_of_theirs_is_named(lake: Lake) -> None:
    kept_table = KeptTable(lake.create(NAME, EVERY_TYPE, {}))
    kept_table.apply([row(1)])
    first = kept_table.table.version()
    kept_table.apply([row(2)])
    last = kept_table.table.version()
    other = found(lake)
    others = other.begin(NO_CHANGE)
    added = others.storage.write_rows(table_of(EVERY_TYPE, [row(3)]), "somebody-else")
    others.commit(TableChange([added]), {})
    other._table.manageSnapshots().rollbackTo(int(first)).commit()
    kept_table.table.refresh()
    rolled_back = f"Snapshot {last} of headrace was rolled back to {first}"
    assert kept_table.table.foreign_changes() == [rolled_back]
    others = other.begin(NO_CHANGE)
    added = others.storage.write_rows(table_of(EVERY_TYPE, [row(4)]), "somebody-else-again")
    others.commit(TableChange([added]), {})
    kept_table.table.refresh()
    both = kept_table.table.foreign_changes()
    assert [change_text.partition(" of ")[0] for change_text in both] == [
        f"Snapshot {last}",
        f"Snapshot {other.version()}",
    ]
    kept_table.apply([row(5)])
    assert kept_table.table.foreign_changes() == []


def expire_all(table: IcebergTable) -> None:
    """Expire all snapshots but the last one, as another writer does."""
    table.refresh()
    table._table.expireSnapshots().expireOlderThan(2**53).retainLast(1).commit()


def overwrite(table: IcebergTable, rows: list[dict[str, Any]]) -> None:
    """Replace the rows of a file with as many rows, as an UPDATE of another writer does."""
    begun = table.begin(NO_CHANGE)
    added = begun.storage.write_rows(table_of(EVERY_TYPE, rows), f"somebody-else-{uuid4()}")
    begun.commit(
        TableChange([added], removed=[file for file in begun.files if file.rows == len(rows)]), {}
    )


def test_a_rollback_by_others_to_a_snapshot_after_which_all_have_expired_is_named(
    lake: Lake,
) -> None:
    kept_table = KeptTable(lake.create(NAME, EVERY_TYPE, {}))
    kept_table.apply([row(1)])
    first = kept_table.table.version()
    kept_table.apply([row(1, small=7)])  # as many rows
    last = kept_table.table.version()
    other = found(lake)
    other._table.manageSnapshots().rollbackTo(int(first)).commit()
    expire_all(other)
    for table in (kept_table.table, found(lake)):
        table.refresh()
        assert table.foreign_changes() == [
            f"Snapshot {last} of headrace, which has expired, was rolled back to {first}"
        ]
    compact(other)
    kept_table.table.refresh()
    assert kept_table.table.foreign_changes() != []


def test_snapshots_of_others_that_have_expired_are_named_unless_all_that_are_left_are_harmless(
    lake: Lake,
) -> None:
    kept_table = KeptTable(lake.create(NAME, EVERY_TYPE, {}))
    for number in range(3):
        kept_table.apply([row(number)])
    other = found(lake)
    compact(other)
    expire_all(other)
    kept_table.table.refresh()
    assert kept_table.table.foreign_changes() == []  # only this one, and it moved no rows
    kept_table.apply([row(3)])
    assert kept_table.table.foreign_changes() == []
    overwrite(other, [row(3, small=9)])
    compact(other)
    expire_all(other)
    for table in (kept_table.table, found(lake)):
        table.refresh()
        assert table.foreign_changes() == [
            "1 snapshot(s) of other writers that expired unread and may have changed rows"
        ]


def test_headraces_own_compactions_and_expired_snapshots_are_no_changes_by_others(
    lake: Lake,
) -> None:
    kept_table = KeptTable(lake.create(NAME, EVERY_TYPE, {}))
    for number in range(6):
        kept_table.apply([row(number)])
        compact(kept_table.table, {QUERY: kept_table.table.properties()[QUERY]})
        expire_all(found(lake))
        for table in (kept_table.table, found(lake)):
            table.refresh()
            assert table.foreign_changes() == []
