"""Which archive a session uses, and when it writes one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headrace.spark.jvm.class_archive import archive_file, archive_options

HEADER = b"\xa8\xab\x0b\xf0"


@pytest.fixture
def java_home(tmp_path: Path) -> Path:
    """A Java with an archive of its own classes."""
    own = tmp_path / "lib" / "server" / "classes.jsa"
    own.parent.mkdir(parents=True)
    own.touch()
    return tmp_path


def test_the_first_session_writes_the_archive_and_the_next_one_uses_it(java_home: Path) -> None:
    archive = archive_file(java_home, "spark")
    assert f"-XX:ArchiveClassesAtExit={archive}" in archive_options(java_home, "spark")
    archive.write_bytes(HEADER)
    assert f"-XX:SharedArchiveFile={archive}" in archive_options(java_home, "spark")
    assert "ArchiveClassesAtExit" in archive_options(java_home, "another spark")


def test_an_archive_whose_jvm_was_killed_is_made_again_once_nobody_writes_it(
    java_home: Path,
) -> None:
    archive = archive_file(java_home, "spark")
    archive.write_bytes(bytes(4096))
    assert "ArchiveClassesAtExit" not in archive_options(java_home, "spark")
    os.utime(archive, (0, 0))
    assert f"-XX:ArchiveClassesAtExit={archive}" in archive_options(java_home, "spark")
    archive.write_bytes(HEADER)
    os.utime(archive, (0, 0))
    assert "ArchiveClassesAtExit" not in archive_options(java_home, "spark")
