"""The end of the output, where a commit appends.

Allocating a new page of a file costs more than the copy into it: a guest's memory may have to come
from its host first. A large commit therefore bypasses the page cache if the system permits it, in
whole blocks; the rest at both its ends goes through the cache. Bytes before the commit are not
written again.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
from pathlib import Path
from types import TracebackType

_BLOCK = 4096
_BUFFER_BYTES = 4 << 20
_LARGE_BYTES = 4 << 20  # smaller commits stay in the page cache, for readers that follow the output


class Tail:
    """Truncates the output after its first `length` bytes, and appends `added` bytes; `sync`: waits
    for the disk. Raises OSError."""

    def __init__(self, path: Path, length: int, added: int, *, sync: bool) -> None:
        self._sync = sync
        self._file = os.open(path, os.O_WRONLY)
        self._past_cache: int | None = None
        try:
            os.ftruncate(self._file, length)
            if sync and added >= _LARGE_BYTES:
                self._past_cache = _open_past_cache(path)
        except BaseException:
            self.close()
            raise
        # The buffer begins at a page boundary, as a write past the cache requires. Its first byte
        # is byte `_place` of the output; the bytes from `_begin` to `_end` are to be written.
        self._buffer = memoryview(mmap.mmap(-1, _BUFFER_BYTES))
        self._begin = self._end = length % _BLOCK
        self._place = length - self._begin

    def __enter__(self) -> Tail:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the output; bytes that `finish` did not write are lost."""
        with contextlib.ExitStack() as closing:
            closing.callback(os.close, self._file)
            if self._past_cache is not None:
                closing.callback(os.close, self._past_cache)
                self._past_cache = None

    def room(self) -> memoryview:
        """The buffer for the next bytes, before `add`; never empty."""
        return self._buffer[self._end :]

    def add(self, count: int) -> None:
        """Take the first `count` bytes of `room` as the next bytes of the output."""
        self._end += count
        if self._end == len(self._buffer):
            self._flush()
            self._place += len(self._buffer)
            self._begin = self._end = 0

    def write(self, content: memoryview) -> None:
        """Append a copy of these bytes."""
        while content:
            room = self.room()
            count = min(len(room), len(content))
            room[:count] = content[:count]
            self.add(count)
            content = content[count:]

    def finish(self) -> int:
        """Write the remaining bytes, and wait for the disk; returns the length of the output."""
        self._flush()
        if self._sync:
            os.fsync(self._file)
        return self._place + self._end

    def _flush(self) -> None:
        first, last = -(-self._begin // _BLOCK) * _BLOCK, self._end // _BLOCK * _BLOCK
        if self._past_cache is None or first >= last:
            self._write(self._begin, self._end)
            return
        self._write(self._begin, first)
        self._write(self._write_past_cache(self._past_cache, first, last), self._end)

    def _write(self, begin: int, end: int) -> None:
        while begin < end:
            begin += os.pwrite(self._file, self._buffer[begin:end], self._place + begin)

    def _write_past_cache(self, file: int, begin: int, end: int) -> int:
        """Write whole blocks; returns the end, which is less if the system refuses to write
        more."""
        while begin < end and begin % _BLOCK == 0:
            try:
                begin += os.pwrite(file, self._buffer[begin:end], self._place + begin)
            except OSError as error:
                # The disk has larger blocks, or the file system opens such files but does not write
                # them.
                if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
                    raise
                self._past_cache = None
                os.close(file)
                break
        return begin


def _open_past_cache(path: Path) -> int | None:
    """The file opened for writing past the page cache; None if that is not supported."""
    direct = getattr(os, "O_DIRECT", 0)
    if not direct:
        return None
    try:
        return os.open(path, os.O_WRONLY | direct)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.EOPNOTSUPP):
            return None
        raise
