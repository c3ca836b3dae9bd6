"""Memory with an unreadable page right after it: one byte too far is a SIGSEGV."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np

_LIBC = ctypes.CDLL(None, use_errno=True)
_NO_ACCESS = 0


class Guarded:
    """`most` bytes that are reused: `take` gives the last of them, up to the guard page."""

    def __init__(self, most: int) -> None:
        page = mmap.PAGESIZE
        size = (most + page - 1) // page * page
        self._map = mmap.mmap(-1, size + page)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        self._size = size
        self._end = base + size
        address = ctypes.c_void_p(self._end)
        if _LIBC.mprotect(address, ctypes.c_size_t(page), _NO_ACCESS) != 0:
            raise OSError(ctypes.get_errno(), "mprotect")

    def take(self, content: bytes | int) -> int:
        """The address of `content`, or of so many zeros, whose end is the guard page."""
        data = bytes(content)
        ctypes.memmove(self._end - len(data), data, len(data))
        return self._end - len(data)

    def array(self, size: int) -> np.ndarray:
        """The last `size` bytes, before the guard page."""
        return np.frombuffer(self._map, np.uint8, size, self._size - size)


def read(address: int, size: int) -> bytes:
    return ctypes.string_at(address, size)
