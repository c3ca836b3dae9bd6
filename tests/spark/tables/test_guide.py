"""The guide's code keeps Delta and parquet tables equal to their sources."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import headrace
from tests.servers.postgresql import Database

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.postgres, pytest.mark.spark]
GUIDE = (Path(__file__).parents[3] / "docs" / "guides" / "tables.md").read_text()
TABLE = """
CREATE SCHEMA inventory;
CREATE TABLE inventory.orders (
    id int PRIMARY KEY, customer text, total numeric(10, 2), placed timestamp, note text,
    at timestamptz, day date, loose numeric, raw bytea, flag boolean
);
CREATE TABLE inventory.others (id int PRIMARY KEY);
INSERT INTO inventory.others VALUES (1);
INSERT INTO inventory.orders SELECT n, 'customer ' || n, n * 1.25, '2026-01-02 03:04:05.678901',
    'note', '2026-01-02 03:04:05.678901+00', '2026-01-02', n * 1.5, '\\x00ff', n % 2 = 0
FROM generate_series(1, 20) n;
ALTER TABLE inventory.orders ALTER COLUMN note SET STORAGE EXTERNAL;
UPDATE inventory.orders SET note = repeat('large ', 2000) WHERE id IN (5, 6);
"""
CHANGES = """
UPDATE inventory.orders SET total = -total, flag = NULL WHERE id IN (5, 7);
UPDATE inventory.orders SET customer = 'twice' WHERE id = 7;
UPDATE inventory.orders SET id = 100 WHERE id = 8;
DELETE FROM inventory.orders WHERE id IN (6, 9);
INSERT INTO inventory.orders (id, customer) VALUES (9, 'again'), (21, 'new');
INSERT INTO inventory.orders (id) VALUES (22);
DELETE FROM inventory.orders WHERE id = 22;
INSERT INTO inventory.others VALUES (2);
"""


def blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", GUIDE, re.M | re.S)


def block(text: str) -> str:
    """The only block with this text."""
    (code,) = [each for each in blocks() if text in each]
    return code


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    """Rows as the database gives them in `stored`."""
    selected = frame.selectExpr(
        "id", "customer", "cast(total AS string)", "cast(placed AS string)", "note",
        "unix_micros(at)", "cast(day AS string)", "cast(cast(loose AS double) AS string)",
        "lower(hex(raw))", "flag",
    )  # fmt: skip
    return sorted(tuple(row) for row in selected.collect())


def stored(database: Database) -> list[tuple[Any, ...]]:
    return sorted(
        database.execute(
            "SELECT id, customer, total::text, placed::text, note,"
            " (extract(epoch FROM at) * 1000000)::bigint, day::text,"
            " CASE WHEN loose = trunc(loose) THEN loose::numeric(10, 1)::text ELSE loose::text END,"
            " encode(raw, 'hex'), flag FROM inventory.orders"
        )
    )


def stream(spark: SparkSession, properties: Mapping[str, str]) -> DataFrame:
    headrace.register(spark)
    reader = spark.readStream.format("headrace").options(**headrace.options(properties))
    return reader.load()


def place(spark: SparkSession, properties: Mapping[str, str], folder: Path) -> dict[str, Any]:
    """The names that the guide's code uses."""
    names = {"spark": spark, "headrace": headrace, "properties": properties, "os": os}
    return names | {"folder": str(folder)}


def test_every_block_is_python() -> None:
    assert len(blocks()) >= 7
    for number, code in enumerate(blocks()):
        compile(code, f"block {number}", "exec")


@pytest.mark.chaos  # `make test` has the files of Parquet, and Delta tables that are replicas
@pytest.mark.parametrize("converter", ["json", "variant", "row"])
def test_a_delta_table_is_the_table_after_each_merge(
    delta: SparkSession, database: Database, tmp_path: Path, converter: str
) -> None:
    database.execute(TABLE)
    properties = database.properties() | {
        "table.include.list": "inventory.orders",
        "headrace.checkpoint.dir": str(tmp_path / "checkpoint"),
    }
    events = stream(delta, properties | {"value.converter": converter, "key.converter": converter})
    names = place(delta, properties, tmp_path) | {"events": events}
    exec(block('headrace.table(events, "inventory.orders", properties)'), names)
    delta.sql("DROP TABLE IF EXISTS orders")
    exec(block("saveAsTable"), names)
    exec(block("MERGE INTO"), names)
    assert names["query"].exception() is None
    assert rows(delta.table("orders")) == stored(database)
    database.execute(CHANGES)
    exec(block("MERGE INTO"), names)
    assert names["query"].exception() is None
    assert rows(delta.table("orders")) == stored(database)
    delta.sql("DROP TABLE orders")


def test_parquet_files_are_the_table_after_each_rewrite(
    spark: SparkSession, database: Database, tmp_path: Path
) -> None:
    database.execute(TABLE)
    properties = database.properties() | {
        "value.converter.schemas.enable": "false",
        "headrace.checkpoint.dir": str(tmp_path / "checkpoint"),
    }
    names = place(spark, properties, tmp_path) | {"events": stream(spark, properties)}
    code = block("declared = headrace.table")
    columns = (
        "id INT, customer STRING, total DECIMAL(10,2), placed TIMESTAMP_NTZ, note STRING, "
        "at TIMESTAMP, day DATE, loose STRING COMMENT 'io.debezium.data.VariableScaleDecimal', "
        "raw BINARY, flag BOOLEAN"
    )
    start = code.index('"id INT')
    code = code[:start] + repr(columns) + code[code.index('",\n    key') + 1 :]
    exec(code, names)
    exec(block("def rewrite"), names)
    (tmp_path / "orders").mkdir()

    def caught_up() -> list[tuple[Any, ...]]:
        writer = names["declared"].writeStream.foreachBatch(names["rewrite"])
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination(300)
        newest = max(map(int, os.listdir(tmp_path / "orders")))
        return rows(spark.read.parquet(str(tmp_path / "orders" / str(newest))))

    assert caught_up() == stored(database)
    database.execute(CHANGES)
    assert caught_up() == stored(database)


def test_the_guides_streams_are_those_that_it_says(
    spark: SparkSession, database: Database, tmp_path: Path
) -> None:
    database.execute(TABLE)
    headrace.register(spark)
    properties = database.properties() | {"table.include.list": "inventory.orders"}
    names = place(spark, properties, tmp_path)
    exec(block('"key.converter": "row"'), names)
    assert names["orders"].schema["value"].dataType["after"].dataType["total"].dataType.scale == 2
    columns = names["rows"].columns
    assert columns[:3] == ["key_id", "op", "id"]
    assert len(set(columns)) == len(columns)
    exec(block('"value.converter": "variant"'), names)
    assert dict(names["events"].dtypes)["value"] == "variant"
