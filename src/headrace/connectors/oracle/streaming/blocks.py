"""The blocks of memory that open transactions are held in: in memory up to a bound, in files of
this process beyond it."""

from __future__ import annotations

import mmap

import numpy as np

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connectors.oracle.streaming.chunk_kernel import (
    BLOCK_BYTES,
    FREE_BLOCKS,
    FREED_HUGE,
    GIVEN,
    GIVEN_BYTES,
    NEXT,
    WORDS,
)
from headrace.spool.segment import Segment

_KEPT_BLOCKS = 2
"""Blocks that nobody uses and that are kept for the next transactions."""
_FIRST_ADDRESS = 1 << 20  # nobody asks for the virtual addresses


class Blocks:
    """Blocks by their addresses, and the words of `chunk_kernel` (`words`) that know them. One
    thread uses it. Methods raise HeadraceError("spool.full")."""

    def __init__(self, max_bytes: int) -> None:
        self.words = np.zeros(WORDS, np.int64)
        self._max_bytes = max_bytes
        self._blocks: dict[int, np.ndarray] = {}
        self._files: dict[int, Segment] = {}
        self._bytes = 0

    @property
    def bytes(self) -> int:
        """Memory and disk that the blocks take."""
        return self._bytes

    @property
    def disk_bytes(self) -> int:
        """Disk that they take."""
        return sum(file.size for file in self._files.values())

    def give(self, huge_bytes: int) -> None:
        """A block more; with `huge_bytes`, one for an entry of this size."""
        size = huge_bytes or BLOCK_BYTES
        self.let_go_of_files()
        if self._bytes + size > self._max_bytes:
            file = Segment(_FIRST_ADDRESS, size, on_disk=True)
            address, block = file.base, file.array
            self._files[address] = file
        else:
            block = np.empty(size + PADDING, np.uint8)
            address = address_of(block)
        self._blocks[address] = block
        self._bytes += len(block)
        words = self.words
        if huge_bytes:
            words[GIVEN], words[GIVEN_BYTES] = address, huge_bytes
        else:
            _store(block, int(words[FREE_BLOCKS]))
            words[FREE_BLOCKS] = address

    def trim(self) -> None:
        """Gives back the blocks that nobody uses, but for a few in memory."""
        for word in (FREED_HUGE, FREE_BLOCKS):
            unused = []
            address = int(self.words[word])
            while address:
                unused.append(address)
                address = _load(self._blocks[address])
            in_memory = [one for one in unused if one not in self._files]
            kept = in_memory[:_KEPT_BLOCKS] if word == FREE_BLOCKS else []
            for address in set(unused).difference(kept):
                self._drop(address)
            following = 0
            for address in reversed(kept):
                _store(self._blocks[address], following)
                following = address
            self.words[word] = following

    def _drop(self, address: int) -> None:
        self._bytes -= len(self._blocks.pop(address))
        file = self._files.pop(address, None)
        if file is not None:
            file.drop()

    def let_go_of_files(self) -> None:
        """What is in files need not be in memory until it is read."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for file in self._files.values():
                file.map.madvise(mmap.MADV_DONTNEED)

    def close(self) -> None:
        """Give everything back; never raises."""
        for file in self._files.values():
            file.drop()
        self._files.clear()
        self._blocks.clear()
        self._bytes = 0
        self.words[:] = 0


def _load(block: np.ndarray) -> int:
    return int(block[NEXT : NEXT + 8].view(np.int64)[0])


def _store(block: np.ndarray, following: int) -> None:
    block[NEXT : NEXT + 8].view(np.int64)[0] = following
