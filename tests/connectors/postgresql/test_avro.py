"""A table's changes in Avro with a registry, read back by another reader."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import fastavro
import pytest

from headrace.kafka.registry import Registry
from tests.connectors.postgresql.harness import Reader
from tests.servers.postgresql import Database
from tests.servers.registry import RegistryServer

pytestmark = pytest.mark.postgres
TABLES = """
CREATE TABLE items (
    id int PRIMARY KEY, big bigint, small smallint NOT NULL, price numeric(12, 3), loose numeric,
    flag boolean, raw bytea, ratio float8, single float4, at timestamptz, local timestamp, day date,
    clock time, note text, doc jsonb, tags int[], uid uuid, span interval
);
ALTER TABLE items REPLICA IDENTITY FULL;
"""
ROWS = """
INSERT INTO items VALUES
    (1, 9223372036854775807, -1, 123456789.125, 1.50, true, '\\x00ff', 0.1, 1.5,
     '2026-01-02 03:04:05.678901+00', '1969-12-31 23:59:59.5', '2026-01-02', '12:34:56.789',
     'é "quoted"', '{"a": [1, 2]}', '{1,NULL,3}', 'b68a35a7-17ad-35b3-af2a-ae46edb4545a', '1 day'),
    (2, NULL, 0, NULL, NULL, NULL, NULL, 'NaN', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
     NULL, NULL);
UPDATE items SET note = 'new', price = -0.001 WHERE id = 1;
DELETE FROM items WHERE id = 2;
"""


def decoded(store: Registry, raw: bytes | None) -> Any:
    if raw is None:
        return None
    assert raw[0] == 0
    schema = fastavro.parse_schema(json.loads(store.by_id(int.from_bytes(raw[1:5], "big"))))
    rest = io.BytesIO(raw[5:])
    value = fastavro.schemaless_reader(rest, schema)
    assert rest.read() == b""
    return value


def test_the_table_is_what_another_reader_finds_in_avro(
    database: Database, registry_server: RegistryServer
) -> None:
    database.execute(TABLES)
    avro = {
        f"{role}.converter{option}": text
        for role in ("key", "value")
        for option, text in (("", "avro"), (".schema.registry.url", registry_server.url))
    }
    reader = Reader(database.properties() | {"snapshot.mode": "no_data", **avro})
    reader.step()
    database.execute(ROWS)
    reader.step_until(lambda: len(reader.records) >= 5)
    reader.stop()
    store = Registry({"url": registry_server.url})
    keys_and_values = [
        (decoded(store, record["key"]), decoded(store, record["value"]))
        for record in reader.in_order()
    ]
    assert [key for key, _ in keys_and_values] == [{"id": n} for n in (1, 2, 1, 2, 2)]
    values = [value for _, value in keys_and_values]
    assert values[-1] is None
    assert [value["op"] for value in values[:-1]] == ["c", "c", "u", "d"]
    first, second = values[0]["after"], values[1]["after"]
    check_first(first)
    assert second.pop("ratio") != second.get("ratio")  # NaN
    assert second == dict.fromkeys(second) | {"id": 2, "small": 0}
    assert values[2]["before"] == first
    assert values[2]["after"] == first | {"note": "new", "price": Decimal("-0.001")}
    assert values[3]["before"]["id"] == 2
    assert values[3]["after"] is None
    source = values[0]["source"]
    assert source["connector"] == "postgresql"
    assert source["table"] == "items"
    assert isinstance(source["lsn"], int)


def check_first(row: Mapping[str, Any]) -> None:
    micros = int(datetime(1969, 12, 31, 23, 59, 59, 500_000, UTC).timestamp() * 1_000_000)
    assert row == {
        "id": 1,
        "big": 9223372036854775807,
        "small": -1,
        "price": Decimal("123456789.125"),
        "loose": {"scale": 1, "value": b"\x0f"},
        "flag": True,
        "raw": b"\x00\xff",
        "ratio": 0.1,
        "single": 1.5,
        "at": "2026-01-02T03:04:05.678901Z",
        "local": micros,
        "day": 20455,
        "clock": 45_296_789_000,
        "note": 'é "quoted"',
        "doc": '{"a": [1, 2]}',
        "tags": [1, None, 3],
        "uid": "b68a35a7-17ad-35b3-af2a-ae46edb4545a",
        "span": 86_400_000_000,
    }
