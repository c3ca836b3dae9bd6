"""The clients of the endpoint: one thread receives their requests and sends the responses, and
waits for none of them."""

from __future__ import annotations

import contextlib
import logging
import selectors
import socket
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

_MOST = 64
"""The most open connections; a new one then ends the oldest one that has sent no whole request."""
_REQUEST_S, _RESPONSE_S = 5.0, 10.0
"""Seconds that a client may take for its request, and for receiving the response."""
_MAX_BYTES = 16 << 10
"""The most bytes of a request, which has no body."""
_TOO_LARGE = b"GET /too-large HTTP/1.0\r\n" + b"x: y\r\n" * 200 + b"\r\n"
_LOOK_S = 0.5
_RETRY_S = 0.1


class _Client:
    """A connection: its request up to the empty line, then the rest of its response."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.request = b""
        self.response: memoryview | None = None
        self.latest = time.monotonic() + _REQUEST_S

    def receive(self) -> bytes | None:
        """Receive once. Return the request if it is whole; one that is too large is replaced by one
        that is refused for that. Raises EOFError if the client ends."""
        more = self.connection.recv(4096)
        if not more:
            raise EOFError
        self.request += more
        if b"\r\n\r\n" in self.request or b"\n\n" in self.request:
            return self.request
        return _TOO_LARGE if len(self.request) > _MAX_BYTES else None

    def respond(self, response: bytes) -> None:
        """Take the response, which `send` sends."""
        self.response, self.latest = memoryview(response), time.monotonic() + _RESPONSE_S

    def send(self) -> None:
        """Send what the client takes now. Raises EOFError after the last byte."""
        assert self.response is not None
        self.response = self.response[self.connection.send(self.response) :]
        if not self.response:
            raise EOFError

    def end(self) -> None:
        """Close the connection."""
        self.connection.close()


class Clients:
    """The connections of a listening socket. `answer` returns the response to a request's head."""

    def __init__(self, listener: socket.socket, answer: Callable[[bytes], bytes]) -> None:
        self._listener, self._answer = listener, answer
        self._selector = selectors.DefaultSelector()
        self._clients: dict[socket.socket, _Client] = {}  # in the order of their arrival
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ)

    def serve(self, is_closed: Callable[[], bool]) -> None:
        """Serve all clients until `is_closed`, which `shutdown` of the listener makes it ask at
        once."""
        while not is_closed():
            for key, _ in self._selector.select(_LOOK_S):
                if key.data is None:
                    self._accept(is_closed)
                elif key.data.connection in self._clients:  # not ended in favour of a new one
                    self._go_on(key.data)
            now = time.monotonic()
            for client in [late for late in self._clients.values() if late.latest <= now]:
                self._end(client)
        for client in list(self._clients.values()):
            self._end(client)
        self._selector.close()

    def _accept(self, is_closed: Callable[[], bool]) -> None:
        try:
            connection, _ = self._listener.accept()
        except BlockingIOError:
            return  # the client is gone
        except OSError:
            if not is_closed():
                self._end_oldest()
                time.sleep(_RETRY_S)  # too many open files, for example
            return
        if len(self._clients) >= _MOST:
            self._end_oldest()
        connection.setblocking(False)
        client = self._clients[connection] = _Client(connection)
        self._selector.register(connection, selectors.EVENT_READ, client)

    def _go_on(self, client: _Client) -> None:
        try:
            if client.response is None:
                request = client.receive()
                if request is None:
                    return
                client.respond(self._answer(request))
                self._selector.modify(client.connection, selectors.EVENT_WRITE, client)
            client.send()
        except BlockingIOError:
            pass
        except (OSError, EOFError):  # the client is gone, or has its response
            self._end(client)
        except Exception:  # another request may succeed
            log.warning("a request for metrics failed", exc_info=True)
            self._end(client)

    def _end_oldest(self) -> None:
        """End the connection that has sent no whole request for the longest time; if all have
        sent theirs, the oldest one."""
        clients = list(self._clients.values())
        idle = [client for client in clients if client.response is None]
        for client in (idle or clients)[:1]:
            self._end(client)

    def _end(self, client: _Client) -> None:
        del self._clients[client.connection]
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(client.connection)
        client.end()
