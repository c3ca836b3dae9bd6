"""A server of MongoDB's wire protocol that answers as its manual says: what no `mongod` of the
tests can be, such as a mongos or another version."""

from __future__ import annotations

import socket
import socketserver
import struct
import threading
from collections.abc import Callable, Mapping
from typing import Any

import bson
from bson.timestamp import Timestamp

Document = Mapping[str, Any]
Answer = Callable[[Document], Document | None]

_HEADER = struct.Struct("<iiii")
_OP_REPLY, _OP_QUERY, _OP_MSG = 1, 2004, 2013
_WIRE_VERSIONS = {4: 9, 5: 13, 6: 17, 7: 21, 8: 25}
NOW = Timestamp(1_714_521_600, 9)


class _Connection(socketserver.BaseRequestHandler):
    server: Listener

    def handle(self) -> None:
        while True:
            head = receive(self.request, _HEADER.size)
            if head is None:
                return
            size, request, _, operation = _HEADER.unpack(head)
            body = receive(self.request, size - _HEADER.size)
            if body is None:
                return
            if operation == _OP_QUERY:
                document = body[body.index(0, 4) + 1 + 8 :]
                answer = self.server.owner.answer(bson.decode(document))
                self._send(request, _OP_REPLY, struct.pack("<iqii", 8, 0, 0, 1), answer)
            else:
                assert operation == _OP_MSG
                # Flags, and one section: a byte for its kind, and the command.
                answer = self.server.owner.answer(bson.decode(body[5:]))
                self._send(request, _OP_MSG, struct.pack("<ib", 0, 0), answer)

    def _send(self, request: int, operation: int, start: bytes, answer: Document) -> None:
        body = start + bson.encode(answer)
        head = _HEADER.pack(_HEADER.size + len(body), 0, request, operation)
        self.request.sendall(head + body)


class Listener(socketserver.ThreadingTCPServer):
    """Listens on a free loopback port inside of its context, for an `owner` that handlers ask."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, owner: Any, handler: type[socketserver.BaseRequestHandler]) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", 0), handler)
        self.port: int = self.server_address[1]
        self._thread = threading.Thread(target=self.serve_forever, daemon=True)

    def __enter__(self) -> Listener:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()


def receive(connection: socket.socket, size: int) -> bytes | None:
    """`size` bytes; None: the other side closed the connection."""
    data = b""
    while len(data) < size:
        try:
            more = connection.recv(size - len(data))
        except OSError:
            return None
        if not more:
            return None
        data += more
    return data


class ScriptedServer:
    """Listens on a free loopback port. `answers` are by the names of commands; a command without
    one, or whose answer is None, is unknown (code 59). `replica_set` is None of a mongos.
    `commands` are those that came, without the handshakes."""

    def __init__(
        self,
        version: tuple[int, int, int],
        answers: Mapping[str, Answer],
        replica_set: str | None = None,
    ) -> None:
        self.version, self.answers, self.replica_set = version, answers, replica_set
        self.commands: list[Document] = []
        self._listener = Listener(self, _Connection)
        self.port = self._listener.port

    @property
    def uri(self) -> str:
        """The connection string that fits."""
        options = f"?replicaSet={self.replica_set}" if self.replica_set else ""
        return f"mongodb://127.0.0.1:{self.port}/{options}"

    def __enter__(self) -> ScriptedServer:
        self._listener.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._listener.__exit__(*error)

    def answer(self, command: Document) -> Document:
        """The answer to a command."""
        name = next(iter(command))
        if name.lower() in ("hello", "ismaster"):
            return self._hello()
        self.commands.append(command)
        own_answers: dict[str, Answer] = {
            "buildInfo": lambda _: {"versionArray": [*self.version, 0]},
            "ping": lambda _: {},
            "endSessions": lambda _: {},
            "killCursors": lambda _: {},
        }
        answer = (own_answers | dict(self.answers)).get(name, lambda _: None)(command)
        if answer is None:
            text = f"no such command: '{name}'"
            return {"ok": 0.0, "code": 59, "codeName": "CommandNotFound", "errmsg": text}
        return {"operationTime": NOW, "ok": 1.0, **answer}

    def _hello(self) -> Document:
        wire = _WIRE_VERSIONS[self.version[0]]
        shared = {
            "helloOk": True,
            "isWritablePrimary": True,
            "ismaster": True,
            "maxBsonObjectSize": 16 << 20,
            "maxMessageSizeBytes": 48_000_000,
            "maxWriteBatchSize": 100_000,
            "logicalSessionTimeoutMinutes": 30,
            "minWireVersion": 0,
            "maxWireVersion": wire,
            "ok": 1.0,
        }
        if self.replica_set is None:
            return {**shared, "msg": "isdbgrid"}
        host = f"127.0.0.1:{self.port}"
        return {
            **shared,
            "setName": self.replica_set,
            "setVersion": 1,
            "secondary": False,
            "hosts": [host],
            "primary": host,
            "me": host,
        }


def refused(code: int, name: str, text: str) -> Document:
    """The answer to a command that fails."""
    return {"ok": 0.0, "code": code, "codeName": name, "errmsg": text}


def free_port() -> int:
    """A loopback port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port
