"""A resident `headrace` answers as one does that is started for its words."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.resident.resident import Resident

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("words", [("run", "no such file"), ("run",), ("--version",)], ids=str)
def test_streams_and_status_are_those_of_the_caller(
    words: tuple[str, ...], resident: Resident
) -> None:
    process_run = subprocess.run(
        [sys.executable, "-m", "headrace.cli", *words], capture_output=True, text=True, check=False
    )
    resident_run = resident.run(*words)
    assert (resident_run.returncode, resident_run.stdout, resident_run.stderr) == (
        process_run.returncode,
        process_run.stdout,
        process_run.stderr,
    )


def test_a_signal_and_the_end_of_a_caller_end_its_query_and_not_the_resident(
    tmp_path: Path, resident: Resident
) -> None:
    for end in (signal.SIGTERM, signal.SIGKILL):
        folder = tmp_path / end.name
        folder.mkdir()
        (folder / "head").write_text("3")
        process = resident.start("tests.spark.run_numbers", str(folder), "console", "600")
        assert process.stdout is not None
        assert "id=0" in process.stdout.readline()
        process.send_signal(end)
        process.communicate(timeout=300)
        assert process.returncode == (0 if end == signal.SIGTERM else -end)
    assert resident.run("--version").returncode == 0
