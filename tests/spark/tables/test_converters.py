"""The converters `variant` and `row` in real streams: rows of the database are rows of Spark."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import headrace
from tests.servers.postgresql import Database

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

pytestmark = [pytest.mark.postgres, pytest.mark.spark]
TABLE = """
CREATE TABLE items (
    id int PRIMARY KEY, big bigint, small smallint NOT NULL, price numeric(12, 3), loose numeric,
    flag boolean, raw bytea, ratio float8, single float4, at timestamptz, local timestamp,
    rounded timestamp(3), day date, clock time, note text, doc jsonb, tags int[], uid uuid,
    place point
);
ALTER TABLE items REPLICA IDENTITY FULL;
INSERT INTO items VALUES
    (1, 9223372036854775807, -1, 123456789.125, 1.50, true, '\\x00ff', 0.1, 1.5,
     '2026-01-02 03:04:05.678901+00', '1969-12-31 23:59:59.5', '2026-01-02 03:04:05.678',
     '2026-01-02', '12:34:56.789', 'é "quoted"', '{"a": [1, 2]}', '{1,NULL,3}',
     'b68a35a7-17ad-35b3-af2a-ae46edb4545a', '(1.5,-2)');
INSERT INTO items (id, small) VALUES (2, 0);
"""
CHANGES = """
UPDATE items SET note = 'new', price = -0.001 WHERE id = 1;
UPDATE items SET id = 3 WHERE id = 1;
DELETE FROM items WHERE id = 2;
INSERT INTO items (id, small) VALUES (4, 4);
"""
FIRST = {
    "id": 1,
    "big": 9223372036854775807,
    "small": -1,
    "price": Decimal("123456789.125"),
    "loose": "1.5",
    "flag": True,
    "raw": b"\x00\xff",
    "ratio": 0.1,
    "single": 1.5,
    "at": datetime(2026, 1, 2, 3, 4, 5, 678901, UTC),
    "local": datetime(1969, 12, 31, 23, 59, 59, 500000),  # noqa: DTZ001 - has no zone
    "rounded": datetime(2026, 1, 2, 3, 4, 5, 678000),  # noqa: DTZ001
    "day": date(2026, 1, 2),
    "clock": "12:34:56.789000",
    "note": 'é "quoted"',
    "doc": '{"a": [1, 2]}',
    "tags": [1, None, 3],
    "uid": "b68a35a7-17ad-35b3-af2a-ae46edb4545a",
}


def run_to_end(
    spark: SparkSession, properties: Mapping[str, str], folder: Path, *, schema: str | None = None
) -> DataFrame:
    """Run the stream to the log's end; return all its events so far, from parquet files."""
    headrace.register(spark)
    checkpoint = str(folder / "checkpoint")
    options = headrace.options(properties, headrace_checkpoint_dir=checkpoint)
    reader = spark.readStream.format("headrace").options(**options)
    stream = (reader.schema(schema) if schema else reader).load()
    writer = stream.writeStream.format("parquet").trigger(availableNow=True)
    writer = writer.option("path", str(folder / "events"))
    query = writer.option("checkpointLocation", checkpoint).start()
    assert query.awaitTermination(300)
    files = spark.read.option("mergeSchema", "true").parquet(str(folder / "events"))
    return files.orderBy("sequence")


def stream_properties(database: Database, **more: str) -> dict[str, str]:
    """The properties of a stream of the table; `__` in a name of `more` is a dot."""
    others = {name.replace("__", "."): text for name, text in more.items()}
    return database.properties() | {"table.include.list": "public.items"} | others


def plain_row(value: Any) -> Any:
    """A row of Spark as a dict; instants in UTC."""
    row = value.asDict(recursive=True)
    row["at"] = row["at"] and row["at"].astimezone(UTC)
    row["raw"] = row["raw"] if row["raw"] is None else bytes(row["raw"])
    return row


def test_a_stream_of_rows_has_typed_columns(
    spark: SparkSession, database: Database, tmp_path: Path
) -> None:
    database.execute(TABLE)
    properties = stream_properties(database, value__converter="row", key__converter="row")
    run_to_end(spark, properties, tmp_path)
    database.execute(CHANGES)
    rows: list[Row] = run_to_end(spark, properties, tmp_path).collect()
    assert [(row.key.id, row.value and row.value.op) for row in rows] == [
        (1, "r"), (2, "r"), (1, "u"), (1, "d"), (1, None), (3, "c"), (2, "d"), (2, None), (4, "c"),
    ]  # fmt: skip
    first = plain_row(rows[0].value.after)
    assert first.pop("place")["x"] == 1.5
    assert first == FIRST
    assert plain_row(rows[1].value.after) == dict.fromkeys(plain_row(rows[0].value.after)) | {
        "id": 2,
        "small": 0,
    }
    assert rows[0].value.before is None
    changed = plain_row(rows[2].value.after)
    assert (changed["note"], changed["price"]) == ("new", Decimal("-0.001"))
    assert rows[2].value.before.note == FIRST["note"]
    source = rows[2].value.source
    assert (source.schema, source.table, source.connector) == ("public", "items", "postgresql")
    assert isinstance(source.lsn, int)
    assert rows[6].value.after is None
    assert rows[6].value.before.id == 2


def test_variants_hold_the_values_of_their_types(
    spark: SparkSession, database: Database, tmp_path: Path
) -> None:
    database.execute(TABLE)
    properties = stream_properties(database, value__converter="variant", key__converter="variant")
    run_to_end(spark, properties, tmp_path)
    database.execute(CHANGES)
    frame = run_to_end(spark, properties, tmp_path)
    assert dict(frame.dtypes)["value"] == "variant"
    kinds = {
        "big": "bigint", "small": "smallint", "price": "decimal(12,3)", "loose": "string",
        "flag": "boolean", "raw": "binary", "ratio": "double", "single": "float",
        "at": "timestamp", "local": "timestamp_ntz", "rounded": "timestamp_ntz", "day": "date",
        "clock": "string", "note": "string", "doc": "string", "tags": "array<int>",
        "uid": "string", "id": "int",
    }  # fmt: skip
    fields = [
        f"variant_get(value, '$.after.{name}', '{kind}') AS {name}" for name, kind in kinds.items()
    ]
    converted_rows = frame.selectExpr(*fields).collect()
    assert plain_row(converted_rows[0]) == FIRST
    described = frame.selectExpr("schema_of_variant(variant_get(value, '$.after')) AS kind").first()
    assert described is not None
    for name, kind in (("at", "TIMESTAMP"), ("local", "TIMESTAMP_NTZ"), ("day", "DATE")):
        assert f"{name}: {kind}," in described.kind
    assert "price: DECIMAL" in described.kind
    rows = frame.selectExpr(
        "variant_get(key, '$.id', 'int') AS id",
        "variant_get(value, '$.op', 'string') AS op",
        "value",
    ).collect()
    assert [(row.id, row.op) for row in rows] == [
        (1, "r"), (2, "r"), (1, "u"), (1, "d"), (1, None), (3, "c"), (2, "d"), (2, None), (4, "c"),
    ]  # fmt: skip
    assert rows[4].value is None
    whole = json.loads(rows[1].value.toJson())
    assert whole["after"]["id"] == 2
    assert whole["before"] is None
    assert whole["source"]["table"] == "items"


def test_a_row_after_unwrap_is_the_row_of_the_table(
    spark: SparkSession, database: Database, tmp_path: Path
) -> None:
    database.execute(TABLE)
    properties = stream_properties(
        database,
        value__converter="row",
        transforms="unwrap",
        transforms__unwrap__type="io.debezium.transforms.ExtractNewRecordState",
    )
    rows = run_to_end(spark, properties, tmp_path).select("value.*").collect()
    first = plain_row(rows[0])
    assert first.pop("place")["x"] == 1.5
    assert first == FIRST


def test_a_declared_schema_replaces_the_columns_of_the_stream(
    spark: SparkSession, database: Database, tmp_path: Path
) -> None:
    database.execute(TABLE)
    properties = stream_properties(
        database, value__converter="row", value__converter__fields__unknown="drop"
    )
    schema = (
        "topic string not null, partition int, key string, value struct<op: string, "
        "after: struct<id: bigint, price: decimal(20, 3), missing: string>>, "
        "headers array<struct<key: string, value: binary>>, sequence string not null"
    )
    rows = run_to_end(spark, properties, tmp_path, schema=schema).select("value.*").collect()
    assert [row.asDict(recursive=True) for row in rows] == [
        {"op": "r", "after": {"id": 1, "price": FIRST["price"], "missing": None}},
        {"op": "r", "after": {"id": 2, "price": None, "missing": None}},
    ]


def test_the_row_converter_refuses_several_captured_tables(
    spark: SparkSession, database: Database, tmp_path: Path
) -> None:
    database.execute(TABLE + "CREATE TABLE others (id int PRIMARY KEY)")
    properties = database.properties() | {"value.converter": "row"}
    with pytest.raises(Exception, match=r"table\.include\.list selects 2: .*items"):
        run_to_end(spark, properties, tmp_path)


def test_a_column_that_the_stream_lacks_is_an_error_until_the_query_starts_again(
    spark: SparkSession, database: Database, tmp_path: Path
) -> None:
    from pyspark.errors import StreamingQueryException

    database.execute("CREATE TABLE items (id int PRIMARY KEY)")
    properties = stream_properties(database, value__converter="row")
    columns = (
        "topic string not null, partition int, key string, value struct<op: string, "
        "after: struct<id: int>, before: struct<id: int>>, "
        "headers array<struct<key: string, value: binary>>, sequence string not null"
    )
    run_to_end(spark, properties, tmp_path)
    database.execute("ALTER TABLE items ADD COLUMN note text; INSERT INTO items VALUES (1, 'x')")
    with pytest.raises(StreamingQueryException, match=r"row_of_other_schema"):
        run_to_end(spark, properties, tmp_path, schema=columns)
    rows = run_to_end(spark, properties, tmp_path).select("value.after.*").collect()
    assert [row.asDict() for row in rows] == [{"id": 1, "note": "x"}]
