"""The end of the output, where a commit appends.

A page that a file gets for the first time costs more than the copy into it: a guest's memory may
have to come from its host first. A large commit therefore goes past the page cache where the
system lets it, in whole blocks; what is less than a block at both its ends goes through it. Bytes
before the commit are not written again.
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
_LARGE_BYTES = 4 << 20  # less stays in the page cache, for those who follow the output


class Tail:
    """Cuts the output after its first `length` bytes, and appends `added` bytes there; `sync`:
    they wait for the disk. Raises OSError."""

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
        # The buffer begins at a page, because a write past the cache needs that. Its first byte is
        # the byte `_place` of the output; those from `_begin` to `_end` are to be written.
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
        """Close the output; what `finish` did not write is lost."""
        with contextlib.ExitStack() as closing:
            closing.callback(os.close, self._file)
            if self._past_cache is not None:
                closing.callback(os.close, self._past_cache)
                self._past_cache = None

    def room(self) -> memoryview:
        """Where the next bytes go, for `add`; never empty."""
        return self._buffer[self._end :]

    def add(self, count: int) -> None:
        """The first `count` bytes of `room` are the next of the output."""
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
        """Write what is left, and wait for the disk; returns the length of the output."""
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
        """Write whole blocks; returns up to where, which is less when the system takes no more."""
        while begin < end and begin % _BLOCK == 0:
            try:
                begin += os.pwrite(file, self._buffer[begin:end], self._place + begin)
            except OSError as error:
                # The disk has larger blocks, or its file system opens what it does not write.
                if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
                    raise
                self._past_cache = None
                os.close(file)
                break
        return begin


def _open_past_cache(path: Path) -> int | None:
    """The file for writing past the page cache; None where that cannot be."""
    direct = getattr(os, "O_DIRECT", 0)
    if not direct:
        return None
    try:
        return os.open(path, os.O_WRONLY | direct)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.EOPNOTSUPP):
            return None
        raise
