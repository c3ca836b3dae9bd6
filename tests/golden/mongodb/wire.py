"""MongoDB's protocol as far as a recorder has to know it: messages, and what names a command.

Protocol: MongoDB manual, "MongoDB Wire Protocol".
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass
from typing import Any

import bson
from bson.codec_options import CodecOptions, DatetimeConversion

from tests.golden.conversation import question
from tests.golden.door import Closed
from tests.servers.scripted_mongodb import receive

Document = dict[str, Any]
_HEADER = struct.Struct("<iiii")
_OP_REPLY, _OP_QUERY = 1, 2004
OP_MSG = 2013
_OPTIONS: CodecOptions[Document] = CodecOptions(datetime_conversion=DatetimeConversion.DATETIME_MS)
_OF_SESSIONS = ("lsid", "$clusterTime", "txnNumber", "maxTimeMS")
_STARTS = ("resumeAfter", "startAfter", "startAtOperationTime")
_TIMES = ("afterClusterTime", "atClusterTime")


@dataclass(frozen=True)
class Message:
    """A message without its header."""

    number: int
    answers: int  # the number of another one
    operation: int
    body: bytes

    @property
    def document(self) -> Document:
        """The command, or the reply."""
        if self.operation == _OP_QUERY:
            return decode(self.body[self.body.index(0, 4) + 1 + 8 :])
        return decode(self.body[20 if self.operation == _OP_REPLY else 5 :])

    def raw(self) -> bytes:
        """With its header."""
        size = _HEADER.size + len(self.body)
        return _HEADER.pack(size, self.number, self.answers, self.operation) + self.body

    def reply(self, document: Document) -> Message:
        """A reply to this command."""
        text = bson.encode(document)
        if self.operation == _OP_QUERY:
            return Message(0, self.number, _OP_REPLY, struct.pack("<iqii", 8, 0, 0, 1) + text)
        return Message(0, self.number, OP_MSG, struct.pack("<ib", 0, 0) + text)


def next_message(connection: socket.socket) -> Message:
    """The next message of a connection. Raises Closed."""
    head = receive(connection, _HEADER.size)
    if head is None:
        raise Closed
    size, number, answers, operation = _HEADER.unpack(head)
    body = receive(connection, size - _HEADER.size)
    if body is None:
        raise Closed
    return Message(number, answers, operation, body)


def decode(raw: bytes) -> Document:
    """The document at the beginning of `raw`."""
    (size,) = struct.unpack_from("<i", raw)
    return bson.decode(raw[:size], _OPTIONS)


def is_hello(command: Document) -> bool:
    """Whether a driver says so to learn about a server."""
    return next(iter(command)).lower() in ("hello", "ismaster")


def opens_stream(command: Document) -> bool:
    """Whether it opens a change stream."""
    return any("$changeStream" in stage for stage in command.get("pipeline", ()))


def writes_signal(command: Document) -> bool:
    """Whether our connector writes a signal, or deletes one."""
    return next(iter(command)) in ("insert", "delete")


def asked(message: Message, command: Document) -> str:
    """The question that a command is. Sessions and limits of time are left out, and where a
    stream or a reading begins: that depends on the moment."""
    kept = {name: value for name, value in command.items() if name not in _OF_SESSIONS}
    if "readConcern" in kept:
        kept["readConcern"] = _without(kept["readConcern"], _TIMES)
    if opens_stream(command):
        stages = kept["pipeline"]
        kept["pipeline"] = [
            {name: _without(value, _STARTS) if name == "$changeStream" else value}
            for stage in stages
            for name, value in stage.items()
        ]
    own = bson.encode(command)
    rest = message.body[5 + len(own) :] if message.operation == OP_MSG else b""
    return question(bson.encode(kept), rest)


def quiet(reply: Document) -> Document:
    """A reply of a change stream as it is when nothing happened since."""
    cursor = _without(reply["cursor"], ("firstBatch", "nextBatch"))
    return {**reply, "cursor": {"nextBatch": [], **cursor}}


def _without(document: Document, names: tuple[str, ...]) -> Document:
    return {name: value for name, value in document.items() if name not in names}
