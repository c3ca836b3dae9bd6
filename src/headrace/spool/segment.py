"""Segments: immutable pieces of log bytes in memory that other processes can open by path."""

from __future__ import annotations

import errno
import mmap
import os
import sys
import tempfile
import weakref
from pathlib import Path

import numpy as np

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.errors import HeadraceError
from headrace.spool.idle_memory import IdleMemory, MappedFile

SEGMENT_BYTES = 16 << 20
TOKEN_BYTES = 16
_PAGE = mmap.PAGESIZE


class Segment:
    """Memory that is written once, front to back, and never truncated.

    On Linux it is a `memfd` that other processes open through this process's /proc entry, so it
    vanishes with its owner; elsewhere, or when `on_disk`, an unlinked or locked temporary file.
    Space is allocated up front: a store into a sparse map of a full file system is a SIGBUS, a
    failed allocation is an error. `start` is the segment's virtual address: addresses of one spool
    never overlap and are never reused. A `path` can be reused by a later segment, so each segment
    ends with a `token` of its own, which readers compare.

    With `idle`, it may get the memory of a dropped segment, which still has the bytes of that one
    and may be larger than `size`; and a later segment may get its memory.

    Raises HeadraceError("spool.full") when neither memory nor disk has room.
    """

    def __init__(
        self, start: int, size: int, *, on_disk: bool = False, idle: IdleMemory | None = None
    ) -> None:
        self.start = start
        self.token = os.urandom(TOKEN_BYTES)
        self.on_disk = on_disk
        self._idle = None if on_disk or sys.platform != "linux" else idle
        size = (size + PADDING + TOKEN_BYTES + _PAGE - 1) // _PAGE * _PAGE
        used_before = None if self._idle is None else self._idle.take(size)
        if used_before is None:
            self._file, self._path = _new_file(size, on_disk=on_disk)
            self.map = mmap.mmap(self._file, size)
        else:
            self._file, self.map = used_before.file, used_before.map
            self._path = _path_of(self._file)
        self._is_dropped = False
        self.size = len(self.map)
        self.map[-TOKEN_BYTES:] = self.token
        self.array = np.frombuffer(self.map, np.uint8)
        self.base = address_of(self.array)

    @property
    def capacity(self) -> int:
        """The number of bytes that may be written; kernels may read the padding after them."""
        return self.size - PADDING - TOKEN_BYTES

    @property
    def end(self) -> int:
        """The virtual address after the segment."""
        return self.start + self.size

    @property
    def path(self) -> str:
        """The path under which other processes of this user on this host open the segment."""
        return str(self._path)

    def drop(self) -> None:
        """Free the memory, or give it to later segments, as soon as nothing in this process refers
        to it; readers that mapped it keep their view."""
        if self._is_dropped:
            return
        self._is_dropped = True
        if self._idle is None:
            os.close(self._file)
        else:
            # The file keeps its path until nothing refers to this segment.
            self.map[-TOKEN_BYTES:] = bytes(TOKEN_BYTES)
            given = weakref.finalize(self, self._idle.give, MappedFile(self._file, self.map))
            given.atexit = False
        if sys.platform != "linux":
            self._path.unlink(missing_ok=True)


def _new_file(size: int, *, on_disk: bool) -> tuple[int, Path]:
    """Return a new file of that size, in memory if it may be there, and its path."""
    memory_file = None if on_disk else _memory_file()
    file, path = _disk_file() if memory_file is None else (memory_file, _path_of(memory_file))
    try:
        os.posix_fallocate(file, 0, size)
    except OSError as error:
        os.close(file)
        raise _full(error, size) from error
    return file, path


def _path_of(file: int) -> Path:
    return Path(f"/proc/{os.getpid()}/fd/{file}")


def _memory_file() -> int | None:
    if sys.platform != "linux":
        return None
    memory_file = os.memfd_create("headrace-spool", os.MFD_CLOEXEC)
    try:
        # The kernel counts only files that were opened by `open`, see IdleMemory.
        return os.open(_path_of(memory_file), os.O_RDWR | os.O_CLOEXEC)
    finally:
        os.close(memory_file)


def _disk_file() -> tuple[int, Path]:
    folder = os.environ.get("HEADRACE_SPOOL_DIR") or None
    try:
        number, name = tempfile.mkstemp(prefix="headrace-spool-", dir=folder)
    except OSError as error:
        raise _full(error, 0) from error
    if sys.platform == "linux":
        Path(name).unlink()  # reached through /proc, and gone with this process
        return number, _path_of(number)
    return number, Path(name)


def _full(error: OSError, size: int) -> HeadraceError:
    problem = "is full" if error.errno == errno.ENOSPC else f"failed: {error.strerror}"
    return HeadraceError(
        "spool.full",
        f"The memory or disk under the spool {problem} (a segment of {size} bytes was wanted)",
        "Give the host memory or TMPDIR room, or lower headrace.spool.max.bytes and "
        "headrace.range.max.bytes.",
        retriable=True,
    )


def _gone(path: str) -> HeadraceError:
    return HeadraceError(
        "spool.segment_gone",
        f"The log bytes of a planned range no longer exist ({path})",
        "The source process ended, or its range is done; the query reads a range again when it "
        "restarts.",
        retriable=True,
    )


class MappedSegment:
    """A segment, opened for reading in another process."""

    def __init__(self, path: str, token: bytes, start: int) -> None:
        """Raises HeadraceError("spool.segment_gone") when there is no segment with this token."""
        try:
            # Another file that has the path by now, for example a pipe, must not block the task.
            file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            try:
                self.map = mmap.mmap(file, 0, access=mmap.ACCESS_READ)
            finally:
                os.close(file)
        except (OSError, ValueError) as error:  # ValueError: it is empty
            raise _gone(path) from error
        if self.map[-TOKEN_BYTES:] != token:
            raise _gone(path)
        self.array = np.frombuffer(self.map, np.uint8)
        self.start = start
        self.base = address_of(self.array)
