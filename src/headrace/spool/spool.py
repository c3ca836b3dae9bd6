"""The spool: segments of received log bytes with their indexes, from oldest to newest."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from headrace.connect.kernels.memory import PADDING
from headrace.spool.idle_memory import IdleMemory
from headrace.spool.index import SegmentIndex
from headrace.spool.segment import SEGMENT_BYTES, Segment

_FIRST_ADDRESS = 1 << 20  # virtual addresses are never 0


@dataclass
class Piece:
    """A segment, its index, and how many of its bytes are written."""

    segment: Segment
    index: SegmentIndex
    written: int = 0


def memory_at(pieces: Sequence[Piece], address: int) -> memoryview:
    """Return the memory from the virtual `address` to the end of its segment. Raises
    LookupError."""
    for piece in pieces:
        segment = piece.segment
        if segment.start <= address < segment.end:
            return memoryview(segment.map)[address - segment.start : segment.size - PADDING]
    raise LookupError(address)


class Spool:
    """Bounded memory for reading ahead; one thread writes, others read under `lock`.

    The bound is for log and index together. It limits reading ahead, never a range that is being
    replayed (`unbounded`), nor a row that is larger than the bound: segments past it go to disk.
    Up to a quarter of the bound is memory of dropped segments, kept for later ones.
    """

    def __init__(self, end_dtype: np.dtype, max_bytes: int) -> None:
        self.lock = threading.Condition()
        self.pieces: list[Piece] = []
        self.max_bytes = max_bytes
        self.unbounded = False
        self._end_dtype = end_dtype
        self._next = _FIRST_ADDRESS
        self._idle = IdleMemory(max_bytes // 4)

    def bytes(self) -> int:
        """Return the bytes taken in memory and on disk."""
        return sum(piece.segment.size + piece.index.used_bytes() for piece in self.pieces)

    def memory_bytes(self) -> int:
        """Return the bytes taken in memory."""
        on_disk = sum(piece.segment.size for piece in self.pieces if piece.segment.on_disk)
        return self.bytes() - on_disk

    def has_room(self, size: int = SEGMENT_BYTES) -> bool:
        """Whether another segment for a frame of `size` bytes may be made now. After a single
        segment it always may, because a frame that is larger than the bound could not be received
        otherwise."""
        with self.lock:
            if self.unbounded or len(self.pieces) <= 1:
                return True
            # The next index will be about as large as the last one.
            more = max(size, SEGMENT_BYTES) + self.pieces[-1].index.used_bytes()
            return self.bytes() + more <= self.max_bytes

    def add(self, size: int) -> Piece:
        """Add a segment of at least `size` bytes after the last one and return it."""
        size = max(size, SEGMENT_BYTES)
        in_memory = self.memory_bytes() + size
        on_disk = bool(self.pieces) and in_memory > self.max_bytes
        with self.lock:
            self._idle.limit(max(0, self.max_bytes - in_memory))
            segment = Segment(self._next, size, on_disk=on_disk, idle=self._idle)
            self._next = segment.end
            last = self.pieces[-1].index if self.pieces else None
            index = SegmentIndex(self._end_dtype) if last is None else SegmentIndex.like(last)
            piece = Piece(segment, index)
            self.pieces.append(piece)
        return piece

    def reserve(self, size: int) -> Segment:
        """Return memory of at least `size` bytes that is not part of the log, at addresses of its
        own; the caller drops it."""
        # Sizes of ranges vary: rounded up by at most a quarter, they fit into one another's memory.
        step = 1 << max(size.bit_length() - 3, 0)
        with self.lock:
            segment = Segment(self._next, -(-size // step) * step, idle=self._idle)
            self._next = segment.end
        return segment

    def drop(self, is_done: Callable[[Piece], bool]) -> None:
        """Drop leading segments for which `is_done` is true, and segments without valid entries,
        except the one that is being written."""
        with self.lock:
            before = len(self.pieces)
            while len(self.pieces) > 1 and is_done(self.pieces[0]):
                self.pieces.pop(0).segment.drop()
            for place in range(len(self.pieces) - 2, 0, -1):
                if self.pieces[place].index.is_empty:
                    self.pieces.pop(place).segment.drop()
            if len(self.pieces) < before:
                self.lock.notify_all()

    def clear(self) -> None:
        """Drop everything."""
        with self.lock:
            for piece in self.pieces:
                piece.segment.drop()
            self.pieces.clear()
            self._idle.close()
            self.lock.notify_all()
