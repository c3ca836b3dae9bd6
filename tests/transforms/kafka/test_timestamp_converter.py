"""TimestampConverter after other transforms."""

from __future__ import annotations

from typing import Any

from headrace.transforms import apply_json
from tests.golden.transforms.cases import stored_records

CHAIN = {
    "transforms": "unwrap,time",
    "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
    "transforms.unwrap.delete.tombstone.handling.mode": "tombstone",
    "transforms.time.type": "org.apache.kafka.connect.transforms.TimestampConverter$Value",
    "transforms.time.target.type": "Timestamp",
    "transforms.time.format": "yyyy",
}


def value_of(chain: dict[str, str], record: dict[str, Any]) -> Any:
    (converted,) = apply_json(chain, [record])
    assert converted is not None
    return converted["value"]


def test_the_null_of_a_delete_has_the_schema_of_the_converted_row() -> None:
    delete = stored_records()["pg_delete"]
    rows = delete["value"]["schema"]["fields"][1]["fields"]
    name = next(field["field"] for field in rows if field["type"] == "string")
    value = value_of({**CHAIN, "transforms.time.field": name}, delete)
    assert value["payload"] is None
    types = {field["field"]: field.get("name") for field in value["schema"]["fields"]}
    assert types[name] == "org.apache.kafka.connect.data.Timestamp"
    assert list(types) == [field["field"] for field in rows]


def test_the_null_of_a_delete_keeps_its_schema_without_the_field() -> None:
    delete = stored_records()["pg_delete"]
    value = value_of({**CHAIN, "transforms.time.field": "absent"}, delete)
    assert value["payload"] is None
    assert value["schema"]["fields"] == delete["value"]["schema"]["fields"][1]["fields"]
