"""The archive that a session uses, and the sessions that write one."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from headrace.spark.jvm.class_archive import archive_file, archive_options

HEADER = b"\xa8\xab\x0b\xf0"


@pytest.fixture
def java_home(tmp_path: Path) -> Path:
    """A Java with an archive of its own classes."""
    return java(tmp_path, "1")


def java(folder: Path, name: str) -> Path:
    """One of several Javas with archives of their own classes."""
    class_archive = folder / name / "lib" / "server" / "classes.jsa"
    class_archive.parent.mkdir(parents=True)
    class_archive.touch()
    return folder / name


def written(java_home: Path, spark: str, used: float) -> Path:
    """The archive of a Java and a Spark, last used then."""
    archive = archive_file(java_home, spark)
    archive.write_bytes(HEADER)
    os.utime(archive, (used, used))
    return archive


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


def test_archives_of_other_javas_and_sparks_are_removed_but_for_those_that_were_used_last(
    java_home: Path, tmp_path: Path
) -> None:
    other = java(tmp_path, "2")
    others = [
        written(home, f"spark {number}", used=number)
        for number, home in enumerate([other, java_home, other, java_home, other])
    ]
    session_archive, base = written(java_home, "spark", used=-1), java_home / "base.jsa"
    base.write_bytes(HEADER)
    archive_options(java_home, "spark")
    assert [archive.exists() for archive in others] == [False, False, True, True, True]
    assert session_archive.exists()
    assert base.exists(), "archives of Spark's classes build on it"


def test_a_session_that_uses_an_archive_keeps_it_from_being_the_oldest(
    java_home: Path,
) -> None:
    used = written(java_home, "spark 0", used=0)
    newer = [written(java_home, f"spark {number}", used=number) for number in (1, 2, 3)]
    archive_options(java_home, "spark 0")
    archive_options(java_home, "another spark")
    assert [archive.exists() for archive in newer] == [False, True, True]
    assert used.exists()


def test_sessions_that_start_at_once_remove_archives_once(java_home: Path) -> None:
    for number in range(200):
        written(java_home, f"spark {number}", used=number)
    with ThreadPoolExecutor(8) as sessions:
        futures = [sessions.submit(archive_options, java_home, "spark 199") for _ in range(16)]
        assert {"SharedArchiveFile" in each.result() for each in futures} == {True}
    left = {file.name for file in java_home.glob("spark-*.jsa")}
    assert left == {archive_file(java_home, f"spark {number}").name for number in range(196, 200)}
