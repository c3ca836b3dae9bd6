"""The contract of a database's log for streaming: a reader, called by the receiver's thread.

Places in the log are numbers, see headrace.offsets.position.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from headrace.errors import HeadraceError
from headrace.offsets.position import Position
from headrace.spool.spool import Piece


@dataclass(frozen=True)
class Received:
    """The extent of the received log at one moment.

    `end` is the entry of a segment's `ends` for a transaction that ended at `complete`: positions
    between transactions are made of it. `transaction` is the place of the transaction that is being
    received, of which `messages` were received; None: no transaction is open. `head` is the end of
    the log as last reported by the database. `filtered` counts the changes that made no record
    since the reader was opened.
    """

    complete: int
    end: np.void
    head: int
    transaction: int | None = None
    messages: int = 0
    filtered: int = 0

    def reaches(self, position: Position) -> bool:
        """Whether all records that are delivered at `position` were received."""
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

    Only the receiver's thread calls it, except where a method says otherwise. Bytes are the
    reader's raw material for rows: frames of a socket, documents of a cursor, images of the rows of
    a query. A reader of a log without commits buffers open transactions, and indexes a transaction
    when it ends. Methods raise HeadraceError, or an error of the driver that `translate`
    translates; a retriable one means that another reader may continue from the position that was
    delivered.

    A reader derives from this class and overrides what its database needs, or from
    `segment_reader.SegmentReader`, which manages segments and indexes.
    """

    @property
    @abstractmethod
    def end_type(self) -> np.dtype:
        """The dtype of a segment's `ends`; its first field, `rows` (int64), is the number of rows
        of the segment before the end of a transaction."""
        ...

    @property
    @abstractmethod
    def received(self) -> Received:
        """The extent of the received log, published or not."""
        ...

    @property
    @abstractmethod
    def indexed(self) -> int:
        """Bytes of the present segment that are indexed; the bytes after them are moved to the next
        segment."""
        ...

    def open(self) -> None:
        """Connect, and request the log. Called once, before any other method except `received`; a
        later poll raises its errors."""
        return

    def answer(self) -> float:
        """Send the database what it requested or what is due: a keep-alive, the acknowledged place.
        Returns the seconds until it must be called again."""
        return math.inf

    @abstractmethod
    def unit_bytes(self, piece: Piece | None) -> int:
        """Return the size of the unit that is read next and must be in one segment (the frame or
        document after `indexed`), as far as it is known; 0: unknown."""
        ...

    @property
    def transaction_image(self) -> tuple[int, int]:
        """Virtual address and bytes of the image of the open transaction; (0, 0): it has none, or
        no transaction is open."""
        return 0, 0

    @abstractmethod
    def begin_segment(self, image: int, size: int) -> None:
        """Begin another segment. It begins with a copy of the open transaction's image, `size`
        bytes (0: no open transaction) at the virtual address `image`, to which the transaction's
        rows in this segment refer; the bytes that were not indexed follow."""
        ...

    @abstractmethod
    def read_into(self, target: memoryview, seconds: float) -> int:
        """Read log into `target`, as much as it holds and the log has; return its bytes, 0 if no
        log came within `seconds`. A unit may be divided between two calls."""
        ...

    @abstractmethod
    def index(self, piece: Piece, publish: Publish, seconds: float) -> bool:
        """Make rows of the complete units in `piece`, and publish them. False: information is
        missing (the catalogue has not answered after `seconds`), and it must be called again."""
        ...

    def acknowledge(self, place: int) -> None:  # noqa: ARG002
        """Allow the database to release its log up to `place`: it is sent with an answer. Any
        thread. Databases that release their log by themselves do not need it."""
        return

    def ask_position(self) -> None:
        """Ask the database for the end of its log, if reading does not report it: a `read_into`
        that waits for the log returns at once. Any thread."""
        return

    def unanswered_seconds(self) -> float:
        """Return how long the database has not answered a request of this reader; 0: it has, or
        each `read_into` waits for an answer. Any thread."""
        return 0.0

    def judged(self, error: HeadraceError, place: int) -> HeadraceError:  # noqa: ARG002
        """Return the error of this reader, after everything up to `place` was handed out (rows
        that were received after it may not have been); not retriable if continuing from there would
        lose changes. Any thread."""
        return error

    def translate(self, error: Exception) -> HeadraceError | None:  # noqa: ARG002
        """Return an error of the driver that a method of this reader raised as HeadraceError; None:
        it is not the driver's. Readers whose methods raise only HeadraceError do not override
        it."""
        return None

    def close(self) -> None:
        """Disconnect; never raises."""
        return
