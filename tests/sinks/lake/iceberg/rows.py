"""Columns of every type, rows of them, and independent readers of Iceberg tables."""

from __future__ import annotations

import datetime as dt
import glob
import importlib
import os
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

from headrace.sinks.replicas.lake import Column, TableName, TableSchema

NAME = TableName(("shop",), "items")
EVERY_TYPE = TableSchema(
    (
        Column("id", pa.int64(), "the key"),
        Column("yes", pa.bool_()),
        Column("small", pa.int32()),
        Column("single", pa.float32()),
        Column("double", pa.float64()),
        Column("price", pa.decimal128(12, 2), "in euros"),
        Column("huge", pa.decimal128(38, 10)),
        Column("name", pa.string()),
        Column("bytes", pa.binary()),
        Column("day", pa.date32()),
        Column("local", pa.timestamp("us")),
        Column("instant", pa.timestamp("us", "UTC")),
        Column("tags", pa.list_(pa.string())),
        Column("counts", pa.map_(pa.string(), pa.int64())),
        Column("place", pa.struct([("x", pa.int32()), ("more", pa.list_(pa.float64()))])),
    ),
    ("id",),
    "everything for sale",
)


def row(number: int, **values: Any) -> dict[str, Any]:
    """A row of EVERY_TYPE."""
    moment = dt.datetime.fromisoformat("2026-01-01T12:30:00.123456") + dt.timedelta(hours=number)
    return {
        "id": number,
        "yes": number % 2 == 0,
        "small": number - 5,
        "single": number / 4,
        "double": number / 8,
        "price": Decimal(number).scaleb(-2),
        "huge": -Decimal(number).scaleb(-10),
        "name": f"item {number} with a name longer than sixteen characters",
        "bytes": bytes([number % 256]) * 20,
        "day": dt.date(2026, 1, 1) + dt.timedelta(days=number),
        "local": moment,
        "instant": moment.replace(tzinfo=dt.UTC),
        "tags": [f"tag {number}", None],
        "counts": [("a", number), ("b", None)],
        "place": {"x": number, "more": [number / 2]},
        **values,
    }


def table_of(schema: TableSchema, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows as Arrow has them; what a row does not name is null."""
    fields = pa.schema([(column.name, column.type) for column in schema.columns])
    return pa.table(
        {
            field.name: pa.array([each.get(field.name) for each in rows], field.type)
            for field in fields
        }
    )


def by_pyiceberg(warehouse: Path, name: TableName = NAME, **arguments: Any) -> list[dict[str, Any]]:
    """All rows, by the first column, as PyIceberg reads them."""
    return pyiceberg_table(warehouse, name).scan(**arguments).to_arrow().sort_by("id").to_pylist()


def pyiceberg_table(warehouse: Path, name: TableName = NAME) -> Any:
    """The table, as PyIceberg's SQL catalog finds it in the same database."""
    catalog = SqlCatalog(
        "headrace", uri=f"sqlite:///{warehouse}/catalog.db", warehouse=str(warehouse)
    )
    try:
        return catalog.load_table(str(name))
    finally:
        catalog.close()


def by_duckdb(warehouse: Path, query: str, name: TableName = NAME) -> list[tuple[Any, ...]]:
    """The rows of a query, in which `{table}` means the table."""
    metadata = pyiceberg_table(warehouse, name).metadata_location
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as connection:
        for extension in ("avro", "iceberg"):
            module = importlib.import_module(f"duckdb_extension_{extension}")
            assert module.__file__ is not None
            folder = os.path.dirname(module.__file__)
            (file,) = glob.glob(f"{folder}/**/*.duckdb_extension", recursive=True)
            connection.execute(f"LOAD '{file}'")
        relation = connection.execute(query.replace("{table}", f"iceberg_scan('{metadata}')"))
        return relation.fetchall()
