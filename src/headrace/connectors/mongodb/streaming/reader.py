"""Reads a change stream into segments of the spool."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import bson
import numpy as np
from pymongo.errors import PyMongoError

from headrace.config.failures import LeftOut
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.rows import NULL, low_half
from headrace.connectors.mongodb.position import MongoPosition, token_time
from headrace.connectors.mongodb.streaming import event_parts, frames, index
from headrace.connectors.mongodb.streaming.cursor import ChangeStreamCursor, after_token
from headrace.connectors.mongodb.streaming.fragments import Fragments
from headrace.connectors.mongodb.streaming.index import index_frame
from headrace.connectors.mongodb.streaming.known_collections import KnownCollections
from headrace.connectors.mongodb.streaming.progress import StreamProgress
from headrace.connectors.mongodb.streaming.replies import Reply, members
from headrace.documents.bson import FAULTS
from headrace.documents.bson import NO_ROOM as SCRATCH_FULL
from headrace.documents.fields import field_exists
from headrace.documents.kernels.field_kernel import FIELD_EXISTS
from headrace.errors import HeadraceError
from headrace.spool.spool import Piece
from headrace.streaming.changes.kernels import row_kernel
from headrace.streaming.changes.kernels.frame_kernel import FRAME_HEAD
from headrace.streaming.frame_reader import FrameReader
from headrace.streaming.log_reader import Received

_INT32 = struct.Struct("<i")
_HALF = (1 << 64) - 1
_FIRST_SCRATCH = 1 << 19
_NO_CHANGES = row_kernel.SKIP_CREATE | row_kernel.SKIP_UPDATE | row_kernel.SKIP_DELETE
_SEEN_END = np.dtype([(name, "O" if name == "token" else "<i8") for name in index.END.names or ()])
"""The dtype of an end that has the token itself, instead of its address in a segment."""


@dataclass(frozen=True)
class MongoReaderOptions:
    """Options of a reader. `changes`: options of row_kernel.add_change. `borders`: transactions are
    counted, and have records of their beginnings and ends in this topic. `wall_times`: source.ts_ms
    is the event's wallTime. `left_out` is called for an event that cannot be processed; None: it is
    an error."""

    changes: int
    borders: str | None = None
    wall_times: bool = True
    left_out: LeftOut | None = None


class _Batch:
    """Consecutive events, as elements of an array, bytes `first` to `last` of `data`; the kernel
    reads them from the address `at` to `end`, that of the zero byte."""

    def __init__(self, data: bytes, first: int, last: int) -> None:
        self._data = data
        self._base = address_of(np.frombuffer(data, np.uint8))
        self.at = self._base + first + _INT32.size
        self.end = self._base + last - 1

    @staticmethod
    def of_event(event: bytes) -> _Batch:
        """A batch of one event."""
        array = bytes(_INT32.size) + b"\x030\0" + event + b"\0"
        return _Batch(array + bytes(PADDING), 0, len(array))

    def event(self, at: int) -> bytes:
        """The event whose element begins at an address; if it is broken, its available bytes."""
        start, end = self._span(at)
        return self._data[start:end]

    def after(self, at: int) -> int:
        """The address after the event whose element begins at `at`."""
        return self._base + self._span(at)[1]

    def _span(self, at: int) -> tuple[int, int]:
        start = self._data.index(0, at - self._base + 1) + 1
        (size,) = _INT32.unpack_from(self._data, start)
        return start, min(start + max(size, 0), self.end - self._base)


class ChangeStreamReader(FrameReader):
    """See headrace.streaming.log_reader.LogReader. Places are those of MongoPosition."""

    end_type = index.END
    frame_kernel = staticmethod(index_frame)

    def __init__(
        self,
        cursor: ChangeStreamCursor,
        collections: KnownCollections,
        start: MongoPosition,
        options: MongoReaderOptions,
        translate: Callable[[PyMongoError], HeadraceError],
        progress: StreamProgress,
        renamed: Callable[[Mapping[str, Any]], Iterable[tuple[str, str]]] | None = None,
    ) -> None:
        """`start` has a token. `renamed` returns the names (database, collection) that stand for
        other collections after an event of a collection itself; None: names never change."""
        super().__init__(collections, start, index.STATE_WORDS, options.changes)
        assert start.token is not None
        self._cursor, self._collections = cursor, collections
        self._options, self._translate, self._progress = options, translate, progress
        self._renamed = renamed
        self._token = self._done_token = start.token
        self._batches: list[_Batch] = []
        self._needed = 0
        self._mark: tuple[bytes, bool] | None = None  # a token, and whether the log ends there
        self._was_end = False
        self._leaves_out = False  # whether the next event is left out
        self._fragments = Fragments()
        self._parts = np.zeros(event_parts.PARTS_BYTES, np.uint8)
        self._scratch = np.empty(_FIRST_SCRATCH + PADDING, np.uint8)
        self._kept: list[object] = []  # `state` holds their addresses
        state = self.state
        state[frames.EVENT_TIME] = low_half(token_time(start.token))
        state[frames.EVENT_NUMBER] = start.token_number
        state[index.DONE_TIME], state[index.DONE_NUMBER] = low_half(start.time), start.number
        state[index.DONE_TOKEN_NUMBER] = start.token_number
        state[index.WALL_TIMES] = options.wall_times
        state[frames.DEFINITIONS] = frames.IGNORED if renamed is None else frames.PYTHON
        if options.borders is not None:
            state[frames.COUNTED] = 1
            self.has_borders(*collections.borders(options.borders))
        _load_kernels()

    # -- the server -----------------------------------------------------------------------------

    def open(self) -> None:
        """See LogReader."""
        self._take(lambda: self._cursor.open(after_token(self._token)), is_first=True)

    def close(self) -> None:
        """See LogReader."""
        self._cursor.close()

    def acknowledge(self, place: int) -> None:
        """See LogReader: the server stores no position, but the oplog is watched."""
        self._progress.acknowledged = max(self._progress.acknowledged, place >> 64)

    def read_into(self, target: memoryview, seconds: float) -> int:
        """See LogReader: writes frames of the received events."""
        if not self._batches and self._mark is None:
            self._take(lambda: self._cursor.more(seconds), is_first=False)
        address = address_of(np.frombuffer(target, np.uint8))
        written = self._needed = 0
        while self._batches:
            written += self._write(address + written, len(target) - written)
            if not self._goes_on():
                return written
        if self._mark is not None:
            written += self._write_mark(target[written:], *self._mark)
        return written

    def _take(self, ask: Callable[[], Reply], *, is_first: bool) -> None:
        """Take a reply, which is written next. Only an empty reply to a `getMore` shows that the
        server has no further events."""
        try:
            reply = ask()
        except PyMongoError as error:
            raise self._translate(error) from None
        is_end = reply.is_empty and not is_first
        if not reply.is_empty:
            self._batches.append(_Batch(reply.data, reply.first, reply.last))
            self._begin_reply()
        if reply.token != self._token or (is_end and not self._was_end):
            self._mark = reply.token, is_end
        self._token, self._was_end = reply.token, is_end
        if reply.operation_time:
            self.ends_at(reply.operation_time << 64)

    # -- events to frames -----------------------------------------------------------------------

    def _begin_reply(self) -> None:
        """Let the kernel begin with a batch. Data that it noted in the former batch is copied to
        memory that stays valid."""
        state = self.state
        state[frames.AT] = self._batches[0].at
        buffers = []
        if self._options.borders is not None:
            state[frames.LAST_TOKEN_NUMBER] = self._number_at(token_time(self._token))
            for word, raw in (
                (frames.LAST_TOKEN, self._token),
                (frames.RESUME_TOKEN, self._noted(frames.RESUME_TOKEN)),
                (frames.OPEN_SESSION, self._noted(frames.OPEN_SESSION)),
            ):
                memory = np.frombuffer(raw + bytes(PADDING), np.uint8)
                state[word], state[word + 1] = address_of(memory), len(raw)
                buffers.append(memory)
        self._kept = [*buffers, *self._batches]

    def _noted(self, word: int) -> bytes:
        """The bytes whose address and size the kernel noted."""
        return ctypes.string_at(int(self.state[word]), int(self.state[word + 1]))

    def _number_at(self, time: int) -> int:
        """The number of events at a clusterTime that is not before the last event's."""
        is_last = int(self.state[frames.EVENT_TIME]) & _HALF == time
        return int(self.state[frames.EVENT_NUMBER]) if is_last else 0

    def _write(self, target: int, room: int) -> int:
        """Write frames of the first batch; returns their bytes. An event that is left out is
        processed alone, like an event of a skipped operation."""
        last, changes = self._batches[0].end, self._options.changes
        if self._leaves_out:
            last, changes = self._batches[0].after(int(self.state[frames.AT])), _NO_CHANGES
        return int(
            frames.write_frames(
                last,
                target,
                room,
                address_of(self._collections.namespaces),
                self._collections.mask,
                address_of(self._collections.table),
                address_of(self._collections.fields),
                changes,
                address_of(self._parts),
                address_of(self._scratch),
                len(self._scratch) - PADDING,
                address_of(self.state),
            )
        )

    def _goes_on(self) -> bool:
        """Do what the kernel left to Python; False: there is no room for the next frame."""
        state, batch = self.state, self._batches[0]
        status = int(state[frames.STATUS])
        if status == frames.NO_ROOM:
            self._needed = int(state[frames.NEEDED])
            return False
        if status == frames.WRITTEN and self._leaves_out:
            self._leaves_out = False
            return True
        if status == frames.WRITTEN:
            self._batches.pop(0)
            if self._batches:
                state[frames.AT] = self._batches[0].at
            return True
        event = batch.event(int(state[frames.AT]))
        if status == frames.NAMESPACE:
            namespace = members(event)["ns"]
            self._collections.add(event[namespace.begin : namespace.end])
        elif status == frames.DEFINITION:
            self._defined(event)
        elif status == frames.FRAGMENT:
            self._add_fragment(batch, event)
        elif status == SCRATCH_FULL:
            self._scratch = np.empty(2 * len(self._scratch), np.uint8)
        elif status == FIELD_EXISTS:
            self._leave_out(event)
        else:
            raise _broken(status)
        return True

    def _defined(self, event: bytes) -> None:
        """Handle the next event, which drops or renames a collection."""
        assert self._renamed is not None
        try:
            named = bson.decode(event)
        except bson.errors.InvalidBSON:
            named = {}  # the kernel reports what is wrong with it
        for path in self._renamed(named) if named else ():
            self._collections.forget(*path)
        self.state[frames.DEFINITIONS] = frames.KERNEL

    def _leave_out(self, event: bytes) -> None:
        """Report the next event, in which a rule's new name already exists, and leave it out."""
        namespace = members(event)["ns"]
        names = bson.decode(event[namespace.begin : namespace.end])
        collection = f"{names['db']}.{names['coll']}"
        error = field_exists(f"a document of {collection}")
        if self._options.left_out is None:
            raise error
        self._options.left_out(collection, error)
        self._leaves_out = True

    def _add_fragment(self, batch: _Batch, event: bytes) -> None:
        """Add a fragment; after the last one, the whole event becomes the first batch."""
        state = self.state
        batch.at = batch.after(int(state[frames.AT]))
        whole = self._fragments.add(event)
        state[frames.IN_FRAGMENTS] = self._fragments.is_open
        if whole is not None:
            self._batches.insert(0, _Batch.of_event(whole))
            self._kept.append(self._batches[0])
        state[frames.AT] = self._batches[0].at

    def _write_mark(self, target: memoryview, token: bytes, is_end: bool) -> int:
        """Write a mark after the events of a reply, once there is room for it; returns its
        bytes."""
        state, time = self.state, token_time(token)
        number = token_number = self._number_at(time)
        if state[frames.OPEN_TIME]:
            if int(state[frames.OPEN_TIME]) & _HALF == time:
                token = self._noted(frames.RESUME_TOKEN)
                token_number = int(state[frames.RESUME_TOKEN_NUMBER])
            else:
                state[frames.OPEN_TIME] = 0
        size = frames.FRAME_BYTES + len(token)
        if size > len(target):
            self._needed = size
            return 0
        head = np.zeros(frames.FRAME_WORDS, np.int64)
        FRAME_HEAD.pack_into(head.view(np.uint8).data, 0, size, frames.MARK)
        head[frames.IS_END] = is_end
        head[frames.TIME], head[frames.NUMBER] = low_half(time), number
        head[frames.TOKEN], head[frames.TOKEN_SIZE] = frames.FRAME_BYTES, len(token)
        head[frames.TOKEN_NUMBER] = token_number
        target[:size] = head.tobytes() + token
        self._mark = None
        return size

    # -- frames to rows -------------------------------------------------------------------------

    @property
    def received(self) -> Received:
        """See LogReader. No transaction is ever open, because each event ends one."""
        state = self.state
        end = np.zeros(1, _SEEN_END)
        end["time"], end["number"] = state[index.DONE_TIME], state[index.DONE_NUMBER]
        end["token"], end["token_number"] = self._done_token, state[index.DONE_TOKEN_NUMBER]
        end["transaction"] = NULL
        complete = self._place(row_kernel.COMPLETE_HIGH)
        done_place = (int(state[index.DONE_TIME]) & _HALF) << 64 | int(state[index.DONE_NUMBER])
        head = self._place(row_kernel.HEAD_HIGH)
        return Received(
            complete=complete,
            end=end[0],
            head=done_place if complete > head else head,
            filtered=int(state[row_kernel.FILTERED]),
        )

    def unit_bytes(self, piece: Piece | None) -> int:  # noqa: ARG002
        """See LogReader: the bytes of the next frame, if there was no room for it."""
        return self._needed

    def run(self, piece: Piece) -> int:
        """See SegmentReader."""
        status = super().run(piece)
        token = int(self.state[index.DONE_TOKEN])
        if token:
            first = token - piece.segment.start
            size = int(self.state[index.DONE_TOKEN_SIZE])
            self._done_token = piece.segment.map[first : first + size]
            self.state[index.DONE_TOKEN] = 0
        return status

    def stopped(self, status: int, piece: Piece, seconds: float) -> bool:  # noqa: ARG002
        """See SegmentReader."""
        raise AssertionError(f"a frame that headrace wrote is broken ({status})")


def _load_kernels() -> None:
    """Compile or load the kernels before the stream is open."""
    memory = np.zeros(index.STATE_WORDS, np.int64)
    at = address_of(memory)
    frames.write_frames(0, at, 0, at, 0, at, at, 0, at, at, 0, at)


def _broken(status: int) -> HeadraceError:
    reason = FAULTS.get(status) or frames.FAULTS.get(status, str(status))
    return HeadraceError(
        "mongodb.broken_event",
        f"An event of the change stream cannot be read: {reason}",
        "Leave _id, ns, operationType, clusterTime and documentKey as they are in "
        "cursor.pipeline; and check any proxy between headrace and MongoDB.",
    )
