"""The look into Spark's checkpoint folder."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from headrace.config.formats import read_mapping
from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError
from headrace.sinks.file.output import Output
from headrace.sinks.file.parts_source import PartsReader
from headrace.spark import source_process
from headrace.spark.checkpoint import planned_batch, refuse_torn, stored_offset
from headrace.spark.versions.installed import REPORTS_STARTS


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


def _logs(folder: Path, *, planned: int, finished: int) -> None:
    for number in range(planned + 1):
        _write(folder, number, json.dumps({"n": number}), finished=number <= finished)


@pytest.mark.parametrize(("planned", "finished"), [(-1, -1), (0, -1), (0, 0), (4, 3), (4, 4)])
def test_what_a_kill_leaves_is_whole(tmp_path: Path, planned: int, finished: int) -> None:
    _logs(tmp_path, planned=planned, finished=finished)
    for log in tmp_path.iterdir():
        (log / ".5.0a1b.tmp").write_text("v1")
        (log / ".4.crc").write_bytes(b"crc")
    refuse_torn(tmp_path)


@pytest.mark.parametrize("content", ["", "v1", "v1\n", "\0" * 40, 'v1\n{"a":0}\n{"n"', None])
@pytest.mark.parametrize(
    ("log", "finished", "deleted"),
    [
        ("offsets", 3, ["offsets/4"]),
        ("offsets", 4, ["offsets/4", "commits/4"]),
        ("commits", 4, ["commits/4"]),
    ],
)
def test_an_end_that_was_lost_is_refused_and_what_to_delete_is_named(
    tmp_path: Path, content: str | None, log: str, finished: int, deleted: list[str]
) -> None:
    _logs(tmp_path, planned=4, finished=finished)
    file = tmp_path / log / "4"
    if content is None:
        file.unlink()
        deleted = [name for name in deleted if name != f"{log}/4"]
    else:
        file.write_text(content)
    if not deleted:
        return refuse_torn(tmp_path)
    with pytest.raises(HeadraceError, match=r"spark\.checkpoint_torn") as raised:
        refuse_torn(tmp_path)
    named = " and ".join(str(tmp_path / name) for name in deleted)
    assert raised.value.remedy.startswith(f"Delete {named}: ")
    assert "acknowledged to the database" in raised.value.remedy
    assert raised.value.remedy.endswith("then a new checkpoint is needed.")
    for name in deleted:
        (tmp_path / name).unlink()
    refuse_torn(tmp_path)
    return None


def test_the_micro_batch_of_a_range_is_the_one_that_was_planned_last(tmp_path: Path) -> None:
    for number in range(12):
        _write(tmp_path, number, f'{{"b":1,"n":{number}}}', finished=number < 11)
    (tmp_path / "offsets" / ".12.a.tmp").write_text("torn")
    assert planned_batch(tmp_path, {"n": 11, "b": 1}) == 11


def test_what_a_killed_run_left_behind_does_not_take_the_number_of_the_next_run(
    tmp_path: Path,
) -> None:
    _write(tmp_path, 0, '{"n":0}', finished=True)
    _write(tmp_path, 1, '{"n":1}', finished=False)
    with pytest.raises(HeadraceError, match=r"spark\.other_run"):
        planned_batch(tmp_path, {"n": 0})
    with pytest.raises(HeadraceError, match=r"spark\.other_run"):
        planned_batch(tmp_path / "none", {"n": 0})


@pytest.mark.skipif(not REPORTS_STARTS, reason="this Spark does not pass the start")
def test_the_log_is_on_the_disk_before_it_is_acknowledged_to_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = tmp_path / "checkpoint"
    checkpoint.mkdir()
    _logs(checkpoint, planned=4, finished=3)
    happened: list[str] = []

    class Session:
        def latest_offset(self, start: dict[str, object]) -> dict[str, object]:
            happened.append(f"acknowledged {start['n']}")
            return start

        def commit(self, end: dict[str, object]) -> None:
            happened.append(f"acknowledged {end['n']}")

    def synced(descriptor: int) -> None:
        happened.append(str(Path(f"/proc/self/fd/{descriptor}").resolve().relative_to(checkpoint)))

    options = {"connector.class": "postgresql", "topic.prefix": "s", "database.dbname": "d",
               "database.hostname": "h", "database.user": "u"}  # fmt: skip
    monkeypatch.setattr(source_process, "session", lambda _config, _sinks, converts: Session())
    monkeypatch.setattr(os, "fsync", synced)
    config = parse_configuration(read_mapping(options))
    output = Output(tmp_path / "out.jsonl", tmp_path / "file")
    reader = PartsReader(config, output, checkpoint)
    for _ in range(2):
        reader.latestOffset({"n": 3})
    reader.commit({"n": 3})
    forced = ["offsets/3", "offsets", "commits/3", "commits"]
    assert happened == [*forced, *["acknowledged 3"] * 3]
