"""TimestampConverter after other transforms."""

from __future__ import annotations

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


def test_the_null_of_a_delete_has_the_schema_of_the_converted_row() -> None:
    delete = stored_records()["pg_delete"]
    rows = delete["value"]["schema"]["fields"][1]["fields"]
    names = [field["field"] for field in rows if field["type"] == "string"]
    chain = {**CHAIN, "transforms.time.field": names[0]}
    (made,) = apply_json(chain, [delete])
    assert made is not None
    assert made["value"]["payload"] is None
    types = {field["field"]: field.get("name") for field in made["value"]["schema"]["fields"]}
    assert types[names[0]] == "org.apache.kafka.connect.data.Timestamp"
    assert list(types) == [field["field"] for field in rows]


def test_the_null_of_a_delete_keeps_its_schema_without_the_field() -> None:
    delete = stored_records()["pg_delete"]
    (made,) = apply_json({**CHAIN, "transforms.time.field": "absent"}, [delete])
    assert made is not None
    assert made["value"]["payload"] is None
    assert made["value"]["schema"]["fields"] == delete["value"]["schema"]["fields"][1]["fields"]
