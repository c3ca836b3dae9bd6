"""The thread that owns a log: it reads the log into the spool, and answers the database.

It answers on the reader's schedule, also while the spool is full, Spark is busy or the catalogue
does not answer: a database disconnects a silent reader.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headrace.config.secret import without_passwords
from headrace.errors import HeadraceError
from headrace.spool.backpressure import Backpressure
from headrace.spool.spool import Piece, Spool
from headrace.streaming.counts import TransactionCounts
from headrace.streaming.log_reader import LogReader, Received

_LONGEST_WAIT_SECONDS = 0.25
_MIN_READ_BYTES = 4096
"""Least free bytes of a segment; with fewer, the next segment begins."""


@dataclass(frozen=True)
class StreamState:
    """The state of a stream: whether it is connected, how many row changes made no record, how many
    bytes of log were received and not delivered, the limit of these, the commit time (microseconds
    since 1970) of the oldest change that was not acknowledged to the database (None: no such
    change), and for how many seconds the database has not answered."""

    connected: bool
    filtered: int
    queued_bytes: int
    largest_queue_bytes: int
    oldest_unacknowledged_us: int | None
    silent_seconds: float = 0.0


class Receiver:
    """Reads one log into one spool until it is closed or fails.

    `received` is how far the log was received; `error` is set once, when receiving fails.
    `spool.lock` is notified whenever either changes; read `received` under it, together with the
    spool's pieces.
    """

    def __init__(
        self,
        reader: LogReader,
        spool: Spool,
        *,
        orphaned: Callable[[], bool],
        counts: TransactionCounts | None = None,
        collections: Sequence[str] = (),
    ) -> None:
        """`orphaned` returns whether the query is gone. `counts` counts the rows of transactions by
        `collections`, the names of the relation versions, which only grow."""
        self.error: HeadraceError | None = None
        self.received: Received = reader.received
        self._reader = reader
        self._spool = spool
        self._backpressure = Backpressure(spool)
        self._orphaned = orphaned
        self._counts = counts
        self._collections = collections
        self._piece: Piece | None = None
        self._awaits_since: float | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headrace-receiver", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    @property
    def blocked(self) -> bool:
        """Whether the receiver waits for room in the spool."""
        return self._backpressure.blocked

    def connected(self) -> bool:
        """Return whether the log is open, as far as is known."""
        return self._thread.is_alive() and self.error is None

    def silent_seconds(self) -> float:
        """Return for how many seconds the database has not answered; 0: it has, or nothing is read
        because the spool is full."""
        since = self._awaits_since
        if since is None:
            return 0.0
        return max(time.monotonic() - since, self._reader.unanswered_seconds())

    def close(self) -> None:
        """Stop and close the reader; waits at most five seconds."""
        self._stop.set()
        self._reader.ask_position()  # ends its wait
        with self._spool.lock:
            self._spool.lock.notify_all()
        if self._thread.ident is not None:
            self._thread.join(5)

    def _run(self) -> None:
        try:
            self._awaits_since = time.monotonic()
            self._reader.open()
            self._receive()
        except HeadraceError as error:
            self.error = error
        except Exception as error:  # noqa: BLE001 - the thread must not end without a word
            kind = type(error).__name__
            self.error = self._reader.translate(error) or HeadraceError(
                "stream.receiver_failed",
                f"Receiving the log failed: {kind}: {without_passwords(str(error))}",
                "Report this; the stream can be restarted from its checkpoint.",
                retriable=True,
            )
        finally:
            self._reader.close()
            with self._spool.lock:
                self._spool.lock.notify_all()

    def _receive(self) -> None:
        indexed = True
        while not self._stop.is_set():
            self._check_orphaned()
            seconds = min(_LONGEST_WAIT_SECONDS, self._reader.answer())
            if not indexed and self._piece is not None:
                publish = functools.partial(self._publish, self._piece)
                indexed = self._reader.index(self._piece, publish, seconds)
                continue
            target = self._room()
            self._awaits_since = None if target is None else time.monotonic()
            if target is None:
                with self._spool.lock:
                    self._spool.lock.wait(0.05)
                continue
            size = self._reader.read_into(target, seconds)
            if size and self._piece is not None:
                self._piece.written += size
                indexed = False

    def _check_orphaned(self) -> None:
        if self._orphaned():
            # After the query is gone, the database must not keep log for this reader, which is
            # closed.
            raise HeadraceError(
                "spark.driver_gone", "The driver of this query ended", "Start the query again."
            )

    def _room(self) -> memoryview | None:
        """Return the free memory to read into; None while the spool is full."""
        piece = self._piece
        unit = self._reader.unit_bytes(piece)
        if piece is not None:
            free = piece.segment.capacity - piece.written
            lacking = unit - (piece.written - self._reader.indexed)
            if free >= max(lacking, _MIN_READ_BYTES):
                return _unwritten(piece)
        size = unit + self._reader.transaction_image[1] + _MIN_READ_BYTES
        return None if self._backpressure.waits(size) else _unwritten(self._roll(size))

    def _roll(self, size: int) -> Piece:
        """Begin a new segment and return its piece. The bytes that are not indexed are moved to it;
        the open transaction's image is copied, because a range may need this segment without the
        former."""
        old, image = self._piece, b""
        piece = self._spool.add(size)
        if old is not None:
            address, length = self._reader.transaction_image
            first = address - old.segment.start
            image = old.segment.map[first : first + length] if length else b""
            moved = image + old.segment.map[self._reader.indexed : old.written]
            piece.segment.map[: len(moved)] = moved
            piece.written = len(moved)
            old.written = self._reader.indexed
        self._piece = piece
        self._reader.begin_segment(piece.segment.start if image else 0, len(image))
        return piece

    def _publish(
        self, piece: Piece, rows: int, transactions: int, ends: int, received: Received
    ) -> None:
        index = piece.index
        if self._counts is not None:
            self._counts.know(self._collections)
            self._counts.count(index, index.row_count, rows)
        with self._spool.lock:
            index.row_count, index.transaction_count, index.end_count = rows, transactions, ends
            self.received = received
            self._spool.lock.notify_all()


def _unwritten(piece: Piece) -> memoryview:
    return memoryview(piece.segment.map)[piece.written : piece.segment.capacity]
