"""Runs COPY … TO STDOUT and yields blocks of row images.

Without TLS and GSS encryption the statement goes over libpq's idle socket; otherwise libpq reads
and its messages are framed again. Protocol: PostgreSQL manual, "COPY Operations".
"""

from __future__ import annotations

import select
import socket
import struct
from collections.abc import Iterator

import numpy as np
from psycopg import pq
from psycopg.pq.abc import PGconn, PGresult

from headrace.connect.memory import PADDING, address_of
from headrace.connectors.postgresql.copy_text import Status, image_bound, transcode_rows
from headrace.connectors.postgresql.log import server_error
from headrace.errors import HeadraceError

BLOCK_BYTES = 4 << 20
BLOCK_ROWS = 20_000
_RECEIVE_BYTES = 1 << 20
_IDLE_SECONDS = 600
LARGEST_MESSAGE = (1 << 30) + (1 << 20)


def read_copy(
    connection: PGconn, statement: str, columns: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blocks of (images as uint8, offsets as int64: one more than rows) of a COPY statement.

    A block's memory is its own. Raises HeadraceError: the server's error, or
    "postgresql.broken_copy".
    """
    read = _from_libpq if connection.ssl_in_use else _from_socket
    yield from _blocks(read(connection, statement), columns)


def _blocks(pieces: Iterator[bytes], columns: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """`pieces` are protocol messages in any division."""
    incoming = np.empty(2 * _RECEIVE_BYTES + PADDING, np.uint8)
    filled = 0
    state = np.zeros(2, np.int64)
    out, offsets, used, rows = _fresh()
    for piece in pieces:
        if filled + len(piece) + PADDING > len(incoming):
            larger = np.empty(2 * (filled + len(piece)) + PADDING, np.uint8)
            larger[:filled] = incoming[:filled]
            incoming = larger
        incoming[filled : filled + len(piece)] = np.frombuffer(piece, np.uint8)
        filled += len(piece)
        position = 0
        while True:
            made = transcode_rows(
                address_of(incoming) + position,
                filled - position,
                columns,
                address_of(out) + used,
                len(out) - PADDING - used,
                address_of(offsets) + 8 * rows,
                BLOCK_ROWS - rows,
                address_of(state),
            )
            offsets[rows : rows + made + 1] += used
            rows += made
            used = int(offsets[rows])
            position += int(state[0])
            status = int(state[1])
            if status == Status.FULL:
                if rows:
                    yield out, offsets[: rows + 1]
                    out, offsets, used, rows = _fresh()
                else:
                    (length,) = struct.unpack_from("!I", incoming.data, position + 1)
                    out, offsets, used, rows = _fresh(image_bound(length, columns))
            elif status == Status.OTHER:
                message, size = _whole_message(incoming, position, filled)
                if message is None:
                    break
                if message[:1] == b"E":
                    raise server_error(message)
                position += size
            elif status < 0:
                raise HeadraceError(
                    "postgresql.broken_copy",
                    f"The server sent a row that is not COPY's text format with {columns} "
                    f"columns ({Status(status).name})",
                    "Check what stands between headrace and PostgreSQL.",
                )
            else:
                break
        rest = filled - position
        incoming[:rest] = incoming[position:filled].copy()
        filled = rest
    if rows:
        yield out, offsets[: rows + 1]


def _fresh(size: int = BLOCK_BYTES) -> tuple[np.ndarray, np.ndarray, int, int]:
    out = np.empty(max(size, BLOCK_BYTES) + PADDING, np.uint8)
    return out, np.zeros(BLOCK_ROWS + 1, np.int64), 0, 0


def _whole_message(data: np.ndarray, position: int, end: int) -> tuple[bytes | None, int]:
    if end - position < 5:
        return None, 0
    (length,) = struct.unpack_from("!I", data.data, position + 1)
    size = int(length) + 1
    if size > LARGEST_MESSAGE or size > end - position:
        return None, 0
    return data[position : position + size].tobytes(), size


def _from_socket(connection: PGconn, statement: str) -> Iterator[bytes]:
    """Raw messages up to ReadyForQuery, from the connection's own socket."""
    with socket.socket(fileno=_duplicate(connection)) as raw:
        raw.setblocking(True)
        query = statement.encode() + b"\0"
        raw.sendall(b"Q" + struct.pack("!I", len(query) + 4) + query)
        raw.setblocking(False)
        poll = select.poll()
        poll.register(raw, select.POLLIN)
        buffer = bytearray(_RECEIVE_BYTES)
        view = memoryview(buffer)
        tail = b""
        while True:
            if not poll.poll(_IDLE_SECONDS * 1000):
                raise _lost("no answer")
            filled = 0
            try:
                while filled < len(buffer):
                    count = raw.recv_into(view[filled:])
                    if count == 0:
                        raise _lost("the server closed it")
                    filled += count
            except BlockingIOError:
                pass
            except OSError as error:
                raise _lost(str(error)) from error
            piece = bytes(view[:filled])
            yield piece
            tail = (tail + piece)[-6:]
            # ReadyForQuery is the last message, and six bytes long.
            if tail[:5] == b"Z\0\0\0\x05" and tail[5:] in (b"T", b"I", b"E"):
                return


def _duplicate(connection: PGconn) -> int:
    import os

    return os.dup(connection.socket)


def _from_libpq(connection: PGconn, statement: str) -> Iterator[bytes]:
    result = connection.exec_(statement.encode())
    if result.status != pq.ExecStatus.COPY_OUT:
        raise _refused(result)
    pieces: list[bytes] = []
    size = 0
    while True:
        length, data = connection.get_copy_data(0)
        if length < 0:
            break
        pieces.append(b"d" + struct.pack("!I", length + 4) + bytes(data))
        size += length
        if size > _RECEIVE_BYTES // 2:
            yield b"".join(pieces)
            pieces, size = [], 0
    if pieces:
        yield b"".join(pieces)
    while (end := connection.get_result()) is not None:
        if end.status == pq.ExecStatus.FATAL_ERROR:
            raise _refused(end)


def _refused(result: PGresult) -> HeadraceError:
    text = " ".join(result.error_message.decode(errors="replace").split())
    return HeadraceError(
        "postgresql.query_failed",
        f"Reading a chunk failed: {text}",
        "Check the role's SELECT privilege and the server's log.",
        retriable=True,
    )


def _lost(what: str) -> HeadraceError:
    return HeadraceError(
        "postgresql.connection_lost",
        f"The connection was lost while a chunk was read: {what}",
        "The chunk is read again.",
        retriable=True,
    )
