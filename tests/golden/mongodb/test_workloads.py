"""The workloads can be read, and values that vary from run to run are distinguished from
differences."""

from __future__ import annotations

import json

import pytest

from tests.golden.mongodb.commands import parse
from tests.golden.mongodb.database import MongoDatabase
from tests.golden.mongodb.varying import normalise
from tests.golden.normalise import compare

LINE = (
    '{{"topic":"t","key":{{"id":"1"}},"value":{{"source":{{"ts_ms":{wall},"ts_us":{wall}000,'
    '"ts_ns":{wall}000000,"ord":{ord},"lsid":"{{\\"id\\": {{\\"$binary\\": \\"{session}\\",'
    '\\"$type\\": \\"04\\"}}}}","txnNumber":1,"wallTime":{wall}}},"ts_ms":{now}}},"headers":{{}}}}'
)
FIRST, SECOND = "ERERESIiMzNERFVVVVVVVQ==", "ABERESIiMzNERFVVVVVVVQ=="


def line(wall: int, order: int, session: str = FIRST, now: int = 1_700_000_009_999) -> str:
    return LINE.format(wall=wall, ord=order, session=session, now=now)


@pytest.mark.parametrize("name", MongoDatabase.names())
def test_every_workload_has_commands_and_a_recording(name: str) -> None:
    phases = MongoDatabase.workload(name).phases
    assert any(parse(block) for blocks in phases.values() for block in blocks)
    lines = MongoDatabase.recording(name).read_text().splitlines()
    assert all(json.loads(line)["topic"] for line in lines)


def test_every_recording_and_every_difference_is_of_a_workload() -> None:
    named_workloads = {
        file.stem
        for folder in ("recordings", "differences")
        for file in (MongoDatabase.folder / folder).glob("*.*")
    }
    assert named_workloads <= set(MongoDatabase.names())


def test_another_run_at_another_time_is_equal() -> None:
    recorded = [line(1_700_000_000_000, 1), line(1_700_000_000_007, 2, SECOND)]
    other = [
        line(1_800_000_000_000, 3, SECOND),
        line(1_800_000_001_001, 1, FIRST, 1_900_000_000_000),
    ]
    assert compare(recorded, other, normalise) == []


@pytest.mark.parametrize(
    "other",
    [
        [line(1_800_000_000_000, 3), line(1_800_000_000_000, 3, SECOND)],  # one place, not two
        [line(1_800_000_000_000, 3), line(1_800_000_000_001, 4, FIRST)],  # one session, not two
        [
            line(1_800_000_000_000, 3),
            line(1_800_000_000_001, 4, SECOND).replace('"ts_us":1800000000001', '"ts_us":18'),
        ],
    ],
)
def test_what_is_not_the_same_is_a_difference(other: list[str]) -> None:
    recorded = [line(1_700_000_000_000, 1), line(1_700_000_000_007, 2, SECOND)]
    assert compare(recorded, other, normalise) != []


def test_long_texts_and_documents_by_their_bytes_are_commands_too() -> None:
    (command,) = parse('{"insert": "c", "documents": [{"t": {"$repeat": ["ab", 3]}},\n'
                       ' {"$document": "0c0000001061000100000000"}]}')  # fmt: skip
    text, raw = command["documents"]
    assert text == {"t": "ababab"}
    assert dict(raw) == {"a": 1}
