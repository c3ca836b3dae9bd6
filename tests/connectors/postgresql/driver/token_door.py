"""A proxy in front of a PostgreSQL server that asks for tokens, as Amazon RDS does: over TLS only,
and in plain text within it. The server then trusts everybody."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from typing import Self

from headrace.testing.embedded import PostgresServer
from tests.servers.certificates import Certificate

_TLS_REQUEST, _CANCEL_REQUEST = 80877103, 80877102


class TokenDoor:
    """`admits` looks at each token. `tokens` are those that came; the first `refusals` of them are
    refused, whatever they say."""

    def __init__(
        self,
        server: PostgresServer,
        certificate: Certificate,
        admits: Callable[[str], bool],
        refusal: str = 'PAM authentication failed for user "cdc"',
    ) -> None:
        self._server, self._admits, self._refusal = server, admits, refusal
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate.file, certificate.key)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.tokens: list[str] = []
        self.refusals = 0
        self.keeps_replication_out = False
        self._is_open = True
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_open = False
        socket.create_connection(("127.0.0.1", self.port)).close()
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        while self._is_open:
            client, _ = self._listener.accept()
            threading.Thread(target=self._let_in, args=(client,), daemon=True).start()

    def _let_in(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError), contextlib.ExitStack() as stack:
            stack.enter_context(client)
            first = _packet(client)
            (kind,) = struct.unpack("!I", first[4:8])
            upstream = socket.create_connection((self._server.host, self._server.port))
            stack.enter_context(upstream)
            if kind == _CANCEL_REQUEST:
                upstream.sendall(first)
                return
            if kind != _TLS_REQUEST:
                client.sendall(_error("28000", "no pg_hba.conf entry, no encryption"))
                return
            client.sendall(b"S")
            inside = stack.enter_context(self._context.wrap_socket(client, server_side=True))
            startup = _packet(inside)
            inside.sendall(b"R" + struct.pack("!II", 8, 3))  # AuthenticationCleartextPassword
            _exactly(inside, 1)
            token = _packet(inside)[4:-1].decode()
            self.tokens.append(token)
            is_refused = len(self.tokens) <= self.refusals or not self._admits(token)
            if is_refused or (self.keeps_replication_out and b"\0replication\0" in startup):
                inside.sendall(_error("28000", self._refusal))
                return
            upstream.sendall(startup)
            back = threading.Thread(target=_pass_on, args=(upstream, inside), daemon=True)
            back.start()
            _pass_on(inside, upstream)
            back.join()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)


def _exactly(source: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = source.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def _packet(source: socket.socket) -> bytes:
    """Length and rest of a message whose type was read, or that has none."""
    length = _exactly(source, 4)
    return length + _exactly(source, struct.unpack("!I", length)[0] - 4)


def _error(state: str, text: str) -> bytes:
    fields = f"SFATAL\0VFATAL\0C{state}\0M{text}\0\0".encode()
    return b"E" + struct.pack("!I", 4 + len(fields)) + fields
