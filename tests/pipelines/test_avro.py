"""Tables as Avro in Parquet files, read back by a reader that is not ours."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import fastavro
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql.types import BinaryType, StringType

from headrace.errors import HeadraceError
from headrace.kafka.registry import Registry
from tests.pipelines.stream import Stream
from tests.servers.postgresql import Database
from tests.servers.registry import RegistryServer

pytestmark = [pytest.mark.postgres, pytest.mark.spark]
TABLES = """
CREATE TABLE orders (id int PRIMARY KEY, state text NOT NULL, price numeric(10, 2), raw bytea,
                     at timestamptz, tags text[], ratio float8);
ALTER TABLE orders REPLICA IDENTITY FULL;
CREATE TABLE customers (id int PRIMARY KEY, name text);
INSERT INTO orders
  SELECT i, CASE WHEN i % 3 = 0 THEN 'draft' ELSE 'paid' END, i / 7.0, int4send(i),
         '2026-01-02 03:04:05.678901+00'::timestamptz + i * interval '1 hour',
         ARRAY['a' || i, NULL], i / 3.0::float8
  FROM generate_series(1, 500) i;
INSERT INTO customers SELECT i, 'c' || i FROM generate_series(1, 50) i;
"""
CHANGES = """
INSERT INTO orders SELECT i, 'paid', i, NULL, NULL, NULL, 'NaN' FROM generate_series(501, 600) i;
UPDATE orders SET price = -price, tags = ARRAY['é'] WHERE id % 5 = 0;
UPDATE orders SET id = id + 1000 WHERE id BETWEEN 11 AND 20;
DELETE FROM orders WHERE id % 7 = 0;
UPDATE customers SET name = NULL WHERE id < 10;
"""
KEPT = """
SELECT id, state, price::text, raw, to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
       tags, ratio::text FROM orders WHERE state <> 'draft' ORDER BY id
"""
AWAY = "http://user:hidden-word@127.0.0.1:9"
CHAIN = {
    "transforms": "paid,unwrap,route",
    "transforms.paid.type": "io.debezium.transforms.Filter",
    "transforms.paid.language": "jsr223.groovy",
    "transforms.paid.topic.regex": ".*orders",
    "transforms.paid.condition": "(value.after ?: value.before).state != 'draft'",
    "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
    "transforms.unwrap.delete.tombstone.handling.mode": "rewrite",
    "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.route.regex": ".*[.]public[.](.*)",
    "transforms.route.replacement": "shop-$1",
}


def avro(server: RegistryServer) -> dict[str, str]:
    return {
        f"{role}.converter{option}": text
        for role in ("key", "value")
        for option, text in (("", "avro"), (".schema.registry.url", server.url))
    }


def reader_of(server: RegistryServer) -> Callable[[bytes], Any]:
    store = Registry({"url": server.url})

    @cache
    def schema(number: int) -> Any:
        return fastavro.parse_schema(json.loads(store.by_id(number)))

    def decoded(raw: bytes) -> Any:
        assert raw[0] == 0
        rest = io.BytesIO(raw[5:])
        value = fastavro.schemaless_reader(rest, schema(int.from_bytes(raw[1:5], "big")))
        assert rest.read() == b""
        return value

    return decoded


def folded(
    rows: list[dict[str, Any]], topic: str, decoded: Callable[[bytes], Any]
) -> dict[int, Mapping[str, Any]]:
    """The last row of each key that is not deleted."""
    rows_by_id: dict[int, Mapping[str, Any]] = {}
    for row in rows:
        if row["topic"] == topic:
            key, value = decoded(row["key"])["id"], decoded(row["value"])
            assert value["id"] == key
            rows_by_id.pop(key, None)
            if value.pop("__deleted") == "false":
                rows_by_id[key] = value
    return rows_by_id


def as_shown(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """A decoded row as the query KEPT shows it."""
    number = row["ratio"]
    ratio = None if number is None else "NaN" if number != number else float(number)
    price = None if row["price"] is None else str(row["price"])
    return (row["id"], row["state"], price, row["raw"], row["at"], row["tags"], ratio)


def test_a_table_in_avro_after_a_chain_is_the_table(
    database: Database,
    registry_server: RegistryServer,
    stream: Callable[[Mapping[str, str]], Stream],
) -> None:
    database.execute(TABLES)
    event_stream = stream(database.properties() | CHAIN | avro(registry_server))
    first = event_stream.run()
    assert {row["topic"] for row in first} == {"shop-orders", "shop-customers"}
    database.execute(CHANGES)
    rows = event_stream.run()
    assert len(rows) > len(first)
    decoded = reader_of(registry_server)
    table = [
        (*row[:6], None if row[6] is None else float(row[6])) for row in database.execute(KEPT)
    ]
    table = [(*row[:6], "NaN" if row[6] != row[6] else row[6]) for row in table]
    orders = folded(rows, "shop-orders", decoded)
    assert [as_shown(orders[key]) for key in sorted(orders)] == table
    customers = folded(rows, "shop-customers", decoded)
    names = database.execute("SELECT id, name FROM customers ORDER BY id")
    assert [(key, customers[key]["name"]) for key in sorted(customers)] == names
    # One id per schema, whichever process and run wrote it.
    for topic in ("shop-orders", "shop-customers"):
        heads = {bytes(row["value"][:5]) for row in rows if row["topic"] == topic}
        assert len(heads) == 1


def test_keys_and_values_of_avro_are_columns_of_bytes_that_sinks_of_spark_take(
    database: Database,
    registry_server: RegistryServer,
    stream: Callable[[Mapping[str, str]], Stream],
) -> None:
    database.execute(TABLES)
    event_stream = stream(database.properties() | avro(registry_server))
    types = {field.name: field.dataType for field in event_stream.frame().schema.fields}
    assert (types["key"], types["value"]) == (BinaryType(), BinaryType())
    assert types["topic"] == StringType()
    rows = event_stream.run()
    assert len(rows) == 550
    assert event_stream.written().schema["value"].dataType == BinaryType()
    decoded = reader_of(registry_server)
    assert {decoded(row["value"])["op"] for row in rows} == {"r"}


def test_without_a_registry_the_query_ends_with_a_clear_error(
    database: Database, stream: Callable[[Mapping[str, str]], Stream]
) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
    away = {"value.converter": "avro", "value.converter.schema.registry.url": AWAY}
    with pytest.raises(StreamingQueryException) as raised:
        stream(database.properties() | away).run()
    error = HeadraceError.find_in(str(raised.value))
    assert error is not None
    assert (error.code, error.retriable) == ("registry.unreachable", True)
    assert "http://127.0.0.1:9 does not answer" in error.message
    assert "schema.registry.url" in error.remedy
    assert "hidden-word" not in str(raised.value)


def test_bytes_as_they_are_make_columns_of_bytes(
    database: Database, stream: Callable[[Mapping[str, str]], Stream]
) -> None:
    database.execute(TABLES)
    raw = {
        "table.include.list": "public.orders",
        "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        "value.converter": "bytes",
        "transforms": "unwrap,key,of_key,of_value",
        "transforms.unwrap.type": "ExtractNewRecordState",
        "transforms.key.type": "ValueToKey",
        "transforms.key.fields": "raw",
        "transforms.of_key.type": "ExtractField$Key",
        "transforms.of_key.field": "raw",
        "transforms.of_value.type": "ExtractField$Value",
        "transforms.of_value.field": "raw",
    }
    event_stream = stream(database.properties() | raw)
    assert {event_stream.frame().schema[name].dataType for name in ("key", "value")} == {
        BinaryType()
    }
    rows = event_stream.run()
    assert sorted(row["value"] for row in rows) == [i.to_bytes(4, "big") for i in range(1, 501)]
    assert all(row["key"] == row["value"] for row in rows)
