"""State of a newer release is refused by a clear error, whatever else it has in it, and is left as
it is. The folder of a run has its test in tests/sinks/test_state_folder.py, and a checkpoint in
tests/cli/test_bad_input.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.offsets.offset import VERSION, Offset
from headrace.sinks.file.output import Output
from headrace.sinks.kafka.markers import Marker
from headrace.sinks.kafka.plan import PlanFolder

NEWER = {"v": 99, "what": "no release knows"}


def read_offset(_folder: Path) -> None:
    Offset.from_json({**NEWER, "v": VERSION + 1}, "shop", lambda members: dict(members))


def read_state_of_files(folder: Path) -> None:
    (folder / "state.json").write_text(json.dumps(NEWER))
    Output(folder / "out.jsonl", folder).look()


def read_plan_of_kafka(folder: Path) -> None:
    (folder / "plan.json").write_text(json.dumps(NEWER))
    PlanFolder(folder).last()


def read_marker_of_kafka(_folder: Path) -> None:
    Marker.from_json(json.dumps(NEWER))


@pytest.mark.parametrize(
    ("read", "code"),
    [
        (read_offset, "offset.newer"),
        (read_state_of_files, "file.newer_state"),
        (read_plan_of_kafka, "kafka.newer_plan"),
        (read_marker_of_kafka, "kafka.newer_marker"),
    ],
)
def test_state_of_a_newer_release_is_refused(
    read: Callable[[Path], None], code: str, tmp_path: Path
) -> None:
    with pytest.raises(HeadraceError) as raised:
        read(tmp_path)
    assert raised.value.code == code
    assert raised.value.remedy
    file_contents = [json.loads(path.read_text()) for path in tmp_path.iterdir() if path.is_file()]
    assert file_contents in ([], [NEWER])
