"""Kafka Connect's JSON form, read and written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.connect.json_records import read_records, write_records
from headrace.errors import HeadraceError
from headrace.transforms import apply_json
from tests.golden.transforms.cases import stored_records

INT = {"type": "int32", "optional": False}


def record(**members: Any) -> dict[str, Any]:
    return {"topic": "t", "partition": None, "timestamp": None, "key": None, "value": None,
            "headers": []} | members  # fmt: skip


def test_every_record_comes_back_as_it_was() -> None:
    names = list(stored_records())
    entries = [stored_records()[name] for name in names]
    pieces = read_records(entries)
    assert 1 < len(pieces) < len(entries)
    written = write_records(pieces)
    for index, name in enumerate(names):
        assert json.dumps(written[index]) == json.dumps(entries[index]), name


def test_a_null_with_a_schema_is_not_a_null_without_one() -> None:
    entries = [
        record(value={"schema": INT | {"optional": True}, "payload": None}),
        record(value={"schema": None, "payload": None}),
    ]
    written = write_records(read_records(entries))
    assert written[0]["value"] == entries[0]["value"]
    assert written[1]["value"] is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"value": {"schema": {"type": "number"}, "payload": 1}},
        {"value": {"schema": INT, "payload": "a"}},
        {"value": {"schema": INT, "payload": 1 << 31}},
        {"value": {"schema": {"type": "bytes", "optional": False}, "payload": "*"}},
        {"value": {"schema": {"type": "struct"}, "payload": {}}},
        {"value": 5},
        {"headers": {}},
        {"topic": None},
        {"partition": "1"},
    ],
)
def test_what_is_no_record_is_separated_from_the_others(wrong: dict[str, Any]) -> None:
    entries = [record(), record(**wrong), record(topic="u")]
    with pytest.raises(HeadraceError):
        read_records(entries)
    failed: dict[int, HeadraceError] = {}
    written = write_records(read_records(entries, failed.__setitem__))
    assert (list(failed), list(written)) == ([1], [0, 2])


STRUCT = {"type": "struct", "optional": True,
          "fields": [{"type": "string", "optional": False, "field": "a"}]}  # fmt: skip


def text_record(text: str, **members: Any) -> dict[str, Any]:
    return record(value={"schema": STRUCT, "payload": {"a": text}}) | members


def test_a_record_with_a_wrong_partition_leaves_the_values_of_the_others_alone() -> None:
    entries = [
        text_record("secret of a", partition="0"),
        text_record("b1", topic="b", partition=1),
        text_record("b2", topic="b"),
    ]
    failed: dict[int, HeadraceError] = {}
    written = write_records(read_records(entries, failed.__setitem__))
    assert list(failed) == [0]
    assert written == {1: entries[1], 2: entries[2]}


def nested_schema(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = INT
    for _ in range(depth):
        schema = {"type": "struct", "optional": False, "fields": [{"field": "a"} | schema]}
    return schema


def nested(depth: int) -> Any:
    payload: Any = 1
    for _ in range(depth):
        payload = {"a": payload}
    return payload


HOSTILE = {
    "half of a surrogate pair": text_record("\ud800"),
    "half of a surrogate pair without schema": record(
        value={"schema": None, "payload": {"a": "\ud800"}}
    ),
    "half of a surrogate pair in the topic": record(topic="\ud800"),
    "half of a surrogate pair in a header's name": record(
        headers=[{"name": "\ud800", "schema": INT, "payload": 1}]
    ),
    "half of a surrogate pair in a schema": text_record("a")
    | {"value": {"schema": STRUCT | {"name": "\udfff"}, "payload": None}},
    "a partition without room": text_record("a", partition=1 << 32),
    "a timestamp without room": text_record("a", timestamp=1 << 63),
    "parameters that are no object": record(
        value={"schema": INT | {"parameters": [1]}, "payload": 1}
    ),
    "a schema that no JSON has": record(value={"schema": {"type": {1}}, "payload": 1}),
}


@pytest.mark.parametrize("defect", HOSTILE)
def test_one_hostile_record_is_an_error_of_its_own(defect: str) -> None:
    with pytest.raises(HeadraceError):
        read_records([HOSTILE[defect]])
    entries = [text_record("x"), HOSTILE[defect], text_record("y")]
    outcomes = apply_json({}, entries)
    assert (outcomes[0], outcomes[2]) == (entries[0], entries[2])
    code = "schema" if defect == "parameters that are no object" else "record"
    assert f"connect.{code}_not_understood" in str(outcomes[1])


@pytest.mark.parametrize("depth", [100, 300, 320, 400, 700, 900, 5_000])
def test_a_deep_record_comes_back_or_is_an_error_of_its_own(depth: int) -> None:
    deep = [
        record(value={"schema": None, "payload": nested(depth)}),
        record(value={"schema": nested_schema(depth), "payload": nested(depth)}),
    ]
    outcomes = apply_json({}, [text_record("x"), *deep, text_record("y")])
    assert (outcomes[0], outcomes[3]) == (text_record("x"), text_record("y"))
    for entry, result in zip(deep, outcomes[1:3], strict=True):
        assert result is not None
        if "error" in result:
            assert "nested too deep" in str(result)
            assert depth > 100
        elif entry is deep[0]:
            assert result == entry
