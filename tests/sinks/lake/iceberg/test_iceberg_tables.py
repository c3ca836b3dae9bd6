"""Iceberg tables that headrace makes, read by others."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from headrace.sinks.replicas.lake import BATCH, QUERY, ColumnChange, Lake, TableChange
from tests.sinks.lake.iceberg.rows import (
    EVERY_TYPE,
    NAME,
    by_duckdb,
    by_pyiceberg,
    pyiceberg_table,
    row,
    table_of,
)

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
    seen = pyiceberg_table(tmp_path)
    assert seen.properties["comment"] == "everything for sale"
    assert seen.schema().find_field("price").doc == "in euros"
    assert table.version() == str(seen.current_snapshot().snapshot_id)
    assert lake.table(NAME).schema() == EVERY_TYPE  # type: ignore[union-attr]
    assert table.properties() == {
        "headrace.topic": "t",
        "headrace.key": '["id"]',
        QUERY: "q",
        BATCH: "1",
    }
