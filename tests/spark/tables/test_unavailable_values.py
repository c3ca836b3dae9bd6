"""Large values that PostgreSQL's log does not carry stay in the target of a MERGE, of every type of
its own that can show that they are lacking."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import headrace
from tests.servers.postgresql import Database
from tests.spark.tables.test_guide import block, place, stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.postgres, pytest.mark.spark]
LARGE = ("words", "raw", "doc", "docb", "tags", "ids", "blobs", "numbers", "longs", "days")
TABLE = f"""
CREATE SCHEMA inventory;
CREATE TABLE inventory.orders (
    id int PRIMARY KEY, counter int, words text, raw bytea, doc json, docb jsonb, tags text[],
    ids uuid[], blobs bytea[], numbers int[], longs bigint[], days date[]
);
ALTER TABLE inventory.orders {", ".join(f"ALTER {name} SET STORAGE EXTERNAL" for name in LARGE)};
CREATE FUNCTION inventory.orders_of(first int, last int) RETURNS SETOF inventory.orders AS $$
    SELECT n, 0, string_agg(md5(n * i || ''), ' '), decode(string_agg(md5(n + i || ''), ''), 'hex'),
        json_build_object('big', string_agg(md5(n - i || ''), ' ')),
        jsonb_build_object('big', string_agg(md5(n - i || ''), ' ')),
        array_agg(md5(n * i || '')), array_agg(md5(n * i || '')::uuid),
        array_agg(decode(md5(n * i || ''), 'hex')), array_agg(n * 1000 + i),
        array_agg(n * 5000000000 + i), array_agg('2026-01-01'::date + n * i)
    FROM generate_series(first, last) n, generate_series(1, 1000) i GROUP BY n
$$ LANGUAGE sql;
INSERT INTO inventory.orders SELECT * FROM inventory.orders_of(1, 4);
"""
CHANGES = """
UPDATE inventory.orders SET counter = 1 WHERE id IN (1, 2, 3);
UPDATE inventory.orders SET words = 'small', tags = '{}', days = NULL, numbers = NULL WHERE id = 2;
UPDATE inventory.orders SET counter = 2 WHERE id = 2;
DELETE FROM inventory.orders WHERE id = 3;
INSERT INTO inventory.orders SELECT * FROM inventory.orders_of(5, 5);
UPDATE inventory.orders SET counter = 3 WHERE id = 5;
"""
STORED = """
SELECT id, counter, words, encode(raw, 'hex'), doc ->> 'big', docb ->> 'big',
    array_to_string(tags, ','), array_to_string(ids, ','),
    (SELECT string_agg(encode(b, 'hex'), ',') FROM unnest(blobs) b), array_to_string(numbers, ','),
    array_to_string(longs, ','), array_to_string(days, ',')
FROM inventory.orders ORDER BY id
"""


def merged(frame: DataFrame) -> list[tuple[Any, ...]]:
    """The target's rows as STORED has those of the database."""
    joined = [
        f"IF({name} IS NULL, NULL, concat_ws(',', {name}))" for name in ("tags", "ids")
    ] + ["concat_ws(',', transform(blobs, b -> lower(hex(b))))"] + [
        f"IF({name} IS NULL, NULL, concat_ws(',', transform({name}, e -> cast(e AS string))))"
        for name in ("numbers", "longs", "days")
    ]  # fmt: skip
    documents = [f"get_json_object({name}, '$.big')" for name in ("doc", "docb")]
    selected = frame.selectExpr("id", "counter", "words", "lower(hex(raw))", *documents, *joined)
    return sorted(tuple(row) for row in selected.collect())


@pytest.mark.chaos  # in `make test` replicas keep them: tests/sinks/replicas/applying
@pytest.mark.parametrize("converter", ["json", "row"])
def test_a_merge_keeps_the_large_values_that_an_update_did_not_change(
    delta: SparkSession, database: Database, tmp_path: Path, converter: str
) -> None:
    database.execute(TABLE)
    properties = database.properties() | {
        "table.include.list": "inventory.orders",
        "value.converter": converter,
        "key.converter": converter,
    }
    events = stream(delta, properties)
    names = place(delta, properties, tmp_path) | {"events": events}
    exec(block('headrace.table(events, "inventory.orders", properties)'), names)
    delta.sql("DROP TABLE IF EXISTS orders")
    exec(block("saveAsTable"), names)
    kept_columns: dict[int, list[str]] = {}
    fold = headrace.fold

    def watched(batch: DataFrame) -> DataFrame:
        folded = fold(batch)
        kept_columns.update(
            (row["id"], row["__kept"]) for row in folded.select("id", "__kept").collect()
        )
        return folded

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(headrace, "fold", watched)
        exec(block("MERGE INTO"), names)
        assert merged(delta.table("orders")) == database.execute(STORED)
        assert all(not each for each in kept_columns.values())
        kept_columns.clear()
        database.execute(CHANGES)
        exec(block("MERGE INTO"), names)
    assert sorted(kept_columns[1]) == sorted(LARGE)
    assert sorted(kept_columns[2]) == sorted(set(LARGE) - {"words", "tags", "days", "numbers"})
    assert kept_columns[5] == []
    assert merged(delta.table("orders")) == database.execute(STORED)
    delta.sql("DROP TABLE orders")
