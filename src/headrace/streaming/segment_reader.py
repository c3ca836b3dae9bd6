"""A reader of a log whose bytes a kernel indexes: its segments, rows and transactions."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from headrace.connect.kernels.loading import load
from headrace.connect.kernels.memory import address_of
from headrace.connect.rows import NULL, low_half
from headrace.errors import HeadraceError
from headrace.offsets.position import Position
from headrace.spool.index import SegmentIndex
from headrace.spool.spool import Piece
from headrace.streaming.changes.kernels import row_kernel
from headrace.streaming.changes.kernels.row_kernel import FULL, KEY, MORE, OWN_WORDS
from headrace.streaming.log_reader import LogReader, Publish, Received
from headrace.streaming.relations import RelationVersions

_HALF = (1 << 64) - 1

Tables = tuple[int, int, int, int, int, int]
"""The address of each table of an index and the number of entries it has room for: rows,
transactions, ends."""


class SegmentReader(LogReader):
    """A log that consists of consecutive units of bytes (frames, documents), each of which begins
    with a `head` whose first number is its size, or with `head_bytes` from which `unit_size` reads
    it.

    A connector derives from this class: `read_into` reads the bytes, `kernel` is one pass over the
    units of a segment, and `stopped` does the work that the kernel leaves to Python. `state`
    (int64) begins with the words of `row_kernel`, `versions` are the collections that rows refer
    to.
    """

    end_type = row_kernel.END
    head: ClassVar[struct.Struct]
    kernel: ClassVar[Callable[..., int] | None] = None
    """The kernel that indexes whole units from state[INDEXED] on. Its arguments are the address of
    a segment, the number of bytes written to it and its virtual address; `tables`; the address of
    the table of versions; the options; the addresses of the scratch memory of keys and of `state`:
    all of them int64. It returns why it stopped. A reader whose kernel has other arguments
    overrides `run`."""

    def __init__(
        self,
        versions: RelationVersions,
        start: Position,
        words: int = OWN_WORDS,
        options: int = 0,
    ) -> None:
        """Begin at `start`, with so many words of state, and `options` of `row_kernel.add_change`.
        Inside a transaction, the log is read again from the transaction's beginning. Loads the
        kernel."""
        self.versions = versions
        self._row_options = options
        self.state = state = np.zeros(words, np.int64)
        self.load_kernels()
        state[row_kernel.LAST_COMMIT] = NULL
        state[row_kernel.TRANSACTION_ROW] = -1
        self._put(row_kernel.COMPLETE_HIGH, start.committed)
        self.ends_at(start.committed)

    def load_kernels(self) -> None:
        """Load the kernels of the log; `state` is zero."""
        if self.kernel is not None:
            load(self.kernel)

    def run(self, piece: Piece) -> int:
        """Index the whole units of `piece` from `indexed` on. Returns why the kernel stopped: a
        status of `row_kernel`, or one of its own."""
        assert self.kernel is not None
        return self.kernel(
            piece.segment.base,
            piece.written,
            piece.segment.start,
            *self.tables(piece.index),
            address_of(self.versions.table),
            self._row_options,
            address_of(self.versions.key_texts.memory),
            address_of(self.state),
        )

    @property
    def head_bytes(self) -> int:
        """Bytes of a unit that contain its size."""
        return self.head.size

    def unit_size(self, data: mmap.mmap, at: int) -> int:
        """Return the bytes of the unit that begins at `at`; `head_bytes` of it were read."""
        return int(self.head.unpack_from(data, at)[0])

    def stopped(self, status: int, piece: Piece, seconds: float) -> bool:  # noqa: ARG002
        """Do the work that the kernel leaves to Python, so that it can continue after the unit at
        `indexed`. False: information is missing after `seconds`, and it must be called again.
        Raises HeadraceError, for BROKEN too; a kernel that leaves nothing to Python stops only for
        that.
        """
        raise HeadraceError(
            "streaming.log_broken",
            f"The log after the place {self.received.complete:x} cannot be read: "
            f"the unit at byte {self.indexed} of its segment is malformed",
            "Repair the log, or start with a new checkpoint.",
        )

    # -- arguments of kernels --------------------------------------------------------------------

    @staticmethod
    def tables(index: SegmentIndex) -> Tables:
        """Return the tables that rows are written to."""
        rows, transactions, ends = index.rows, index.transactions, index.ends
        return (
            address_of(rows),
            len(rows),
            address_of(transactions),
            len(transactions),
            address_of(ends),
            len(ends),
        )

    def ends_at(self, place: int) -> None:
        """Note that the database reports `place` as the end of its log."""
        self._put(row_kernel.HEAD_HIGH, place)

    def has_borders(self, begin: int, end: int) -> None:
        """Give transactions records at their beginning and end, of these relation versions."""
        self.state[row_kernel.BEGINS], self.state[row_kernel.ENDINGS] = begin + 1, end + 1

    def _put(self, word: int, place: int) -> None:
        self.state[word], self.state[word + 1] = low_half(place >> 64), low_half(place)

    def _place(self, word: int) -> int:
        return (int(self.state[word]) & _HALF) << 64 | int(self.state[word + 1]) & _HALF

    # -- see LogReader --------------------------------------------------------------------------

    @property
    def received(self) -> Received:
        """See LogReader."""
        state = self.state
        end: np.void = np.zeros(1, row_kernel.END)[0]
        end["position_high"] = state[row_kernel.COMPLETE_HIGH]
        end["position"] = state[row_kernel.COMPLETE]
        end["last_commit"] = state[row_kernel.LAST_COMMIT]
        end["commit_us"] = state[row_kernel.COMMIT_US]
        is_open = bool(state[row_kernel.OPEN])
        return Received(
            complete=self._place(row_kernel.COMPLETE_HIGH),
            end=end,
            head=self._place(row_kernel.HEAD_HIGH),
            transaction=self._place(row_kernel.POSITION_HIGH) if is_open else None,
            messages=int(state[row_kernel.ORDINAL]) if is_open else 0,
            filtered=int(state[row_kernel.FILTERED]),
        )

    @property
    def indexed(self) -> int:
        """See LogReader."""
        return int(self.state[row_kernel.INDEXED])

    @property
    def transaction_image(self) -> tuple[int, int]:
        """See LogReader."""
        state = self.state
        if not state[row_kernel.OPEN]:
            return 0, 0
        image, size = row_kernel.TRANSACTION_IMAGE, row_kernel.TRANSACTION_IMAGE_SIZE
        return int(state[image]), int(state[size])

    def unit_bytes(self, piece: Piece | None) -> int:
        """See LogReader."""
        if piece is None or piece.written - self.indexed < self.head_bytes:
            return self.head_bytes
        return self.unit_size(piece.segment.map, self.indexed)

    def begin_segment(self, image: int, size: int) -> None:
        """See LogReader."""
        state = self.state
        for word in (row_kernel.ROWS, row_kernel.TRANSACTIONS, row_kernel.ENDS):
            state[word] = 0
        state[row_kernel.TRANSACTION_ROW] = -1
        state[row_kernel.INDEXED], state[row_kernel.TRANSACTION_IMAGE] = size, image

    def index(self, piece: Piece, publish: Publish, seconds: float) -> bool:
        """See LogReader."""
        while True:
            status = self.run(piece)
            if status == KEY:
                self.versions.key_texts.render()
                continue
            self._publish(publish)
            if status == MORE:
                return True
            if status == FULL:
                piece.index.grow()
                continue
            position = self.indexed
            size = self.unit_size(piece.segment.map, position)
            if not self.stopped(status, piece, seconds):
                return False
            self._publish(publish)
            self.state[row_kernel.INDEXED] = position + size

    def _publish(self, publish: Publish) -> None:
        rows, transactions, ends = self.entries()
        publish(rows, transactions, ends, self.received)

    def entries(self) -> tuple[int, int, int]:
        """Return the number of rows, transactions and ends that the segment's index has."""
        state = self.state
        return (
            int(state[row_kernel.ROWS]),
            int(state[row_kernel.TRANSACTIONS]),
            int(state[row_kernel.ENDS]),
        )
