"""Spare files: a part that is in the output leaves its file to the next one, and nothing else."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.sinks.file import parts as files
from headrace.sinks.file.output import Output
from headrace.sinks.file.spares import take_spare
from tests.sinks.parts import values, write_part


@pytest.fixture
def output(tmp_path: Path) -> Output:
    output = Output(tmp_path / "out.jsonl", tmp_path / "state")
    output.open()
    return output


def inodes(output: Output) -> set[int]:
    return {path.stat().st_ino for path in output.parts.iterdir()}


def test_the_next_parts_are_written_into_the_files_of_those_before(output, tmp_path):
    parts = [write_part(tmp_path, 1, i, range(50 * i, 50 * i + 50)) for i in range(2)]
    output.commit(parts, 1, "q", keep_files=True)
    inodes_before = inodes(output)
    assert len(inodes_before) == 2
    parts = [write_part(tmp_path, 2, i, range(100 + 5 * i, 105 + 5 * i)) for i in range(2)]
    assert inodes(output) == inodes_before
    assert [(output.parts / part.name).stat().st_size for part in parts] == [
        part.length for part in parts
    ]
    output.commit(parts, 2, "q", keep_files=True)
    assert values(output) == list(range(110))
    assert inodes(output) == inodes_before


@pytest.mark.parametrize("indexed", [False, True])
def test_a_part_of_keys_takes_a_spare_file_too(output, tmp_path, indexed):
    output.commit([write_part(tmp_path, 1, 0, range(100), indexed=True)], 1, "q", keep_files=True)
    parts = [write_part(tmp_path, 2, 0, range(100, 103), indexed=indexed)]
    output.commit(parts, 2, "q", keep_files=True)
    assert values(output) == list(range(103))
    assert len(inodes(output)) == 1


def test_the_file_of_a_part_that_was_not_committed_is_nobody_elses(output, tmp_path):
    write_part(tmp_path, 1, 0, range(9))  # another attempt, perhaps still writing
    part = write_part(tmp_path, 1, 1, range(5))
    inode = (output.parts / part.name).stat().st_ino
    output.commit([part], 1, "q", keep_files=True)
    assert inodes(output) == {inode}


def test_a_spare_file_that_no_part_took_is_deleted(output, tmp_path):
    parts = [write_part(tmp_path, 1, i, range(5 * i, 5 * i + 5)) for i in range(3)]
    output.commit(parts, 1, "q", keep_files=True)
    assert len(inodes(output)) == 3
    output.commit([write_part(tmp_path, 2, 0, range(15, 20))], 2, "q", keep_files=True)
    assert len(inodes(output)) == 1
    output.commit([write_part(tmp_path, 3, 0, range(20, 25))], 3, "q")
    assert inodes(output) == set()


def test_a_spare_file_is_taken_once_and_the_largest_first(tmp_path):
    for name, size in (("spare-a", 1), ("spare-b", 3), ("spare-c", 2)):
        (tmp_path / name).write_bytes(b"x" * size)
    part_paths = [tmp_path / f"1-{number}" for number in range(4)]
    assert [take_spare(path) for path in part_paths] == [True, True, True, False]
    assert [path.stat().st_size for path in part_paths[:3]] == [3, 2, 1]
    assert not part_paths[3].exists()


def test_a_spare_file_that_another_task_takes_first_is_left_to_it(tmp_path, monkeypatch):
    for name in ("spare-a", "spare-b"):
        (tmp_path / name).touch()
    rename, taken_paths = Path.rename, []

    def racing(path: Path, target: Path) -> Path:
        if not taken_paths:
            taken_paths.append(path)
            rename(path, tmp_path / "2-other")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", racing)
    assert take_spare(tmp_path / "1-own")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1-own", "2-other"]


def test_a_task_that_fails_leaves_nothing_of_its_spare_file(output, tmp_path, monkeypatch):
    output.commit([write_part(tmp_path, 1, 0, range(50))], 1, "q", keep_files=True)
    original, written = files.write_all, []

    def write_all(file: int, content: memoryview) -> None:
        written.append(os.fstat(file).st_ino)
        original(file, content[:7])
        raise OSError("the disk is gone")

    inodes_before = inodes(output)
    monkeypatch.setattr(files, "write_all", write_all)
    with pytest.raises(HeadraceError, match="gone"):
        write_part(tmp_path, 2, 0, range(50, 60))
    assert set(written) == inodes_before
    assert inodes(output) == set()


@pytest.mark.parametrize("ends", ["close", "open"])
def test_spare_files_end_with_the_query_or_before_the_next_one(output, tmp_path, ends):
    output.commit([write_part(tmp_path, 1, 0, range(50))], 1, "q", keep_files=True)
    assert len(inodes(output)) == 1
    getattr(output, ends)()
    assert inodes(output) == set()
    output.commit([write_part(tmp_path, 2, 0, range(50, 60))], 2, "q")
    assert values(output) == list(range(60))


def test_an_output_that_was_never_opened_closes(tmp_path):
    Output(tmp_path / "out.jsonl", tmp_path / "state").close()
    assert list(tmp_path.iterdir()) == []


def test_links_and_folders_are_no_spare_files(output, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("theirs" * 10_000)
    (output.parts / "spare-link").symlink_to(victim)
    (output.parts / "spare-folder").mkdir()
    assert not take_spare(output.parts / "1-0")
    output.commit([write_part(tmp_path, 1, 0, range(50))], 1, "q", keep_files=True)
    output.close()
    assert victim.read_text() == "theirs" * 10_000
    assert values(output) == list(range(50))


def test_a_part_that_cannot_be_written_is_an_error_that_is_tried_again(output, monkeypatch):
    def full(_file: int, _content: memoryview) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "write_all", full)
    with pytest.raises(HeadraceError, match="No space left on device") as caught:
        write_part(output.folder.parent, 1, 0, range(50))
    assert caught.value.code == "file.not_writable"
    assert caught.value.retriable
    assert list(output.parts.iterdir()) == []
