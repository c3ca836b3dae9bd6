"""A resident whose process ended is not running, whatever it left behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.resident import resident as resident_module
from tests.resident.resident import Resident

SERVER = """
import sys, time
from pathlib import Path
Path(sys.argv[1]).touch()
time.sleep(600)
"""
"""A server without Spark, which nobody can call."""


@pytest.fixture
def without_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Resident]:
    """A resident whose server starts no Spark."""
    (tmp_path / "server_without_spark.py").write_text(SERVER)
    monkeypatch.setattr(resident_module, "_SERVER", "server_without_spark")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    running = Resident()
    yield running
    running.close()


def test_a_resident_whose_process_was_killed_is_not_running(without_spark: Resident) -> None:
    assert without_spark.is_running
    without_spark._process.kill()
    assert without_spark.log() == ""
    assert (without_spark.programs.parent / "socket").exists()
    assert not without_spark.is_running
