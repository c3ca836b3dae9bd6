"""The thread that owns the replication stream: reads, indexes, answers the server.

It sends status messages on its own clock, also while the spool is full, Spark is busy or the
catalogue does not answer, because a silent reader is disconnected after wal_sender_timeout.
"""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable

import numpy as np

from headrace.connect.kernels.memory import address_of
from headrace.connect.rows import NULL, ROW, TRANSACTION
from headrace.connectors.postgresql.position import PostgresOffset
from headrace.connectors.postgresql.replication import pgoutput as decoder
from headrace.connectors.postgresql.replication.look_ahead import relations_ahead
from headrace.connectors.postgresql.replication.pgoutput_messages import (
    LogicalMessage,
    parse_message,
    parse_origin,
    parse_relation,
    parse_truncate,
)
from headrace.connectors.postgresql.replication.relation_registry import RelationRegistry
from headrace.connectors.postgresql.replication.stream import Stream, server_error
from headrace.connectors.transaction_counts import TransactionCounts
from headrace.errors import HeadraceError
from headrace.spool.backpressure import Backpressure
from headrace.spool.spool import Piece, Spool

# A reader that keeps the socket empty makes every send of the server a wake-up; letting the
# socket fill while there is a backlog more than doubles the server's rate.
BACKLOG_BYTES = 256 << 10
BACKLOG_PAUSE_SECONDS = 0.015
_LONGEST_WAIT_SECONDS = 0.25


class Receiver:
    """Reads one stream into one spool, from `start` on, until closed or failed.

    `error` is set once when it fails; `spool.lock` is notified whenever something is new.
    """

    def __init__(
        self,
        open_stream: Callable[[], Stream],
        spool: Spool,
        relations: RelationRegistry,
        start: PostgresOffset,
        *,
        options: int,
        skip_truncate: bool,
        status_seconds: float,
        acknowledged: int,
        orphaned: Callable[[], bool],
        counts: TransactionCounts | None = None,
    ) -> None:
        self.spool = spool
        self.relations = relations
        self.error: HeadraceError | None = None
        self.acknowledged = acknowledged  # 0: nothing is ever acknowledged
        self._backpressure = Backpressure(spool)
        self.truncates: list[tuple[int, int, int]] = []
        """Position, ordinal and oid of tables truncated, for windows that are open."""
        self.watches_truncates = False
        self._open_stream = open_stream
        self._options = options
        self._skip_truncate = skip_truncate
        self._status_seconds = status_seconds
        self._orphaned = orphaned
        self._counts = counts
        self._stream: Stream | None = None
        self._status_due, self._told = 0.0, -1
        self._stop = threading.Event()
        self._ask = threading.Event()
        self.state = np.zeros(decoder.STATE_WORDS, np.int64)
        state = self.state
        position = start.position
        state[decoder.LAST_COMMIT] = NULL if position.last_commit is None else position.last_commit
        state[decoder.COMMIT_US] = position.ts_usec or 0
        state[decoder.COMPLETE] = position.lsn_commit
        state[decoder.WAL_END] = position.lsn_commit
        state[decoder.TRANSACTION_ROW] = -1
        state[decoder.CHECKED] = 1
        if position.txn is not None and position.txn_index > 0:
            state[decoder.CHECK_FINAL] = position.txn
            state[decoder.CHECK_ORDINAL] = position.txn_index
            state[decoder.CHECK_LSN] = position.lsn
            state[decoder.CHECKED] = 0
        if counts is not None:
            begins, endings = relations.borders()
            state[decoder.BEGINS], state[decoder.ENDINGS] = begins + 1, endings + 1
        # The compiled pass moves positions before the rows behind them can be seen: others look
        # at this copy, made when the rows are published.
        self.published = state.copy()
        self._piece: Piece | None = None
        self._origin: str | None = None
        self._thread = threading.Thread(target=self._run, name="headrace-receiver", daemon=True)

    def start(self) -> None:
        """Begin to receive."""
        self._thread.start()

    @property
    def blocked(self) -> bool:
        """Whether it waits for room in the spool."""
        return self._backpressure.blocked

    def close(self) -> None:
        """Stop and close the stream; waits at most five seconds."""
        self._stop.set()
        with self.spool.lock:
            self.spool.lock.notify_all()
        if self._thread.ident is not None:
            self._thread.join(5)

    def connected(self) -> bool:
        """Whether the stream is open, as far as is known."""
        return self._thread.is_alive() and self.error is None

    def ask_position(self) -> None:
        """Ask the server for a keep-alive."""
        self._ask.set()

    def complete(self) -> int:
        """Position up to which everything was received. Call under `spool.lock`."""
        return int(self.published[decoder.COMPLETE])

    def is_open(self) -> bool:
        """Whether a transaction is being received. Call under `spool.lock`."""
        return bool(self.published[decoder.OPEN])

    def in_transaction(self, final_lsn: int) -> int:
        """Messages received of the open transaction that ends at `final_lsn`; 0: another one is
        open, or none. Call under `spool.lock`."""
        if not self.is_open() or int(self.published[decoder.FINAL_LSN]) != final_lsn:
            return 0
        return int(self.published[decoder.ORDINAL])

    def after_complete(self, offset: PostgresOffset) -> PostgresOffset:
        """`offset` moved to the boundary at `complete()`. Call under `spool.lock`."""
        seen = self.published
        last, time_us = int(seen[decoder.LAST_COMMIT]), int(seen[decoder.COMMIT_US])
        last_commit = None if last == NULL else last
        return offset.at(offset.position.at_boundary(self.complete(), last_commit, time_us or None))

    def _run(self) -> None:
        try:
            self._stream = self._open_stream()
            self._receive(self._stream)
        except HeadraceError as error:
            self.error = error
        except Exception as error:  # noqa: BLE001 - the thread must not end without a word
            self.error = HeadraceError(
                "postgresql.receiver_failed",
                f"Receiving the log failed: {type(error).__name__}: {error}",
                "Report this; the stream can be restarted from its checkpoint.",
                retriable=True,
            )
        finally:
            if self._stream is not None:
                self._stream.close()
            with self.spool.lock:
                self.spool.lock.notify_all()

    def _answer(self) -> float:
        """Tell the server what it asks for or what is due; seconds until the next status is."""
        if self._orphaned():
            # Nobody reads on: the slot is freed when the stream closes.
            raise HeadraceError(
                "spark.driver_gone", "The driver of this query ended", "Start the query again."
            )
        now = time.monotonic()
        asked = self._ask.is_set()
        acknowledged = self.acknowledged
        due = now >= self._status_due or bool(self.state[decoder.REPLY])
        if due or asked or acknowledged != self._told:
            self._told = acknowledged
            self.state[decoder.REPLY] = 0
            self._ask.clear()
            written = max(int(self.state[decoder.WAL_END]), acknowledged)
            assert self._stream is not None
            self._stream.send_status(written, acknowledged, reply=asked)
            self._status_due = now + self._status_seconds
        return max(self._status_due - now, 0)

    def _receive(self, stream: Stream) -> None:
        while not self._stop.is_set():
            rest = self._answer()
            target = self._room()
            if target is None:
                with self.spool.lock:
                    self.spool.lock.wait(0.05)
                continue
            stream.wait(min(_LONGEST_WAIT_SECONDS, rest))
            got = stream.read_into(target)
            if got == 0:
                continue
            assert self._piece is not None
            self._piece.written += got
            self._index()
            if got > BACKLOG_BYTES:
                time.sleep(BACKLOG_PAUSE_SECONDS)

    def _room(self) -> memoryview | None:
        """Where to read to; None while the spool is full."""
        piece = self._piece
        if piece is not None:
            free = piece.segment.capacity - piece.written
            wanted = self._frame_length() - (piece.written - int(self.state[decoder.POSITION]))
            if free > 0 and wanted <= free and free >= 4096:
                return self._view(piece)
        size = self._frame_length() + 4096
        return None if self._backpressure.waits(size) else self._view(self._roll(size))

    def _view(self, piece: Piece) -> memoryview:
        return memoryview(piece.segment.map)[piece.written : piece.segment.capacity]

    def _frame_length(self) -> int:
        """Length of the frame that is not complete yet, as far as it is known."""
        piece = self._piece
        if piece is None:
            return 0
        position = int(self.state[decoder.POSITION])
        if piece.written - position < 5:
            return 5
        (length,) = struct.unpack_from("!I", piece.segment.map, position + 1)
        if length > LARGEST_FRAME:
            raise _broken(f"a message of {length} bytes was announced")
        return int(length) + 1

    def _roll(self, size: int) -> Piece:
        """Go on in a new segment; the incomplete frame moves along."""
        old = self._piece
        piece = self.spool.add(size)
        if old is not None:
            position = int(self.state[decoder.POSITION])
            rest = old.segment.map[position : old.written]
            piece.segment.map[: len(rest)] = rest
            piece.written = len(rest)
            old.written = position
        self._piece = piece
        for word in (decoder.POSITION, decoder.ROWS, decoder.TRANSACTIONS, decoder.ENDS):
            self.state[word] = 0
        self.state[decoder.TRANSACTION_ROW] = -1
        return piece

    def _index(self) -> None:
        piece = self._piece
        assert piece is not None
        state, index = self.state, piece.index
        while True:
            decoder.index_frames(
                piece.segment.base,
                piece.written,
                piece.segment.start,
                address_of(index.rows),
                len(index.rows),
                address_of(index.transactions),
                len(index.transactions),
                address_of(index.ends),
                len(index.ends),
                address_of(self.relations.oids),
                len(self.relations.oids) // 2 - 1,
                address_of(self.relations.table),
                self._options,
                address_of(self.relations.key_texts.memory),
                address_of(state),
            )
            status = int(state[decoder.STATUS])
            if status == decoder.KEY:
                self.relations.key_texts.render()
                continue
            if int(state[decoder.CHECKED]) == 2:
                raise HeadraceError(
                    "postgresql.position_mismatch",
                    "The transaction that was being read when the stream stopped does not hold "
                    "the same changes any more: the publication or the slot was changed",
                    "Restore the publication as it was, or start with a new checkpoint.",
                )
            self._publish(piece)
            if status == decoder.MORE:
                return
            if status == decoder.ROWS_FULL:
                index.grow()
                continue
            position = int(state[decoder.POSITION])
            (length,) = struct.unpack_from("!I", piece.segment.map, position + 1)
            frame = bytes(piece.segment.map[position : position + length + 1])
            if status == decoder.RELATION:
                if not self._relation(piece, frame):
                    return
            elif status == decoder.RARE:
                self._rare(piece, position, frame)
            elif status == decoder.SERVER_ERROR:
                raise server_error(frame)
            elif status == decoder.COPY_DONE:
                raise HeadraceError(
                    "postgresql.connection_lost",
                    "The server ended the replication stream",
                    "The stream continues by itself when the server is back.",
                    retriable=True,
                )
            else:
                raise _broken(f"message {frame[30:31]!r} of {len(frame)} bytes is malformed")
            state[decoder.POSITION] = position + len(frame)

    def _publish(self, piece: Piece) -> None:
        if self._counts is not None:
            self._counts.know(self.relations.collections)
            self._counts.count(piece.index, piece.index.row_count, int(self.state[decoder.ROWS]))
        with self.spool.lock:
            index = piece.index
            index.row_count = int(self.state[decoder.ROWS])
            index.transaction_count = int(self.state[decoder.TRANSACTIONS])
            index.end_count = int(self.state[decoder.ENDS])
            self.published = self.state.copy()
            self.spool.lock.notify_all()

    def _relation(self, piece: Piece, frame: bytes) -> bool:
        """False when the stream is to be closed before the catalogue answered."""
        message, xid = parse_relation(frame[30:]), int(self.state[decoder.XID])
        while (added := self.relations.add(message, xid)) is None:
            position = int(self.state[decoder.POSITION])
            self.relations.ask(relations_ahead(piece.segment.map, position, piece.written), xid)
            rest = self._answer()
            while not self.relations.answered(min(_LONGEST_WAIT_SECONDS, rest)):
                if self._stop.is_set():
                    return False
                rest = self._answer()
        _index, replaced = added
        if self._origin is not None and self.state[decoder.ORIGIN_MAP]:
            self._map_origin(self._origin)
        if replaced:
            self._barrier(piece)
        if time.monotonic() >= self._status_due:
            self._answer()
        return True

    def _barrier(self, piece: Piece) -> None:
        with self.spool.lock:
            rows = int(self.state[decoder.ROWS])
            if rows not in piece.index.barriers:
                piece.index.barriers.append(rows)

    def _rare(self, piece: Piece, position: int, frame: bytes) -> None:
        (lsn,) = struct.unpack_from("!Q", frame, 6)
        if frame[30] == 79:
            self.state[decoder.ORIGIN_LSN], self._origin = parse_origin(frame[30:])
            self._map_origin(self._origin)
        elif frame[30] == 84:
            self._truncate(piece, frame, lsn)
        else:
            self._message(piece, position, parse_message(frame[30:]), lsn)

    def _map_origin(self, origin: str) -> None:
        """From here to the end of the transaction, rows are `origin`'s."""
        known = self.relations.of_origin(origin)
        self.state[decoder.ORIGIN_MAP] = address_of(known)
        self.state[decoder.ORIGIN_MAP_LENGTH] = len(known)

    def _truncate(self, piece: Piece, frame: bytes, lsn: int) -> None:
        state = self.state
        if not state[decoder.OPEN]:
            raise _broken("a truncate outside a transaction")
        if self.watches_truncates:
            place = (int(state[decoder.FINAL_LSN]), int(state[decoder.ORDINAL]))
            self.truncates += [(*place, oid) for oid in parse_truncate(frame[30:])]
        if not self._skip_truncate:
            self._barrier(piece)
            for part, oid in enumerate(parse_truncate(frame[30:])):
                known = decoder.find_relation(
                    address_of(self.relations.oids), len(self.relations.oids) // 2 - 1, oid
                )
                shape = self.relations.truncated(known) if known >= 0 else None
                if shape is not None:
                    self._add(piece, 116, 2, shape, lsn, part, len(frame), 0)
            self._barrier(piece)
        state[decoder.ORDINAL] += 1
        self._publish(piece)

    def _message(self, piece: Piece, position: int, message: LogicalMessage, lsn: int) -> None:
        state = self.state
        known = self.relations.messages(transactional=message.transactional)
        captured = known is not None and self.relations.captures_message(message.prefix)
        if captured and known is not None:
            image = _message_image(message)
            start = position + 30  # the image is shorter than the message it replaces
            piece.segment.map[start : start + len(image)] = image
            address = piece.segment.start + start
            if message.transactional:
                self._add(piece, 109, 2, known[0], lsn, 2, len(image), address)
            else:
                self._outside_transaction(piece, message, known[0], lsn, len(image), address)
        if message.transactional:
            state[decoder.ORDINAL] += 1
        elif not captured:
            state[decoder.LAST_COMMIT] = lsn  # as for those that are captured
            state[decoder.COMPLETE] = max(int(state[decoder.COMPLETE]), message.lsn)
        self._publish(piece)

    def _outside_transaction(
        self, piece: Piece, message: LogicalMessage, shape: int, lsn: int, size: int, address: int
    ) -> None:
        """A row of its own transaction entry: no xid, the last known commit time."""
        state, index = self.state, piece.index
        kept = [int(state[word]) for word in _OF_TRANSACTION]
        state[decoder.LAST_COMMIT] = lsn  # Debezium takes the message for a commit
        state[decoder.XID], state[decoder.FINAL_LSN] = int(NULL), message.lsn
        state[decoder.ORDINAL] = 0
        state[decoder.TRANSACTION_ROW] = -1
        self._add(piece, 109, 1, shape, lsn, 0, size, address)
        for word, value in zip(_OF_TRANSACTION, kept, strict=True):
            state[word] = value
        end = index.ends[int(state[decoder.ENDS])]
        end["rows"] = int(state[decoder.ROWS])
        end["end_lsn"] = message.lsn
        end["last_commit"] = int(state[decoder.LAST_COMMIT])
        end["commit_us"] = int(state[decoder.COMMIT_US])
        state[decoder.ENDS] += 1
        state[decoder.COMPLETE] = max(int(state[decoder.COMPLETE]), message.lsn)

    def _add(
        self,
        piece: Piece,
        operation: int,
        kind: int,
        relation: int,
        lsn: int,
        part: int,
        size: int,
        image: int,
    ) -> None:
        state, index = self.state, piece.index
        if kind == 2 and self._origin is not None and state[decoder.ORIGIN_MAP]:
            relation = self.relations.version_of_origin(relation, self._origin)
        self._publish(piece)
        index.grow()
        decoder.open_transaction(address_of(index.transactions), address_of(state))
        row = np.zeros(1, ROW)
        row["new"] = image
        row["position"] = state[decoder.FINAL_LSN]
        row["lsn"] = lsn
        row["ordinal"] = state[decoder.ORDINAL]
        row["part"] = part
        row["hash"] = np.int64(self.relations.table[relation][decoder.TOPIC_HASH]).view(np.uint64)
        row["size"] = size
        row["transaction"] = state[decoder.TRANSACTION_ROW]
        row["relation"] = relation
        row["operation"] = operation
        row["kind"] = kind
        index.rows[int(state[decoder.ROWS])] = row[0]
        state[decoder.ROWS] += 1
        if kind == 2:
            state[decoder.TRANSACTION_HAS_ROWS] = 1


LARGEST_FRAME = (1 << 30) + (1 << 24)
_OF_TRANSACTION = (decoder.XID, decoder.FINAL_LSN, decoder.ORDINAL, decoder.TRANSACTION_ROW)


def _message_image(message: LogicalMessage) -> bytes:
    prefix = message.prefix.encode()
    return (
        struct.pack("!hcI", 2, b"t", len(prefix))
        + prefix
        + struct.pack("!cI", b"t", len(message.content))
        + message.content
    )


def _broken(what: str) -> HeadraceError:
    return HeadraceError(
        "postgresql.broken_message",
        f"The server sent something that is not the replication protocol: {what}",
        "Check what stands between headrace and PostgreSQL (a proxy?) and the server's version.",
    )


assert TRANSACTION.itemsize == 64
