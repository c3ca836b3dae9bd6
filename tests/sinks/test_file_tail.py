"""Bytes that are appended to the output are the same through the page cache and past it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.sinks.file import tail
from headrace.sinks.file.tail import Tail

_BUFFER = 3 * 4096
OF_SYSTEM = pytest.mark.skipif(not hasattr(os, "O_DIRECT"), reason="no writing past the page cache")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "_BUFFER_BYTES", _BUFFER)
    monkeypatch.setattr(tail, "_LARGE_BYTES", 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


def append(path: Path, length: int, content: bytes, *, sync: bool = True) -> int:
    with Tail(path, length, len(content), sync=sync) as appended:
        appended.write(memoryview(content))
        return appended.finish()


def text(length: int) -> bytes:
    return bytes(i * 7 % 251 for i in range(length))


Call = Callable[..., int]


def past_cache(monkeypatch: pytest.MonkeyPatch, write: Callable[[Call, int, memoryview, int], int]):
    """Let `write` do what is written past the page cache."""
    opened: set[int] = set()
    os_open, os_pwrite = os.open, os.pwrite

    def open_(target: Path, flags: int, *more: int) -> int:
        file = os_open(target, flags, *more)
        if flags & os.O_DIRECT:
            opened.add(file)
        return file

    def pwrite(file: int, content: memoryview, place: int) -> int:
        if file in opened:
            return write(os_pwrite, file, content, place)
        return os_pwrite(file, content, place)

    monkeypatch.setattr(os, "open", open_)
    monkeypatch.setattr(os, "pwrite", pwrite)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, 9000),
    st.integers(0, 5000),
    st.lists(st.integers(0, 30_000), max_size=4),
    st.booleans(),
)
def test_the_output_holds_what_was_appended_after_its_length(
    tmp_path: Path, length: int, surplus: int, sizes: list[int], sync: bool
) -> None:
    path = tmp_path / "out.jsonl"
    before, expected = text(length + surplus), text(length)
    path.write_bytes(before)
    for size in sizes:
        content = text(size)[::-1]
        assert append(path, len(expected), content, sync=sync) == len(expected) + size
        expected += content
    append(path, len(expected), b"", sync=sync)
    assert path.read_bytes() == expected


def test_no_byte_before_the_length_is_written_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(text(5000))
    places, os_pwrite = [], os.pwrite

    def pwrite(file: int, content: memoryview, place: int) -> int:
        places.append(place)
        return os_pwrite(file, content, place)

    monkeypatch.setattr(os, "pwrite", pwrite)
    append(path, 4999, text(40_000))
    assert min(places) == 4999


@OF_SYSTEM
def test_whole_blocks_go_past_the_page_cache_and_what_is_left_through_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = []

    def write(original: Call, file: int, content: memoryview, place: int) -> int:
        pieces.append((place, len(content)))
        return original(file, content, place)

    past_cache(monkeypatch, write)
    path.write_bytes(text(100))
    append(path, 100, text(20_000))
    assert pieces == [(4096, _BUFFER - 4096), (_BUFFER, 4096)]
    assert path.read_bytes() == text(100) + text(20_000)


@OF_SYSTEM
@pytest.mark.parametrize("sync", [True, False])
def test_small_appends_and_those_that_wait_for_no_disk_stay_in_the_page_cache(
    path: Path, monkeypatch: pytest.MonkeyPatch, sync: bool
) -> None:
    def write(original: Call, file: int, content: memoryview, place: int) -> int:
        raise AssertionError("past the page cache")

    past_cache(monkeypatch, write)
    monkeypatch.setattr(tail, "_LARGE_BYTES", 20_001 if sync else 1)
    path.touch()
    append(path, 0, text(20_000), sync=sync)
    assert path.read_bytes() == text(20_000)


@OF_SYSTEM
@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize("written", [0, 512])
def test_a_disk_that_takes_no_such_blocks_gets_them_through_the_page_cache(
    path: Path, monkeypatch: pytest.MonkeyPatch, at: int, written: int
) -> None:
    calls = []

    def write(original: Call, file: int, content: memoryview, place: int) -> int:
        calls.append(place)
        if len(calls) <= at:
            return original(file, content, place)
        if written:
            return original(file, content[:written], place)
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    past_cache(monkeypatch, write)
    path.touch()
    append(path, 0, text(60_000))
    assert path.read_bytes() == text(60_000)
    assert len(calls) > at
    assert written or len(calls) == at + 1


@OF_SYSTEM
def test_a_full_disk_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(original: Call, file: int, content: memoryview, place: int) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    past_cache(monkeypatch, write)
    path.touch()
    with pytest.raises(OSError, match="space"):
        append(path, 0, text(60_000))


@OF_SYSTEM
def test_a_file_system_without_writing_past_the_cache_is_written_through_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os_open, refused = os.open, []

    def open_(target: Path, flags: int, *more: int) -> int:
        if flags & os.O_DIRECT:
            refused.append(target)
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return os_open(target, flags, *more)

    monkeypatch.setattr(os, "open", open_)
    path.touch()
    append(path, 0, text(60_000))
    assert path.read_bytes() == text(60_000)
    assert refused == [path]


def test_no_descriptor_stays_open(path: Path) -> None:
    path.touch()
    descriptors = Path("/proc/self/fd") if Path("/proc/self/fd").exists() else Path("/dev/fd")
    before = len(os.listdir(descriptors))
    append(path, 0, text(60_000))
    with pytest.raises(IsADirectoryError):
        Tail(path.parent, 0, 60_000, sync=True)
    assert len(os.listdir(descriptors)) == before
