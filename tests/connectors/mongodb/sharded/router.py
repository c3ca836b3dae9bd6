"""A stand-in for a mongos: it passes commands to the `mongod` of the tests, and answers `hello` and
commands on the database `local` as a mongos does."""

from __future__ import annotations

import socket
import socketserver
import struct
from collections.abc import Mapping
from typing import Any

import bson
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.timestamp import Timestamp

from tests.servers.scripted_mongodb import Listener, receive

Document = dict[str, Any]

_HEADER = struct.Struct("<iiii")
_OP_REPLY, _OP_MSG = 1, 2013
_REPLY_HEAD = 20  # flags, cursor, first and number of an OP_REPLY
_OF_REPLICA_SETS = (
    "setName", "setVersion", "hosts", "primary", "me", "secondary", "electionId", "lastWrite",
    "topologyVersion", "isImplicitDefaultMajorityWC",
)  # fmt: skip
_LOCAL = {
    "ok": 0.0,
    "code": 20,
    "codeName": "IllegalOperation",
    "errmsg": "Can't use 'local' database through mongos",
}
_OPTIONS: CodecOptions[Document] = CodecOptions(datetime_conversion=DatetimeConversion.DATETIME_MS)


class _Connection(socketserver.BaseRequestHandler):
    server: Listener

    def handle(self) -> None:
        router = self.server.owner
        with socket.create_connection(router.address) as upstream:
            while (message := _receive(self.request)) is not None:
                command = _command(message)
                if command.get("$db") == "local":
                    self.request.sendall(_answer(message, _LOCAL))
                    continue
                router.commands.append(command)
                upstream.sendall(message)
                reply = _receive(upstream)
                if reply is None:
                    return
                self.request.sendall(router.answer(next(iter(command)), reply))


class Router:
    """Listens on a free loopback port, in front of the server at `address`. `known` is the time of
    the last operation that it heard of; None: of all. `commands` are those that came."""

    def __init__(self, address: tuple[str, int], known: Timestamp | None = None) -> None:
        self.address, self.known = address, known
        self.commands: list[Mapping[str, Any]] = []
        self._listener = Listener(self, _Connection)
        self.port = self._listener.port

    @property
    def uri(self) -> str:
        """The connection string that fits; the server's own transactions need no router."""
        return f"mongodb://127.0.0.1:{self.port}/"

    def __enter__(self) -> Router:
        self._listener.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._listener.__exit__(*error)

    def answer(self, name: str, reply: bytes) -> bytes:
        """The server's answer to a command, as a mongos gives it."""
        if name.lower() in ("hello", "ismaster"):
            hello = {n: v for n, v in _document(reply).items() if n not in _OF_REPLICA_SETS}
            return _replaced(reply, {**hello, "msg": "isdbgrid"})
        if name == "ping" and self.known is not None:
            return _replaced(reply, {**_document(reply), "operationTime": self.known})
        return reply


def _receive(connection: socket.socket) -> bytes | None:
    """A message; None: the other side hung up."""
    head = receive(connection, _HEADER.size)
    if head is None:
        return None
    body = receive(connection, _HEADER.unpack(head)[0] - _HEADER.size)
    return None if body is None else head + body


def _place(message: bytes) -> int:
    """The place where the document of a message begins: in the first section of an OP_MSG, after
    the head of an OP_REPLY, after the collection of an OP_QUERY."""
    operation = _HEADER.unpack_from(message)[3]
    if operation == _OP_MSG:
        return _HEADER.size + 5
    if operation == _OP_REPLY:
        return _HEADER.size + _REPLY_HEAD
    return message.index(0, _HEADER.size + 4) + 1 + 8


def _document(message: bytes) -> Document:
    place = _place(message)
    (size,) = struct.unpack_from("<i", message, place)
    return bson.decode(message[place : place + size], _OPTIONS)


def _command(message: bytes) -> Document:
    return _document(message)


def _replaced(reply: bytes, document: Mapping[str, Any]) -> bytes:
    body = reply[_HEADER.size : _place(reply)] + bson.encode(document)
    _, number, to, operation = _HEADER.unpack_from(reply)
    return _HEADER.pack(_HEADER.size + len(body), number, to, operation) + body


def _answer(message: bytes, document: Mapping[str, Any]) -> bytes:
    """An OP_MSG that answers another one."""
    body = struct.pack("<ib", 0, 0) + bson.encode(document)
    number = _HEADER.unpack_from(message)[1]
    return _HEADER.pack(_HEADER.size + len(body), 0, number, _OP_MSG) + body
