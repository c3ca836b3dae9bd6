"""Reuse of the memory of dropped segments: the kernel zeroes each page of a new file, which took a
quarter of the CPU time of a stream of small rows.

Memory is used again only if nothing can read its former content: no other process has the file open
or mapped, and nothing in this process refers to the map. The first is known from the kernel: it
grants a lease for writing only on a file that nobody else has open (fcntl(2)). Where it grants no
leases, no memory is used again.
"""

from __future__ import annotations

import mmap
import os
import signal
import sys
import threading
from collections import deque
from dataclasses import dataclass

if sys.platform == "linux":
    import fcntl

_MAX_WASTED = 2
"""The memory of a segment is at most this many times as large as the segment needs."""


@dataclass(frozen=True)
class MappedFile:
    """A memory file of this process, and the map of all its bytes."""

    file: int
    map: mmap.mmap

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return len(self.map)

    def close(self) -> None:
        """Close the file; its memory is freed when nothing refers to the map any more."""
        os.close(self.file)

    def is_unused(self) -> bool:
        """Whether nothing but this object refers to the map, and nobody else has the file open or
        mapped. Raises OSError where the kernel grants no leases."""
        try:
            self.map.resize(self.size)  # changes nothing; BufferError: there are views of the map
            # If somebody opens the file while the lease is held, the kernel sends a signal to this
            # process. The default, SIGIO, would end it; SIGURG is ignored.
            fcntl.fcntl(self.file, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(self.file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except (BufferError, BlockingIOError):
            return False
        fcntl.fcntl(self.file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        return True


class IdleMemory:
    """Files of dropped segments, at most `max_bytes` of them. Any thread may use it."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._files: deque[MappedFile] = deque()
        self._bytes = 0
        self._is_closed = False
        # Reentrant: the garbage collector may give a file within any call.
        self._lock = threading.RLock()

    def give(self, file: MappedFile) -> None:
        """Keep the file of a segment that nothing refers to any more, or close it."""
        with self._lock:
            if self._is_closed or self._bytes + file.size > self._max_bytes:
                file.close()
                return
            self._files.append(file)
            self._bytes += file.size

    def take(self, size: int) -> MappedFile | None:
        """Return a file of at least `size` bytes that is not used, or None."""
        with self._lock:
            for _ in range(len(self._files)):
                file = self._pop()
                try:
                    if size <= file.size <= _MAX_WASTED * size and file.is_unused():
                        return file
                except OSError:
                    self.close()
                self.give(file)
        return None

    def limit(self, max_bytes: int) -> None:
        """Close the oldest files until at most `max_bytes` are kept."""
        with self._lock:
            while self._files and self._bytes > max_bytes:
                self._pop().close()

    def close(self) -> None:
        """Close all files; files that are given later are closed, too."""
        with self._lock:
            self._is_closed = True
            self.limit(0)

    def _pop(self) -> MappedFile:
        file = self._files.popleft()
        self._bytes -= file.size
        return file
