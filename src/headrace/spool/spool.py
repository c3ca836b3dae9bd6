"""The spool: segments of received log bytes with their indexes, from oldest to newest."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headrace.spool.index import SegmentIndex
from headrace.spool.segment import SEGMENT_BYTES, Segment

_FIRST_ADDRESS = 1 << 20  # virtual addresses are never 0
_FIRST_BESIDE = 1 << 60


@dataclass
class Piece:
    """A segment, its index, and how many of its bytes are written."""

    segment: Segment
    index: SegmentIndex
    written: int = 0


class Spool:
    """Bounded memory for reading ahead; one thread writes, others read under `lock`.

    The bound limits reading ahead, never a range that is being replayed: with `unbounded` set,
    segments past the bound go to disk.
    """

    def __init__(self, end_dtype: np.dtype, max_bytes: int) -> None:
        self.lock = threading.Condition()
        self.pieces: list[Piece] = []
        self.max_bytes = max_bytes
        self.unbounded = False
        self._end_dtype = end_dtype
        self._next = _FIRST_ADDRESS
        self._beside = _FIRST_BESIDE

    def bytes(self) -> int:
        """Memory and disk taken."""
        return sum(piece.segment.size for piece in self.pieces)

    def memory_bytes(self) -> int:
        """Memory taken."""
        return sum(p.segment.size for p in self.pieces if not p.segment.on_disk)

    def has_room(self, size: int = SEGMENT_BYTES) -> bool:
        """Whether another segment may be made now."""
        return self.unbounded or not self.pieces or self.bytes() + size <= self.max_bytes

    def add(self, size: int) -> Piece:
        """A new segment of at least `size` bytes behind the last one."""
        size = max(size, SEGMENT_BYTES)
        on_disk = bool(self.pieces) and self.memory_bytes() + size > self.max_bytes
        piece = Piece(Segment(self._next, size, on_disk=on_disk), SegmentIndex(self._end_dtype))
        self._next = piece.segment.end
        with self.lock:
            self.pieces.append(piece)
        return piece

    def beside(self, size: int) -> Segment:
        """A segment that holds no log, with addresses that no other has; for the thread that
        plans. The caller drops it."""
        segment = Segment(self._beside, size)
        self._beside = segment.end
        return segment

    def drop(self, is_done: Callable[[Piece], bool]) -> None:
        """Drop leading segments for which `is_done`, except the one being written."""
        with self.lock:
            while len(self.pieces) > 1 and is_done(self.pieces[0]):
                self.pieces.pop(0).segment.drop()
            self.lock.notify_all()

    def clear(self) -> None:
        """Drop everything."""
        with self.lock:
            for piece in self.pieces:
                piece.segment.drop()
            self.pieces.clear()
            self.lock.notify_all()
