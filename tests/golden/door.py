"""Where a recorder or a replay waits for the connections of a driver."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable


class Closed(Exception):
    """The other side has closed the connection."""


class Incoming:
    """The bytes that come through a socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._buffer = bytearray()

    def ahead(self, size: int) -> bytes:
        """The next bytes, which stay where they are. Raises Closed."""
        while len(self._buffer) < size:
            try:
                more = self._socket.recv(1 << 16)
            except OSError:
                raise Closed from None
            if not more:
                raise Closed
            self._buffer += more
        return bytes(self._buffer[:size])

    def take(self, size: int) -> bytes:
        """The next bytes, which are taken. Raises Closed."""
        raw = self.ahead(size)
        del self._buffer[:size]
        return raw


class Door:
    """Listens on a free port of this machine; each connection has a thread, which calls `serve`."""

    def __init__(self, serve: Callable[[socket.socket], None]) -> None:
        self._serve = serve
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.host, self.port = self._listening.getsockname()
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open.append(connection)
            thread = threading.Thread(target=self._one, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _one(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(Closed, OSError):
            self._serve(connection)

    def close(self) -> None:
        """End every connection, and wait for its thread."""
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
