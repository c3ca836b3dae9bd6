"""Memory of open transactions: chunks of sizes that are powers of two, cut from blocks.

A transaction begins with a small chunk, and each further one is twice as large, up to a whole
block. Freed chunks are kept in a list by size; whole blocks go back to `Blocks`.

A chunk begins with the address of the next one of its transaction (0: none), its class, and where
its written part ends: int64 each. Addresses are absolute.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from headrace.connect.kernels.functions import part
from headrace.connect.kernels.memory import PADDING, load64, store64

SMALLEST = 9
"""The smallest chunk has 2**SMALLEST bytes."""
LARGEST = 22
"""A block has 2**LARGEST bytes."""
CLASSES = LARGEST - SMALLEST + 1
BLOCK_BYTES = 1 << LARGEST

NEXT, CLASS, WRITTEN = 0, 8, 16
CHUNK_HEAD_BYTES = 24
GAP = PADDING
"""Bytes that stay free at the end of a chunk: copies move 16 bytes at a time."""
HUGE = CLASSES
"""The class of a block that was made for one entry that is larger than a block."""

# Words of the memory's state: the first free chunk of each class, the unused blocks, the rest of
# the block that is being cut, the address of a huge block that was given (0: none), and its bytes.
FREE = 0
FREE_BLOCKS = CLASSES
REST, REST_END = CLASSES + 1, CLASSES + 2
GIVEN, GIVEN_BYTES = CLASSES + 3, CLASSES + 4
FREED_HUGE = CLASSES + 5
WORDS = CLASSES + 6

_BLOCK = CLASSES - 1


@part
def _keep(memory, chunk, number):
    """Add a chunk to the free ones of its class."""
    store64(chunk + NEXT, memory[FREE + number])
    memory[FREE + number] = chunk


@part
def _keep_rest(memory):
    """Make chunks of the rest of the block that is being cut."""
    rest, end = memory[REST], memory[REST_END]
    for down in range(CLASSES):
        number = CLASSES - 1 - down
        size = 1 << (SMALLEST + number)
        while end - rest >= size:
            _keep(memory, rest, number)
            rest += size
    memory[REST] = 0
    memory[REST_END] = 0


@part
def take_chunk(memory, number):
    """Take a chunk of this class, with its head; returns 0 if a block must be given first."""
    chunk = memory[FREE + number]
    if chunk:
        memory[FREE + number] = load64(chunk + NEXT)
    else:
        size = 1 << (SMALLEST + number)
        rest, end = memory[REST], memory[REST_END]
        if end - rest < size:
            block = memory[FREE_BLOCKS]
            if block == 0:
                return 0
            memory[FREE_BLOCKS] = load64(block + NEXT)
            _keep_rest(memory)
            rest, end = block, block + BLOCK_BYTES
            memory[REST_END] = end
        chunk = rest
        memory[REST] = rest + size
    store64(chunk + NEXT, 0)
    store64(chunk + CLASS, number)
    store64(chunk + WRITTEN, chunk + CHUNK_HEAD_BYTES)
    return chunk


@part
def take_huge(memory, size):
    """Take the block that was given for an entry of `size` bytes; returns 0 if it must be given
    first."""
    chunk = memory[GIVEN]
    if chunk == 0 or memory[GIVEN_BYTES] < size:
        return 0
    memory[GIVEN] = 0
    store64(chunk + NEXT, 0)
    store64(chunk + CLASS, HUGE)
    store64(chunk + WRITTEN, chunk + CHUNK_HEAD_BYTES)
    return chunk


@part
def end_of_chunk(memory, chunk):
    """Return the end of a chunk that was just taken."""
    number = load64(chunk + CLASS)
    if number == HUGE:
        return chunk + memory[GIVEN_BYTES]
    return chunk + (1 << (SMALLEST + number))


@part
def free_chunk(memory, chunk):
    """Free a chunk."""
    number = load64(chunk + CLASS)
    if number == HUGE:
        store64(chunk + NEXT, memory[FREED_HUGE])
        memory[FREED_HUGE] = chunk
    elif number == _BLOCK:
        store64(chunk + NEXT, memory[FREE_BLOCKS])
        memory[FREE_BLOCKS] = chunk
    else:
        _keep(memory, chunk, number)


@part
def free_chunks(memory, chunk):
    """Free a chunk and those after it."""
    while chunk:
        following = load64(chunk + NEXT)
        free_chunk(memory, chunk)
        chunk = following
