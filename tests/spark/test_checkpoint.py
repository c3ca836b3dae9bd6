"""The look into Spark's checkpoint folder."""

from __future__ import annotations

import json
from pathlib import Path

from headrace.spark.checkpoint import stored_offset


def _write(folder: Path, number: int, offset: str, *, finished: bool) -> None:
    for name in ("offsets", "commits"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "offsets" / str(number)).write_text(f'v1\n{{"batchWatermarkMs":0}}\n{offset}')
    if finished:
        (folder / "commits" / str(number)).write_text('v1\n{"nextBatchWatermarkMs":0}')


def test_a_folder_that_is_not_there_has_none(tmp_path: Path) -> None:
    assert stored_offset(tmp_path / "none") is None


def test_the_last_finished_batch_counts(tmp_path: Path) -> None:
    for number in range(12):
        _write(tmp_path, number, json.dumps({"n": number}), finished=number < 10)
    (tmp_path / "offsets" / ".9.crc").write_text("no offset")
    assert stored_offset(tmp_path) == {"n": 9}


def test_without_a_finished_batch_the_first_planned_one_counts(tmp_path: Path) -> None:
    _write(tmp_path, 0, '{"n":0}', finished=False)
    assert stored_offset(tmp_path) == {"n": 0}


def test_what_cannot_be_read_is_left_to_spark(tmp_path: Path) -> None:
    for text in ("", "{", "[1]", "-", '{"n":0}\n{"n":1}'):
        _write(tmp_path, 0, text, finished=True)
        assert stored_offset(tmp_path) is None
