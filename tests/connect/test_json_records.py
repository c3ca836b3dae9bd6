"""Kafka Connect's JSON form, read and written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.connect.json_records import read_records, write_records
from headrace.errors import HeadraceError
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
def test_what_is_no_record_is_told_apart_from_the_others(wrong: dict[str, Any]) -> None:
    entries = [record(), record(**wrong), record(topic="u")]
    with pytest.raises(HeadraceError):
        read_records(entries)
    failed: dict[int, HeadraceError] = {}
    written = write_records(read_records(entries, failed.__setitem__))
    assert (list(failed), list(written)) == ([1], [0, 2])
