"""Reads pgoutput from a replication stream: frames into segments, rows into their indexes."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from headrace.connect.images import make_image
from headrace.connect.kernels.memory import address_of
from headrace.connect.rows import NULL, RowKind
from headrace.connectors.postgresql.position import PostgresPosition
from headrace.connectors.postgresql.replication import pgoutput
from headrace.connectors.postgresql.replication.pgoutput_messages import (
    LogicalMessage,
    parse_message,
    parse_origin,
    parse_relation,
    parse_truncate,
    relations_ahead,
)
from headrace.connectors.postgresql.replication.pgoutput_state import (
    begin_segment,
    received,
    state_from,
)
from headrace.connectors.postgresql.replication.relations import Relations
from headrace.connectors.postgresql.replication.stream import Stream, server_error
from headrace.errors import HeadraceError
from headrace.spool.spool import Piece
from headrace.streaming.changes import row_kernel
from headrace.streaming.changes.row_writer import RareRecord, add_barrier, add_record
from headrace.streaming.reader import Publish, Received

# A reader that keeps the socket empty makes every send of the server a wake-up; letting the
# socket fill while there is a backlog more than doubles the server's rate.
BACKLOG_BYTES = 256 << 10
BACKLOG_PAUSE_SECONDS = 0.015
LARGEST_FRAME = (1 << 30) + (1 << 24)
_HEADER_BYTES = 5  # of a frame: its type and its length
_MESSAGE = 30  # where the pgoutput message stands in a frame of XLogData
_LSN = 6
_ORIGIN, _TRUNCATE = b"OT"
_OF_TRANSACTION = (pgoutput.XID, pgoutput.FINAL_LSN, row_kernel.ORDINAL, row_kernel.TRANSACTION_ROW)


@dataclass(frozen=True)
class ReaderOptions:
    """What makes records, and when the server is told. `changes`: bits of pgoutput's options word.
    `borders`: transactions have records where they begin and end. `status_seconds` is how often
    a status message is due. `keeps_truncates`: see PgoutputReader.truncates."""

    changes: int
    skip_truncate: bool
    status_seconds: float
    borders: bool = False
    keeps_truncates: bool = False


class PgoutputReader:
    """See headrace.streaming.reader.LogReader. Places are LSNs."""

    end_type = pgoutput.END
    transaction_image = (0, 0)

    def __init__(
        self,
        open_stream: Callable[[], Stream],
        relations: Relations,
        start: PostgresPosition,
        options: ReaderOptions,
    ) -> None:
        self.truncates: list[tuple[int, int, int]] = []
        """Position, ordinal and oid of tables that were truncated, for windows that are open. The
        receiver's thread appends, another one takes from the front."""
        self._open_stream = open_stream
        self._relations = relations
        self._options = options
        self._stream: Stream | None = None
        self._state = state_from(start, relations.borders() if options.borders else None)
        self._acknowledged = 0
        self._status_due, self._told = 0.0, -1
        self._asked = threading.Event()
        self._has_backlog = False
        self._origin: str | None = None
        self._asks_catalogue = False

    @property
    def received(self) -> Received:
        """See LogReader."""
        return received(self._state)

    @property
    def indexed(self) -> int:
        """See LogReader."""
        return int(self._state[pgoutput.POSITION])

    # -- the server -----------------------------------------------------------------------------

    def open(self) -> None:
        """See LogReader."""
        self._stream = self._open_stream()

    def close(self) -> None:
        """See LogReader."""
        if self._stream is not None:
            self._stream.close()
        self._relations.close()

    def acknowledge(self, place: int) -> None:
        """See LogReader."""
        self._acknowledged = max(self._acknowledged, place)

    def ask_position(self) -> None:
        """See LogReader: the server answers with a keep-alive."""
        self._asked.set()

    def answer(self) -> float:
        """See LogReader: a status message, when it is due or something is new."""
        state, now = self._state, time.monotonic()
        asked, acknowledged = self._asked.is_set(), self._acknowledged
        due = now >= self._status_due or bool(state[pgoutput.REPLY])
        if due or asked or acknowledged != self._told:
            self._told = acknowledged
            state[pgoutput.REPLY] = 0
            self._asked.clear()
            written = max(int(state[pgoutput.WAL_END]), acknowledged)
            assert self._stream is not None
            self._stream.send_status(written, acknowledged, reply=asked)
            self._status_due = now + self._options.status_seconds
        return max(self._status_due - now, 0)

    def read_into(self, target: memoryview, seconds: float) -> int:
        """See LogReader."""
        assert self._stream is not None
        if self._has_backlog:
            time.sleep(BACKLOG_PAUSE_SECONDS)
        self._stream.wait(seconds)
        size = self._stream.read_into(target)
        self._has_backlog = size > BACKLOG_BYTES
        return size

    # -- segments -------------------------------------------------------------------------------

    def unit_bytes(self, piece: Piece | None) -> int:
        """See LogReader: the length of the frame that is not complete yet."""
        if piece is None:
            return 0
        position = self.indexed
        if piece.written - position < _HEADER_BYTES:
            return _HEADER_BYTES
        length = _frame_bytes(piece, position)
        if length > LARGEST_FRAME:
            raise _broken(f"a message of {length - 1} bytes was announced")
        return length

    def begin_segment(self, _image: int, _size: int) -> None:
        """See LogReader; transactions have no image."""
        begin_segment(self._state)

    def index(self, piece: Piece, publish: Publish, seconds: float) -> bool:
        """See LogReader."""
        state = self._state
        while True:
            status = self._pass(piece)
            if status == pgoutput.KEY:
                self._relations.key_texts.render()
                continue
            if int(state[pgoutput.CHECKED]) == 2:
                raise HeadraceError(
                    "postgresql.position_mismatch",
                    "The transaction that was being read when the stream stopped does not hold "
                    "the same changes any more: the publication or the slot was changed",
                    "Restore the publication as it was, or start with a new checkpoint.",
                )
            publish(*self._indexed())
            if status == pgoutput.MORE:
                return True
            if status == pgoutput.ROWS_FULL:
                piece.index.grow()
                continue
            position = self.indexed
            frame = bytes(piece.segment.map[position : position + _frame_bytes(piece, position)])
            handler = self._HANDLERS.get(status)
            if handler is None:
                raise _broken(f"message {frame[30:31]!r} of {len(frame)} bytes is malformed")
            if not handler(self, piece, frame, seconds):
                return False
            publish(*self._indexed())
            state[pgoutput.POSITION] = position + len(frame)

    def _pass(self, piece: Piece) -> int:
        """One run of the compiled pass; returns why it stopped."""
        index, relations = piece.index, self._relations
        pgoutput.index_frames(
            piece.segment.base,
            piece.written,
            piece.segment.start,
            address_of(index.rows),
            len(index.rows),
            address_of(index.transactions),
            len(index.transactions),
            address_of(index.ends),
            len(index.ends),
            address_of(relations.oids.memory),
            relations.oids.mask,
            address_of(relations.table),
            self._options.changes,
            address_of(relations.key_texts.memory),
            address_of(self._state),
        )
        return int(self._state[pgoutput.STATUS])

    def _indexed(self) -> tuple[int, int, int, Received]:
        """What is to be published."""
        state = self._state
        rows, transactions = int(state[row_kernel.ROWS]), int(state[row_kernel.TRANSACTIONS])
        return rows, transactions, int(state[pgoutput.ENDS]), received(state)

    # -- messages that the compiled pass leaves to Python: whether each is done with -------------

    def _relation(self, piece: Piece, frame: bytes, seconds: float) -> bool:
        state, relations = self._state, self._relations
        message, xid = parse_relation(frame[_MESSAGE:]), int(state[pgoutput.XID])
        deadline = time.monotonic() + seconds
        while (added := relations.add(message, xid)) is None:
            if not self._asks_catalogue:
                ahead = relations_ahead(piece.segment.map, self.indexed, piece.written)
                relations.ask(ahead, xid)
                self._asks_catalogue = True
            if not relations.answered(max(deadline - time.monotonic(), 0)):
                return False
            self._asks_catalogue = False
        _index, replaced = added
        if self._origin is not None and state[pgoutput.ORIGIN_MAP]:
            self._map_origin(self._origin)
        if replaced:
            add_barrier(piece.index, self._state)
        if time.monotonic() >= self._status_due:
            self.answer()
        return True

    def _rare(self, piece: Piece, frame: bytes, _seconds: float) -> bool:
        kind = frame[_MESSAGE]
        if kind == _ORIGIN:
            lsn, self._origin = parse_origin(frame[_MESSAGE:])
            self._state[pgoutput.ORIGIN_LSN] = lsn
            self._map_origin(self._origin)
        elif kind == _TRUNCATE:
            self._truncate(piece, frame)
        else:
            self._message(piece, frame)
        return True

    def _refused(self, _piece: Piece, frame: bytes, _seconds: float) -> bool:
        raise server_error(frame)

    def _ended(self, _piece: Piece, _frame: bytes, _seconds: float) -> bool:
        raise HeadraceError(
            "postgresql.connection_lost",
            "The server ended the replication stream",
            "The stream continues by itself when the server is back.",
            retriable=True,
        )

    _HANDLERS: ClassVar[dict[int, Callable[[PgoutputReader, Piece, bytes, float], bool]]] = {
        pgoutput.RELATION: _relation,
        pgoutput.RARE: _rare,
        pgoutput.SERVER_ERROR: _refused,
        pgoutput.COPY_DONE: _ended,
    }
    """By the status with which the compiled pass stops."""

    def _map_origin(self, origin: str) -> None:
        """From here to the end of the transaction, rows are `origin`'s."""
        versions = self._relations.of_origin(origin)
        self._state[pgoutput.ORIGIN_MAP] = address_of(versions)
        self._state[pgoutput.ORIGIN_MAP_LENGTH] = len(versions)

    def _truncate(self, piece: Piece, frame: bytes) -> None:
        state, relations = self._state, self._relations
        if not state[pgoutput.OPEN]:
            raise _broken("a truncate outside a transaction")
        oids = parse_truncate(frame[_MESSAGE:])
        if self._options.keeps_truncates:
            place = (int(state[pgoutput.FINAL_LSN]), int(state[row_kernel.ORDINAL]))
            self.truncates += [(*place, oid) for oid in oids]
        if not self._options.skip_truncate:
            add_barrier(piece.index, self._state)
            for part, oid in enumerate(oids):
                relation = relations.truncated(oid)
                if relation is not None:
                    record = RareRecord(ord("t"), relation, _lsn(frame), len(frame), part=part)
                    self._add(piece, record, RowKind.TRANSACTION)
            add_barrier(piece.index, self._state)
        state[row_kernel.ORDINAL] += 1

    def _message(self, piece: Piece, frame: bytes) -> None:
        state = self._state
        message = parse_message(frame[_MESSAGE:])
        captured = self._relations.captures_message(message.prefix)
        if captured:
            # The image takes the place of the message, which is longer.
            image, start = make_image([message.prefix, message.content]), self.indexed + _MESSAGE
            piece.segment.map[start : start + len(image)] = image
            relation = self._relations.messages(transactional=message.transactional)
            address = piece.segment.start + start
            record = RareRecord(ord("m"), relation, _lsn(frame), len(image), address, 2)
            if message.transactional:
                self._add(piece, record, RowKind.TRANSACTION)
            else:
                self._add_outside(piece, message, replace(record, part=0))
        if message.transactional:
            state[row_kernel.ORDINAL] += 1
            return
        if not captured:
            state[row_kernel.LAST_COMMIT] = _lsn(frame)  # as for those that are captured
        state[pgoutput.COMPLETE] = max(int(state[pgoutput.COMPLETE]), message.lsn)

    def _add_outside(self, piece: Piece, message: LogicalMessage, record: RareRecord) -> None:
        """A row of its own transaction entry: no xid, the last known commit time."""
        state, index = self._state, piece.index
        kept = [int(state[word]) for word in _OF_TRANSACTION]
        state[row_kernel.LAST_COMMIT] = record.place  # Debezium takes the message for a commit
        state[pgoutput.XID], state[pgoutput.FINAL_LSN] = int(NULL), message.lsn
        state[row_kernel.ORDINAL] = 0
        state[row_kernel.TRANSACTION_ROW] = -1
        self._add(piece, record, RowKind.OUTSIDE)
        for word, value in zip(_OF_TRANSACTION, kept, strict=True):
            state[word] = value
        end = index.ends[int(state[pgoutput.ENDS])]
        end["rows"] = int(state[row_kernel.ROWS])
        end["end_lsn"] = message.lsn
        end["last_commit"] = int(state[row_kernel.LAST_COMMIT])
        end["commit_us"] = int(state[row_kernel.COMMIT_US])
        state[pgoutput.ENDS] += 1

    def _add(self, piece: Piece, record: RareRecord, kind: RowKind) -> None:
        """A row behind the ones there are."""
        state, index, relation = self._state, piece.index, record.relation
        if kind == RowKind.TRANSACTION and self._origin is not None and state[pgoutput.ORIGIN_MAP]:
            relation = self._relations.version_of_origin(relation, self._origin)
        index.make_room(*self._indexed()[:3])
        topic_hash = int(self._relations.table[relation][row_kernel.TOPIC_HASH])
        add_record(index, state, replace(record, relation=relation), kind, topic_hash)


def _frame_bytes(piece: Piece, position: int) -> int:
    """Length of the frame at `position`, its type byte included."""
    (length,) = struct.unpack_from("!I", piece.segment.map, position + 1)
    return int(length) + 1


def _lsn(frame: bytes) -> int:
    (lsn,) = struct.unpack_from("!Q", frame, _LSN)
    return int(lsn)


def _broken(what: str) -> HeadraceError:
    return HeadraceError(
        "postgresql.broken_message",
        f"The server sent something that is not the replication protocol: {what}",
        "Check what stands between headrace and PostgreSQL (a proxy?) and the server's version.",
    )
