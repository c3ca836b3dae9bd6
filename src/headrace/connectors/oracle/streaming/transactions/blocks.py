"""The blocks of memory that hold open transactions: in memory up to a limit, in files of this
process beyond it."""

from __future__ import annotations

import mmap

import numpy as np

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connectors.oracle.streaming.transactions.chunk_kernel import (
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
"""Unused blocks that are kept for later transactions."""
_BLOCKS_OF_FILE = 16
"""Blocks of a file: each file takes two of the file descriptors that a process may have."""
_FIRST_ADDRESS = 1 << 20  # the virtual addresses are not used


class Blocks:
    """The blocks by their addresses, and the words of `chunk_kernel` (`words`) that refer to them.
    One thread uses it. Methods raise HeadraceError("spool.full")."""

    def __init__(self, max_bytes: int) -> None:
        self.words = np.zeros(WORDS, np.int64)
        self._max_bytes = max_bytes
        self._blocks: dict[int, np.ndarray] = {}
        self._files: dict[int, Segment] = {}
        """The file of each block that is in one, by the block's address."""
        self._memory_bytes = 0

    @property
    def bytes(self) -> int:
        """The memory and disk that the blocks take, in bytes."""
        return self._memory_bytes + self.disk_bytes

    @property
    def disk_bytes(self) -> int:
        """The disk that the blocks take, in bytes."""
        return sum(file.size for file in set(self._files.values()))

    def give(self, huge_bytes: int) -> None:
        """Add blocks; with `huge_bytes`, a block for an entry of this size."""
        size = huge_bytes or BLOCK_BYTES
        self.let_go_of_files()
        if self._memory_bytes + size > self._max_bytes:
            addresses = self._on_disk(size, 1 if huge_bytes else _BLOCKS_OF_FILE)
        else:
            block = np.empty(size + PADDING, np.uint8)
            addresses = [address_of(block)]
            self._blocks[addresses[0]] = block
            self._memory_bytes += len(block)
        words = self.words
        if huge_bytes:
            words[GIVEN], words[GIVEN_BYTES] = addresses[0], huge_bytes
            return
        for address in reversed(addresses):
            _store(self._blocks[address], int(words[FREE_BLOCKS]))
            words[FREE_BLOCKS] = address

    def _on_disk(self, size: int, count: int) -> list[int]:
        """Return the addresses of so many blocks of a new file."""
        file = Segment(_FIRST_ADDRESS, size * count, on_disk=True)
        addresses = [file.base + size * number for number in range(count)]
        for number, address in enumerate(addresses):
            self._blocks[address] = file.array[size * number : size * (number + 1)]
            self._files[address] = file
        return addresses

    def trim(self) -> None:
        """Free unused blocks: those in memory except a few, and files without a used block."""
        for word in (FREED_HUGE, FREE_BLOCKS):
            unused = []
            address = int(self.words[word])
            while address:
                unused.append(address)
                address = _load(self._blocks[address])
            in_memory = [block for block in unused if block not in self._files]
            free_blocks = in_memory[:_KEPT_BLOCKS] if word == FREE_BLOCKS else []
            for address in in_memory[len(free_blocks) :]:
                self._memory_bytes -= len(self._blocks.pop(address))
            free_blocks += self._trimmed_files(set(unused).difference(in_memory))
            following = 0
            for address in reversed(free_blocks):
                _store(self._blocks[address], following)
                following = address
            self.words[word] = following

    def _trimmed_files(self, unused: set[int]) -> list[int]:
        """Drop files whose blocks are all `unused`; return the other ones among `unused`."""
        still_free = []
        for file in {self._files[address] for address in unused}:
            addresses = [block for block, its_file in self._files.items() if its_file is file]
            if not unused.issuperset(addresses):
                still_free += [block for block in addresses if block in unused]
                continue
            for address in addresses:
                del self._blocks[address], self._files[address]
            file.drop()
        return still_free

    def let_go_of_files(self) -> None:
        """Allow the system to drop files from memory until they are read."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for file in set(self._files.values()):
                file.map.madvise(mmap.MADV_DONTNEED)

    def close(self) -> None:
        """Free all blocks; never raises."""
        for file in set(self._files.values()):
            file.drop()
        self._files.clear()
        self._blocks.clear()
        self._memory_bytes = 0
        self.words[:] = 0


def _load(block: np.ndarray) -> int:
    return int(block[NEXT : NEXT + 8].view(np.int64)[0])


def _store(block: np.ndarray, following: int) -> None:
    block[NEXT : NEXT + 8].view(np.int64)[0] = following
