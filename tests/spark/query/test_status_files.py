"""The folder of the files through which processes report."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.spark.query.status_files import live_files, own_file


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a user whose processes have reported."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    own = own_file("ours", "json")
    assert own is not None
    own.touch()
    return own.parent


def of_a_process_that_ended(folder: Path, name: str) -> Path:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return folder / f"{name}-{process.pid}.json"


def test_files_of_processes_that_ended_are_removed_and_others_stay(folder: Path) -> None:
    ended = of_a_process_that_ended(folder, "theirs")
    ended.touch()
    assert own_file("another", "json") == folder / f"another-{os.getpid()}.json"
    assert not ended.exists()
    assert list(live_files("*", "json")) == [folder / f"ours-{os.getpid()}.json"]


def test_what_cannot_be_removed_does_not_stop_a_start(folder: Path) -> None:
    of_a_process_that_ended(folder, "theirs").mkdir()
    assert own_file("another", "json") == folder / f"another-{os.getpid()}.json"


def test_a_folder_that_a_cleaner_removes_does_not_stop_a_start(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def listing(path: Path) -> Iterator[Path]:
        raise FileNotFoundError(path)

    monkeypatch.setattr(Path, "iterdir", listing)
    assert own_file("another", "json") == folder / f"another-{os.getpid()}.json"
