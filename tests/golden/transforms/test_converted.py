"""The JSON converter writes after a chain what `apply_json` returns.

`apply_json` evaluates nodes, the converter compiles them: both see the recorded cases.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.connect.json_records import read_records
from headrace.connect.rows import Sequences
from headrace.converters.json.converter import JsonConverter
from headrace.converters.json.values import JsonOptions
from headrace.converters.rows import SliceConverter
from headrace.errors import HeadraceError
from headrace.transforms import apply_json
from headrace.transforms.json_form import read_chain
from tests.golden.transforms.cases import Case
from tests.golden.transforms.test_golden import IMPLEMENTED, comparable, first_difference

OPTIONS = JsonOptions(schemas_enable=True, replace_null_with_default=False)
RECORDINGS = (
    "Cast",
    "ExtractField",
    "ExtractNewRecordState",
    "Flatten",
    "HeaderFrom",
    "HoistField",
    "InsertField",
    "MaskField",
    "TimestampConverter",
    "chains",
)


def read_part(text: str | None) -> dict[str, Any] | None:
    return None if text is None else json.loads(text)


def read_header(header: dict[str, Any]) -> dict[str, Any]:
    """A header that is null has no text if it has no schema either."""
    part = read_part(header["value"]) or {"schema": None, "payload": None}
    return {"name": header["key"], **part}


def converted(case: Case, converter: SliceConverter) -> list[tuple[Any, Any]]:
    """Each record that passes: from the converter, and from `apply_json`."""
    try:
        chain = read_chain(case.properties)
    except HeadraceError:
        return []
    expected, passing = [], []
    for record, java_record in zip(
        case.records(), apply_json(case.properties, case.records()), strict=True
    ):
        if java_record is not None and "error" not in java_record:
            expected.append(java_record)
            passing.append(record)
    records = chain(read_records(passing))
    rows = [row for b in converter.convert(records, Sequences(0)) for row in b.to_pylist()]
    pairs = []
    for row, java_record in zip(rows, expected, strict=True):
        written = {
            "topic": row["topic"],
            "partition": row["partition"],
            "timestamp": java_record["timestamp"],
            "key": read_part(row["key"]),
            "value": read_part(row["value"]),
            "headers": [read_header(header) for header in row["headers"] or []],  # type: ignore[attr-defined]
        }
        pairs.append((comparable(written), comparable(java_record)))
    return pairs


@pytest.mark.parametrize("name", RECORDINGS)
def test_the_converter_writes_what_the_chain_made(name: str) -> None:
    converter = SliceConverter(*(JsonConverter(OPTIONS) for _ in range(3)))
    count = 0
    for case in IMPLEMENTED:
        if case.transform == name and case.refused is None:
            for ours, java_record in converted(case, converter):
                assert first_difference(ours, java_record) is None, case.name
                count += 1
    assert count > 20
