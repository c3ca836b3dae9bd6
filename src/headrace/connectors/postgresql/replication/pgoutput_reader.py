"""Reads pgoutput from a replication stream: writes frames into segments, and rows into their
indexes."""

from __future__ import annotations

import mmap
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from headrace.connect.deadline import Deadline
from headrace.connect.images import make_image
from headrace.connect.kernels.memory import address_of
from headrace.connect.rows import NULL, RowKind
from headrace.connectors.postgresql.position import PostgresPosition
from headrace.connectors.postgresql.replication import pgoutput
from headrace.connectors.postgresql.replication.pgoutput_messages import (
    LogicalMessage,
    broken,
    parse_message,
    parse_origin,
    parse_relation,
    parse_truncate,
    relations_ahead,
)
from headrace.connectors.postgresql.replication.relations import Relations
from headrace.connectors.postgresql.replication.stream import (
    Stream,
    connection_lost,
    server_error,
)
from headrace.errors import HeadraceError
from headrace.spool.spool import Piece
from headrace.streaming.changes.kernels import row_kernel
from headrace.streaming.changes.kernels.transaction_kernel import add_end
from headrace.streaming.changes.row_writer import RareRecord, add_barrier, add_record
from headrace.streaming.segment_reader import SegmentReader

# A reader that keeps the socket empty makes the server wake up for every send; letting the socket
# fill during a backlog more than doubles the server's rate.
BACKLOG_BYTES = 256 << 10
BACKLOG_PAUSE_SECONDS = 0.015
LARGEST_FRAME = (1 << 30) + (1 << 24)
_MESSAGE = 30  # offset of the pgoutput message in a frame of XLogData
_LSN = 6
_ORIGIN, _TRUNCATE = b"OT"
_OF_TRANSACTION = (pgoutput.XID, pgoutput.FINAL_LSN, row_kernel.ORDINAL, row_kernel.TRANSACTION_ROW)


@dataclass(frozen=True)
class PgoutputReaderOptions:
    """Options of a reader: the changes that make records, and the interval of status messages.
    `changes`: bits of pgoutput's options word. `border_topic` is the topic of the records of
    transactions' beginnings and ends; empty: no such records. `status_seconds` is the interval of
    status messages. `keeps_truncates`: see PgoutputReader.truncates."""

    changes: int
    skip_truncate: bool
    status_seconds: float
    border_topic: str = ""
    keeps_truncates: bool = False


class PgoutputReader(SegmentReader):
    """See headrace.streaming.log_reader.LogReader. Places are LSNs."""

    head_bytes = 5  # of a frame: its type and its length

    def __init__(
        self,
        open_stream: Callable[[], Stream],
        relations: Relations,
        start: PostgresPosition,
        options: PgoutputReaderOptions,
    ) -> None:
        super().__init__(relations, start, pgoutput.STATE_WORDS)
        self.truncates: list[tuple[int, int, int]] = []
        """Position, ordinal and oid of truncated tables, for open windows. The receiver's thread
        appends, another thread removes from the front."""
        self._open_stream = open_stream
        self._relations = relations
        self._options = options
        self._stream: Stream | None = None
        self._acknowledged = 0
        self._status_due, self._reported = Deadline(0), -1
        self._position_asked = threading.Event()
        self._unanswered_since: float | None = None
        self._has_backlog = False
        self._origin: str | None = None
        self._asks_catalogue = False
        if options.border_topic:
            self.has_borders(*relations.borders(options.border_topic))
        self._expect(start)

    def _expect(self, start: PostgresPosition) -> None:
        """Initialize the state of the records from `start` on with earlier facts. If `start` is
        inside of a transaction, the server sends it again from its BEGIN, and the LSN of the last
        delivered message is compared."""
        state = self.state
        state[row_kernel.LAST_COMMIT] = NULL if start.last_commit is None else start.last_commit
        state[row_kernel.COMMIT_US] = start.ts_usec or 0
        state[pgoutput.CHECKED] = 1
        if start.txn is not None and start.txn_index > 0:
            state[pgoutput.CHECK_FINAL] = start.txn
            state[pgoutput.CHECK_ORDINAL] = start.txn_index
            state[pgoutput.CHECK_LSN] = start.lsn
            state[pgoutput.CHECKED] = 0

    # -- the server -----------------------------------------------------------------------------

    def open(self) -> None:
        """See LogReader."""
        self._stream = self._open_stream()

    def close(self) -> None:
        """See LogReader."""
        if self._stream is not None:
            self._stream.close()
        self._relations.tables.close()

    def acknowledge(self, place: int) -> None:
        """See LogReader."""
        self._acknowledged = max(self._acknowledged, place)

    def ask_position(self) -> None:
        """See LogReader: requests a keep-alive of the server."""
        self._position_asked.set()
        stream = self._stream
        if stream is not None:
            stream.wake()

    def answer(self) -> float:
        """See LogReader: sends a status message, if it is due or something is new. The server
        answers one that is due."""
        state, acknowledged = self.state, self._acknowledged
        is_late = self._status_due.is_over
        reply = self._position_asked.is_set() or is_late
        due = is_late or bool(state[pgoutput.REPLY])
        if due or reply or acknowledged != self._reported:
            self._reported = acknowledged
            state[pgoutput.REPLY] = 0
            self._position_asked.clear()
            written = max(int(state[pgoutput.WAL_END]), acknowledged)
            assert self._stream is not None
            self._stream.send_status(written, acknowledged, reply=reply)
            if reply and self._unanswered_since is None:
                self._unanswered_since = time.monotonic()
            self._status_due.restart(self._options.status_seconds)
        return self._status_due.remaining()

    def read_into(self, target: memoryview, seconds: float) -> int:
        """See LogReader."""
        assert self._stream is not None
        if self._has_backlog:
            time.sleep(BACKLOG_PAUSE_SECONDS)
        self._stream.wait(seconds)
        size = self._stream.read_into(target)
        if size:
            self._unanswered_since = None
        self._has_backlog = size > BACKLOG_BYTES
        return size

    def unanswered_seconds(self) -> float:
        """See LogReader."""
        since = self._unanswered_since
        return 0.0 if since is None else time.monotonic() - since

    # -- segments -------------------------------------------------------------------------------

    def unit_size(self, data: mmap.mmap, at: int) -> int:
        """Bytes of a frame, its type byte included."""
        (length,) = struct.unpack_from("!I", data, at + 1)
        if length >= LARGEST_FRAME:
            raise broken(f"a message of {length} bytes was announced")
        return int(length) + 1

    def run(self, piece: Piece) -> int:
        """See SegmentReader."""
        relations = self._relations
        pgoutput.index_frames(
            piece.segment.base,
            piece.written,
            piece.segment.start,
            *self.tables(piece.index),
            address_of(relations.oids.memory),
            relations.oids.mask,
            address_of(relations.table),
            self._options.changes,
            address_of(relations.key_texts.memory),
            address_of(self.state),
        )
        if int(self.state[pgoutput.CHECKED]) == 2:
            raise HeadraceError(
                "postgresql.position_mismatch",
                "The transaction that was being read when the stream stopped does not hold "
                "the same changes any more: the publication or the slot was changed",
                "Restore the publication as it was, or start with a new checkpoint.",
            )
        return int(self.state[pgoutput.STATUS])

    def stopped(self, status: int, piece: Piece, seconds: float) -> bool:
        """See SegmentReader."""
        at = self.indexed
        frame = bytes(piece.segment.map[at : at + self.unit_size(piece.segment.map, at)])
        handler = self._HANDLERS.get(status)
        if handler is None:
            raise broken(f"message {frame[30:31]!r} of {len(frame)} bytes is malformed")
        return handler(self, piece, frame, seconds)

    # -- messages that the compiled pass leaves to Python; False: not handled yet ----------------

    def _relation(self, piece: Piece, frame: bytes, seconds: float) -> bool:
        state, relations = self.state, self._relations
        message, xid = parse_relation(frame[_MESSAGE:]), int(state[pgoutput.XID])
        deadline = Deadline(seconds)
        while (added := relations.add(message, xid)) is None:
            if not self._asks_catalogue:
                ahead = relations_ahead(piece.segment.map, self.indexed, piece.written)
                relations.ask(ahead, xid)
                self._asks_catalogue = True
            if not relations.tables.answered(deadline.remaining()):
                return False
            self._asks_catalogue = False
        _index, replaced = added
        if self._origin is not None and state[pgoutput.ORIGIN_MAP]:
            self._map_origin(self._origin)
        if replaced:
            add_barrier(piece.index, self.state)
        if self._status_due.is_over:
            self.answer()
        return True

    def _rare(self, piece: Piece, frame: bytes, _seconds: float) -> bool:
        kind = frame[_MESSAGE]
        if kind == _ORIGIN:
            lsn, self._origin = parse_origin(frame[_MESSAGE:])
            self.state[pgoutput.ORIGIN_LSN] = lsn
            self._map_origin(self._origin)
        elif kind == _TRUNCATE:
            self._truncate(piece, frame)
        else:
            self._message(piece, frame)
        return True

    def _refused(self, _piece: Piece, frame: bytes, _seconds: float) -> bool:
        raise server_error(frame)

    def _ended(self, _piece: Piece, _frame: bytes, _seconds: float) -> bool:
        raise connection_lost("the server ended the stream")

    _HANDLERS: ClassVar[dict[int, Callable[[PgoutputReader, Piece, bytes, float], bool]]] = {
        pgoutput.RELATION: _relation,
        pgoutput.RARE: _rare,
        pgoutput.SERVER_ERROR: _refused,
        pgoutput.COPY_DONE: _ended,
    }
    """The handlers by the status with which the compiled pass stops."""

    def _map_origin(self, origin: str) -> None:
        """Set the origin of the rows up to the end of the transaction."""
        versions = self._relations.of_origin(origin)
        self.state[pgoutput.ORIGIN_MAP] = address_of(versions)
        self.state[pgoutput.ORIGIN_MAP_LENGTH] = len(versions)

    def _truncate(self, piece: Piece, frame: bytes) -> None:
        state, relations = self.state, self._relations
        if not state[row_kernel.OPEN]:
            raise broken("a truncate outside a transaction")
        oids = parse_truncate(frame[_MESSAGE:])
        if self._options.keeps_truncates:
            place = (int(state[pgoutput.FINAL_LSN]), int(state[row_kernel.ORDINAL]))
            self.truncates += [(*place, oid) for oid in oids]
        if not self._options.skip_truncate:
            add_barrier(piece.index, self.state)
            for part, oid in enumerate(oids):
                relation = relations.truncated(oid)
                if relation is not None:
                    record = RareRecord(ord("t"), relation, _lsn(frame), len(frame), part=part)
                    self._add(piece, record, RowKind.TRANSACTION)
            add_barrier(piece.index, self.state)
        state[row_kernel.ORDINAL] += 1

    def _message(self, piece: Piece, frame: bytes) -> None:
        state = self.state
        message = parse_message(frame[_MESSAGE:])
        captured = self._relations.capture.takes_message(message.prefix)
        if captured:
            # The image replaces the message, which is longer.
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
            state[row_kernel.LAST_COMMIT] = _lsn(frame)  # as for captured messages
        state[row_kernel.COMPLETE] = max(int(state[row_kernel.COMPLETE]), message.lsn)

    def _add_outside(self, piece: Piece, message: LogicalMessage, record: RareRecord) -> None:
        """Add a row with its own transaction entry: no xid, the last known commit time."""
        state, index = self.state, piece.index
        transaction_words = [int(state[word]) for word in _OF_TRANSACTION]
        state[row_kernel.LAST_COMMIT] = record.place  # Debezium treats the message as a commit
        state[pgoutput.XID], state[pgoutput.FINAL_LSN] = int(NULL), message.lsn
        state[row_kernel.ORDINAL] = 0
        state[row_kernel.TRANSACTION_ROW] = -1
        self._add(piece, record, RowKind.OUTSIDE)
        for word, value in zip(_OF_TRANSACTION, transaction_words, strict=True):
            state[word] = value
        add_end(address_of(index.ends), address_of(state), 0, message.lsn)

    def _add(self, piece: Piece, record: RareRecord, kind: RowKind) -> None:
        """Append a row."""
        state, index, relation = self.state, piece.index, record.relation
        if kind == RowKind.TRANSACTION and self._origin is not None and state[pgoutput.ORIGIN_MAP]:
            relation = self._relations.version_of_origin(relation, self._origin)
        index.make_room(*self.entries())
        topic_hash = int(self._relations.table[relation][row_kernel.TOPIC_HASH])
        add_record(index, state, replace(record, relation=relation), kind, topic_hash)


def _lsn(frame: bytes) -> int:
    (lsn,) = struct.unpack_from("!Q", frame, _LSN)
    return int(lsn)
