"""The contract of a database's log for streaming: a reader, which the receiver's thread drives.

Places in the log are numbers, see headrace.offsets.position.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from headrace.errors import HeadraceError
from headrace.offsets.position import Position
from headrace.spool.spool import Piece


@dataclass(frozen=True)
class Received:
    """How far a log was received at one moment.

    `end` is the entry of a segment's `ends` that a transaction would have that ended at `complete`:
    positions between transactions are made of it. `transaction` is the place of the transaction
    that is being received, of which `messages` have come; None: no transaction is open. `head` is
    where the log ended when the database last told. `filtered` counts the changes that made no
    record since the reader was opened.
    """

    complete: int
    end: np.void
    head: int
    transaction: int | None = None
    messages: int = 0
    filtered: int = 0

    def reaches(self, position: Position) -> bool:
        """Whether everything came that is delivered at `position`."""
        if position.transaction is None:
            return self.complete >= position.committed
        if self.complete > position.transaction:
            return True
        return self.transaction == position.transaction and self.messages > position.messages


class Publish(Protocol):
    """Shows other threads how many rows, transactions and ends a segment's index has, and how far
    the log was received with them."""

    def __call__(self, rows: int, transactions: int, ends: int, received: Received, /) -> None: ...


class LogReader(Protocol):
    """A database's log from one position on: bytes into segments, rows into their indexes.

    The receiver's thread calls it, and nobody else but where it says so. Bytes are what the reader
    needs to make rows of: frames of a socket, documents of a cursor, images of the rows of a query.
    A database whose log has no commits buffers what is open, and indexes a transaction when it
    ends. Methods raise HeadraceError, or what `translate` makes one of; a retriable one means that
    another reader may go on from the position that was delivered.

    A reader derives from this class and leaves out what its database does not need, or from
    `segment_reader.SegmentReader`, which does whatever concerns segments and indexes.
    """

    @property
    def end_type(self) -> np.dtype:
        """The dtype of a segment's `ends`; its first field, `rows` (int64), says how many rows of
        the segment come before the end of a transaction."""
        ...

    @property
    def received(self) -> Received:
        """How far the log was received, whether others may see it yet or not."""
        ...

    @property
    def indexed(self) -> int:
        """Bytes of the present segment that are indexed; those after them move along into the
        next segment."""
        ...

    def open(self) -> None:
        """Connect, and ask for the log. Called once, before anything but `received`."""
        return

    def answer(self) -> float:
        """Send the database what it asked for or what is due: a sign of life, the place that was
        acknowledged. Returns the seconds until it must be called again."""
        return math.inf

    def unit_bytes(self, piece: Piece | None) -> int:
        """Size of what is read next and must be in one segment (the frame or document after
        `indexed`), as far as it is known; 0: nothing is."""
        ...

    @property
    def transaction_image(self) -> tuple[int, int]:
        """Virtual address and bytes of the image of the transaction that is open; (0, 0): it has
        none, or no transaction is open."""
        return 0, 0

    def begin_segment(self, image: int, size: int) -> None:
        """From now on another segment is written. It begins with a copy of the open transaction's
        image, `size` bytes (0: no open transaction) at the virtual address `image`, to which the
        transaction's rows in this segment refer; then follow the bytes that were not indexed."""
        ...

    def read_into(self, target: memoryview, seconds: float) -> int:
        """Bytes of log that came, after `seconds` at most; 0: none did."""
        ...

    def index(self, piece: Piece, publish: Publish, seconds: float) -> bool:
        """Make rows of whatever is complete in `piece`, and publish them. False: something is
        lacking (the catalogue has not answered after `seconds`), and it is to be called again."""
        ...

    def acknowledge(self, place: int) -> None:  # noqa: ARG002
        """Everything up to `place` may be forgotten: the database hears of it with an answer. Any
        thread. A database that forgets by itself need not hear of it."""
        return

    def ask_position(self) -> None:
        """Have the database asked where its log ends, where reading does not tell: `read_into` that
        waits for the log returns at once. Any thread."""
        return

    def judged(self, error: HeadraceError, place: int) -> HeadraceError:  # noqa: ARG002
        """An error of this reader, after everything up to `place` was handed out: where going on
        from there would leave something out, one that is not retriable. Any thread."""
        return error

    def translate(self, error: Exception) -> HeadraceError | None:  # noqa: ARG002
        """What a method of this reader raised that is an error of the driver, in our words; None:
        it is not the driver's. Readers whose methods raise HeadraceError alone leave it out."""
        return None

    def close(self) -> None:
        """Disconnect; never raises."""
        return
