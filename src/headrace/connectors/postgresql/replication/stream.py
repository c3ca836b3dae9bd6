"""The replication stream: CopyData frames from the server, status messages to it.

Two readers deliver the same bytes. If neither TLS nor GSS encrypts, libpq logs in and its idle
socket is taken over: `recv` writes directly into the spool. Otherwise libpq reads. Protocol:
PostgreSQL manual, "Streaming Replication Protocol".
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import threading
import time
from abc import ABC, abstractmethod

from psycopg import pq
from psycopg.pq.abc import PGconn

from headrace.connectors.postgresql.connection import is_plain
from headrace.connectors.postgresql.position import format_lsn
from headrace.connectors.postgresql.replication.slot import lost_wal, slot_in_use
from headrace.errors import HeadraceError

_STATUS = struct.Struct("!cQQQqB")
_US_1970_TO_2000 = 946_684_800_000_000
RECEIVE_BYTES = 1 << 20
_WAKES = 1 << 16
"""The most wake-up bytes read at once, more than a pipe holds."""


class Stream(ABC):
    """An open replication stream. One thread owns it; others may `wake` it. `connection` is kept
    open; `readable` is its socket, or the stream's own."""

    def __init__(self, connection: PGconn, readable: int) -> None:
        self._connection = connection
        self._lock = threading.Lock()  # held to write a byte to `_waking`, or to close it
        self._woken, waking = os.pipe()
        self._waking: int | None = waking
        for end in (self._woken, waking):
            os.set_blocking(end, False)
        self._poll = select.poll()
        self._poll.register(readable, select.POLLIN)
        self._poll.register(self._woken, select.POLLIN)

    @abstractmethod
    def read_into(self, target: memoryview) -> int:
        """Read bytes without waiting; returns their number, 0 if none are available.

        Raises HeadraceError("postgresql.connection_lost") when the server closed the stream.
        """

    def wait(self, seconds: float) -> None:
        """Wait until bytes can be read, or for `wake`, at most `seconds`."""
        for ready, _ in self._poll.poll(max(seconds, 0) * 1000):
            if ready == self._woken:
                os.read(ready, _WAKES)

    def wake(self) -> None:
        """End the current wait, or the next one."""
        with self._lock, contextlib.suppress(BlockingIOError):  # if the pipe is full
            if self._waking is not None:
                os.write(self._waking, b"\0")

    def send_status(self, written: int, flushed: int, *, reply: bool = False) -> None:
        """Send a standby status update; the slot may discard the log up to `flushed`."""
        try:
            self._send(status_message(written, flushed, reply=reply))
        except Exception as error:  # noqa: BLE001 - of libpq, or of the socket
            raise connection_lost(str(error)) from None

    @abstractmethod
    def _send(self, payload: bytes) -> None:
        """Send CopyData with this content."""

    def close(self) -> None:
        """Close the connection; never raises."""
        with self._lock:
            if self._waking is not None:
                os.close(self._waking)
                os.close(self._woken)
                self._waking = None
        self._connection.finish()


def start_command(slot: str, lsn: int, publication: str, options: dict[str, str]) -> str:
    """START_REPLICATION from `lsn` with protocol version 1 (whole transactions, after COMMIT)."""
    settings = {"proto_version": "1", "publication_names": _identifier_list(publication)} | options
    rendered = ", ".join(f"{name} {_literal(value)}" for name, value in settings.items())
    return f'START_REPLICATION SLOT "{slot}" LOGICAL {format_lsn(lsn)} ({rendered})'


def _identifier_list(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def open_stream(connection: PGconn, command: str) -> Stream:
    """Start replication on an idle replication connection; takes over the connection."""
    if not is_plain(connection):
        return LibpqStream(connection, command)
    return SocketStream(connection, command)


def status_message(written: int, flushed: int, *, reply: bool) -> bytes:
    """The payload of a standby status update."""
    now = time.time_ns() // 1000 - _US_1970_TO_2000
    return _STATUS.pack(b"r", written, flushed, flushed, now, 1 if reply else 0)


def _framed(kind: bytes, content: bytes) -> bytes:
    """A message of the protocol: its first byte, its length and its content."""
    return kind + struct.pack("!I", len(content) + 4) + content


def connection_lost(reason: str) -> HeadraceError:
    """The error of a stream whose connection was lost."""
    return HeadraceError(
        "postgresql.connection_lost",
        f"The replication connection was lost: {reason}",
        "The stream continues by itself when the server is back (errors.max.retries).",
        retriable=True,
    )


class SocketStream(Stream):
    """A stream that reads the socket of an idle libpq connection after its login."""

    def __init__(self, connection: PGconn, command: str) -> None:
        self._socket = socket.socket(fileno=os.dup(connection.socket))
        self._socket.setblocking(True)
        query = command.encode() + b"\0"
        try:
            # libpq must not send the command, or it could receive the first bytes of the stream.
            self._socket.sendall(_framed(b"Q", query))
        except OSError as error:
            raise connection_lost(str(error)) from None
        self._socket.setblocking(False)
        super().__init__(connection, self._socket.fileno())

    def read_into(self, target: memoryview) -> int:
        total = 0
        try:
            while total < len(target):
                count = self._socket.recv_into(target[total : total + RECEIVE_BYTES])
                if count == 0:
                    if total:
                        return total
                    raise connection_lost("the server closed it")
                total += count
        except (BlockingIOError, InterruptedError):
            pass
        except OSError as error:
            if total == 0:
                raise connection_lost(str(error)) from None
        return total

    def _send(self, payload: bytes) -> None:
        try:
            # The 39 bytes fit into the send buffer even when the server does not read.
            self._socket.setblocking(True)
            self._socket.settimeout(5)
            self._socket.sendall(_framed(b"d", payload))
        finally:
            if self._socket.fileno() >= 0:
                self._socket.setblocking(False)

    def close(self) -> None:
        self._socket.close()
        super().close()


class LibpqStream(Stream):
    """A stream that reads through libpq (TLS, GSS); adds the message header that a socket would
    show."""

    def __init__(self, connection: PGconn, command: str) -> None:
        result = connection.exec_(command.encode())
        if result.status != pq.ExecStatus.COPY_BOTH:
            raise _refused(result.error_message.decode(errors="replace"))
        super().__init__(connection, connection.socket)
        connection.nonblocking = 1
        self._pending = b""

    def read_into(self, target: memoryview) -> int:
        total = 0
        while True:
            if self._pending:
                take = min(len(self._pending), len(target) - total)
                target[total : total + take] = self._pending[:take]
                self._pending = self._pending[take:]
                total += take
                if self._pending:
                    return total
            try:
                size, data = self._connection.get_copy_data(1)
                if size == 0:
                    self._connection.consume_input()
                    size, data = self._connection.get_copy_data(1)
            except Exception as error:  # noqa: BLE001 - of libpq, or of the socket
                raise connection_lost(str(error)) from None
            if size == 0:
                return total
            if size < 0:
                if total:
                    return total
                message = self._connection.get_result()
                text = message.error_message.decode(errors="replace") if message else ""
                raise connection_lost(text or "the server closed it")
            self._pending = _framed(b"d", bytes(data))

    def wait(self, seconds: float) -> None:
        if not self._pending:
            super().wait(seconds)

    def _send(self, payload: bytes) -> None:
        self._connection.put_copy_data(payload)
        self._connection.flush()


def _refused(text: str) -> HeadraceError:
    return HeadraceError(
        "postgresql.replication_refused",
        f"The server refused to start replication: {' '.join(text.split())}",
        "Check the slot, the publication and the role's REPLICATION attribute "
        "(headrace check FILE).",
        retriable="is active for PID" in text or "starting up" in text,
    )


def server_error(frame: bytes) -> HeadraceError:
    """The error in an ErrorResponse frame (with header)."""
    parts = (part for part in frame[5:].split(b"\0") if part)
    fields = {part[:1]: part[1:].decode(errors="replace") for part in parts}
    state, text = fields.get(b"C", ""), fields.get(b"M", "unknown error")
    if state.startswith(("57P", "08")):
        return connection_lost(text)
    if state == "55006":
        message = f"The replication slot is used by another connection: {text}"
        return slot_in_use(message, retriable=True)
    if (
        state == "58P01"  # a removed segment of the log, whatever the server's language
        or "requested WAL segment" in text
        or "can no longer get changes" in text
        or (state == "55000" and "invalidat" in text)
    ):
        return lost_wal(f"The server removed WAL that the slot needs: {text}")
    return _refused(f"{text} (SQLSTATE {state})")
