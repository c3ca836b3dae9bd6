"""Runs COPY … TO STDOUT and yields blocks of row images.

Without TLS and GSS encryption the statement goes over libpq's idle socket, and compiled code splits
the bytes as they come; otherwise libpq reads. Protocol: PostgreSQL manual, "COPY Operations".
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
from collections.abc import Iterator
from typing import Protocol

import numpy as np
from psycopg import pq
from psycopg.pq.abc import PGconn, PGresult

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connectors.postgresql.connection import LOCK_TIMEOUT, is_plain
from headrace.connectors.postgresql.reading.copy_text import Status, image_bound, transcode_rows
from headrace.connectors.postgresql.replication.pgoutput_messages import MAX_COLUMNS
from headrace.errors import HeadraceError
from headrace.snapshots.image_buffer import ImageBuffer

BLOCK_BYTES = 4 << 20
BLOCK_ROWS = 20_000
_RECEIVE_BYTES = 1 << 20
_LOW_WATER = 128 << 10
_LARGEST_MESSAGE = (1 << 30) + (1 << 20)
# The first bytes of message types.
_COPY_DATA, _COPY_DONE, _ERROR, _READY = b"dcEZ"
_NOTICES = b"NSA"
REFUSED = ("postgresql.copy_failed", "postgresql.lock_timeout")
"""Codes of errors that the server reported, after which the connection is usable."""


def read_copy(connection: PGconn, sql: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Run `sql`, a COPY ... TO STDOUT in text format, and yield its rows in blocks.

    A block is (images, offsets): a uint8 array, and an int64 array with one entry more than there
    are rows; row i is images[offsets[i]:offsets[i + 1]]. `PADDING` bytes after the images are
    readable. Blocks hold up to BLOCK_BYTES and BLOCK_ROWS, or one larger row, and are the
    caller's to keep.

    The connection must be idle, in a transaction or not, with client_encoding UTF8. When all rows
    have been read it is usable again; when the iterator is dropped before, it is closed.

    Raises HeadraceError: postgresql.copy_failed and postgresql.lock_timeout (the server's errors;
    the connection is usable), postgresql.connection_lost, postgresql.copy_malformed.
    """
    reader = _SocketMessages if is_plain(connection) else _LibpqMessages
    messages: _Messages = reader(connection, sql)
    if messages.columns > MAX_COLUMNS:
        messages.release()
        connection.finish()
        raise _unreadable(f"it announces {messages.columns} columns")
    return _blocks(messages, connection)


class _Messages(Protocol):
    """CopyData messages as on the wire, in a buffer that is refilled, and the number of columns
    that the server announced."""

    columns: int = 0
    buffer: np.ndarray
    start: int
    end: int

    def __init__(self, connection: PGconn, size: int) -> None:
        idle = (pq.TransactionStatus.IDLE, pq.TransactionStatus.INTRANS)
        if connection.status != pq.ConnStatus.OK:
            raise _lost("it is closed")
        if connection.transaction_status not in idle:
            raise HeadraceError(
                "postgresql.connection_busy",
                "A COPY was to start on a connection that is not idle.",
                "Read a COPY to its end, and end a failed transaction, before the next statement.",
            )
        self.buffer = np.empty(size + PADDING, np.uint8)
        self.start = self.end = 0

    def fill(self) -> bool:
        """Append more bytes after `end`; False when all rows have been read."""
        ...

    def size(self) -> int:
        """Bytes of the next message without its type byte."""
        return int(self.buffer[self.start + 1 :][:4].view(">i4")[0])

    def finish(self) -> None:
        """Read the messages after the last row; the connection is idle afterwards."""
        return

    def release(self) -> None:
        """Leave the connection to its owner."""
        return


def _blocks(messages: _Messages, connection: PGconn) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    finished = False
    state = np.zeros(2, np.int64)
    try:
        buffer = ImageBuffer(BLOCK_BYTES, BLOCK_ROWS)
        more = True
        while more:
            more = messages.fill()
            while True:
                rows = transcode_rows(
                    address_of(messages.buffer) + messages.start,
                    messages.end - messages.start,
                    messages.columns,
                    *buffer.room(),
                    address_of(state),
                )
                buffer.add(rows)
                messages.start += int(state[0])
                status = Status(int(state[1]))
                if status in (Status.MORE, Status.OTHER):
                    break
                if status is not Status.FULL:
                    raise _malformed(status, messages.columns)
                if buffer.rows:
                    yield buffer.block()
                    buffer = ImageBuffer(BLOCK_BYTES, BLOCK_ROWS)
                else:
                    buffer = ImageBuffer(image_bound(messages.size(), messages.columns), BLOCK_ROWS)
        if messages.start != messages.end:
            raise _malformed(Status.MALFORMED, messages.columns)
        messages.finish()
        finished = True
        if buffer.rows:
            yield buffer.block()
    except HeadraceError as error:
        finished = error.code in REFUSED
        raise
    finally:
        messages.release()
        if not finished:
            connection.finish()


class _SocketMessages(_Messages):
    """Reads the socket of an idle libpq connection; libpq does not see the statement."""

    def __init__(self, connection: PGconn, sql: str) -> None:
        super().__init__(connection, _RECEIVE_BYTES)
        # A second descriptor of libpq's socket, non-blocking like libpq's own.
        self._socket = socket.socket(fileno=os.dup(connection.socket))
        self._socket.setblocking(False)
        self._poll = select.poll()
        try:
            self._poll.register(self._socket, select.POLLIN)
            self._send(sql.encode())
            self.columns = self._open()
            # The socket counts as readable from so many bytes on, so reads are fewer and larger.
            # For the last bytes, `_read` waits no longer than 2 ms.
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, _LOW_WATER)
        except HeadraceError as error:
            self._socket.close()
            if error.code not in REFUSED:
                connection.finish()
            raise

    def _send(self, sql: bytes) -> None:
        message = memoryview(b"Q" + struct.pack("!I", len(sql) + 5) + sql + b"\0")
        writable = select.poll()
        writable.register(self._socket, select.POLLOUT)
        while message:
            try:
                message = message[self._socket.send(message) :]
            except BlockingIOError:
                writable.poll()
            except OSError as error:
                raise _lost(str(error)) from None

    def _read(self) -> None:
        """Append at least one byte after `end`; makes room first."""
        if self.start == self.end:
            self.start = self.end = 0
        if len(self.buffer) - PADDING - self.end < _RECEIVE_BYTES // 4:
            self._make_room()
        view = self.buffer.data[: len(self.buffer) - PADDING]
        received = 0
        while self.end < len(view):
            try:
                count = self._socket.recv_into(view[self.end :])
            except BlockingIOError:
                if received:
                    return
                self._poll.poll(2)
                continue
            except OSError as error:
                raise _lost(str(error)) from None
            if count == 0:
                raise _lost("the server closed it")
            self.end += count
            received += count

    def _make_room(self) -> None:
        pending = self.end - self.start
        needed = 2 * _RECEIVE_BYTES
        if pending >= 5:
            size = self.size() + 1
            if size < 5 or size > _LARGEST_MESSAGE:
                raise _malformed(Status.MALFORMED, self.columns)
            needed = max(needed, size + _RECEIVE_BYTES)
        target = np.empty(needed + PADDING, np.uint8)
        target[:pending] = self.buffer[self.start : self.end]
        self.buffer, self.start, self.end = target, 0, pending

    def _message(self) -> tuple[int, bytes]:
        """Return the type and content of the next message, which is not CopyData."""
        while True:
            if self.end - self.start >= 5:
                size = self.size() + 1
                if size < 5 or size > _RECEIVE_BYTES:
                    raise _malformed(Status.MALFORMED, 0)
                if self.end - self.start >= size:
                    kind = int(self.buffer[self.start])
                    content = self.buffer[self.start + 5 : self.start + size].tobytes()
                    self.start += size
                    return kind, content
            self._read()

    def _answer(self) -> tuple[int, bytes]:
        """Return the next message that is neither CopyData nor a notice. Raises
        HeadraceError("postgresql.copy_failed") for an error; the connection is idle then."""
        while True:
            kind, content = self._message()
            if kind == _ERROR:
                while self._message()[0] != _READY:
                    pass
                raise _failed(_error_fields(content))
            if kind not in _NOTICES:
                return kind, content

    def _open(self) -> int:
        """Wait for CopyOutResponse; return the number of columns."""
        kind, content = self._answer()
        if kind != ord("H"):
            raise _malformed(Status.OTHER, 0)
        if content[0] != 0:
            raise _malformed(Status.MALFORMED, 0)
        return int(struct.unpack_from("!H", content, 1)[0])

    def fill(self) -> bool:
        """See `_Messages`."""
        while self.end - self.start >= 5:
            kind = int(self.buffer[self.start])
            if kind == _COPY_DATA:
                if 5 <= self.size() + 1 <= self.end - self.start:
                    return True  # a short result came with the first read
                break
            if kind in _NOTICES:
                self._message()
            elif kind in (_COPY_DONE, _ERROR):
                # CommandComplete and ReadyForQuery follow; errors are still possible.
                while self._answer()[0] != _READY:
                    pass
                return False
            else:
                raise _malformed(Status.OTHER, self.columns)
        self._read()
        return True

    def release(self) -> None:
        """See `_Messages`."""
        with contextlib.suppress(OSError):  # the connection is gone; its next user sees the error
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
        self._socket.close()


class _LibpqMessages(_Messages):
    """Reads with libpq, and frames the rows as CopyData messages again."""

    def __init__(self, connection: PGconn, sql: str) -> None:
        super().__init__(connection, 2 * _RECEIVE_BYTES)
        self._connection = connection
        self._ended = False
        result = connection.exec_(sql.encode())
        if result.status != pq.ExecStatus.COPY_OUT:
            if connection.status != pq.ConnStatus.OK:
                raise _lost(_text(connection.error_message))
            if result.status == pq.ExecStatus.FATAL_ERROR:
                raise _failed(_result_fields(result))
            raise _malformed(Status.OTHER, 0)
        self.columns = result.nfields

    def fill(self) -> bool:
        """See `_Messages`."""
        pending = self.end - self.start
        self.buffer[:pending] = self.buffer[self.start : self.end]
        self.start, self.end = 0, pending
        while not self._ended and self.end < _RECEIVE_BYTES:
            size, row = self._connection.get_copy_data(0)
            if size == -1:
                self._ended = True
            elif size < 0:
                raise _lost(_text(self._connection.error_message))
            else:
                self._append(row)
        return not self._ended

    def _append(self, row: memoryview) -> None:
        size = len(row)
        if self.end + size + 5 + PADDING > len(self.buffer):
            target = np.empty(self.end + size + 5 + _RECEIVE_BYTES + PADDING, np.uint8)
            target[: self.end] = self.buffer[: self.end]
            self.buffer = target
        view = self.buffer.data
        struct.pack_into("!cI", view, self.end, b"d", size + 4)
        self.end += 5
        view[self.end : self.end + size] = row
        self.end += size

    def finish(self) -> None:
        """See `_Messages`."""
        failure = None
        while (result := self._connection.get_result()) is not None:
            if result.status == pq.ExecStatus.FATAL_ERROR:
                failure = _result_fields(result)
        if self._connection.status != pq.ConnStatus.OK:
            raise _lost(_text(self._connection.error_message))
        if failure is not None:
            raise _failed(failure)


def _text(message: bytes | None) -> str:
    return (message or b"").decode("utf-8", "replace")


def _error_fields(content: bytes) -> tuple[str, str]:
    """The SQLSTATE and the message of an ErrorResponse."""
    fields = {part[:1]: part[1:] for part in content.split(b"\0") if part}
    return _text(fields.get(b"C")), _text(fields.get(b"M"))


def _result_fields(result: PGresult) -> tuple[str, str]:
    state = result.error_field(pq.DiagnosticField.SQLSTATE)
    return _text(state), _text(result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY))


# SQLSTATE classes of transient errors: connection, rollback, resources, operator intervention.
_PASSING = ("08", "40", "53", "57")


def _failed(fields: tuple[str, str]) -> HeadraceError:
    state, message = fields
    if state == LOCK_TIMEOUT:
        return HeadraceError(
            "postgresql.lock_timeout",
            f"Rows could not be read: {message}",
            "headrace tries again by itself; or raise snapshot.lock.timeout.ms.",
            retriable=True,
        )
    return HeadraceError(
        "postgresql.copy_failed",
        f"PostgreSQL could not read rows (SQLSTATE {state}): {message}",
        "Check that the tables exist and that database.user may SELECT from them.",
        retriable=state.startswith(_PASSING),
    )


def _lost(reason: str) -> HeadraceError:
    return HeadraceError(
        "postgresql.connection_lost",
        f"The connection was lost while rows were read: {reason}",
        "The snapshot continues by itself when the server answers (errors.max.retries).",
        retriable=True,
    )


def _malformed(status: Status, columns: int) -> HeadraceError:
    reason = {
        Status.COLUMNS: f"a row does not have {columns} columns",
        Status.OTHER: "the server does not answer with the rows of a COPY",
    }.get(status, "the bytes are not in COPY's text format")
    return _unreadable(reason)


def _unreadable(reason: str) -> HeadraceError:
    return HeadraceError(
        "postgresql.copy_malformed",
        f"The answer to a COPY cannot be read: {reason}.",
        "Check that nothing between headrace and PostgreSQL changes the protocol.",
    )
