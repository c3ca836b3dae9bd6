"""PostgreSQL's protocol as far as a recorder has to know it: messages, and where answers end.

Protocol: PostgreSQL manual, "Message Formats".
"""

from __future__ import annotations

import re
import struct

from tests.golden.door import Incoming

SSL, GSS, CANCEL = 80877103, 80877104, 80877102
"""Codes of requests that stand in the place of a protocol version."""
READY, COPY_BOTH, COPY_DATA, COPY_DONE, TERMINATE = b"Z", b"W", b"d", b"c", b"X"
_ENDS = (b"Q", b"S")  # a simple query; Sync
_OF_STREAMS = (COPY_DATA, COPY_DONE, b"f", b"H", TERMINATE)
_START = re.compile(rb'(START_REPLICATION SLOT "[^"]*" LOGICAL )[0-9A-F]+/[0-9A-F]+')
_MARK = re.compile(rb"(?<=[a-z%] )[0-9a-f]{8}\b")
"""By which our connector knows the sessions of one run."""


class Messages(Incoming):
    """The messages that come through a socket, each with its header."""

    def startup(self) -> tuple[int, bytes]:
        """A message without a type: its code, and all of it."""
        (size,) = struct.unpack("!I", self.ahead(4))
        raw = self.take(size)
        return struct.unpack("!I", raw[4:8])[0], raw

    def byte(self) -> bytes:
        """The answer to SSLRequest."""
        return self.take(1)

    def next(self) -> bytes:
        """The next message."""
        kind_and_size = self.ahead(5)
        return self.take(1 + struct.unpack("!I", kind_and_size[1:])[0])


class Session:
    """What a client asks on a connection: a startup message begins it."""

    def __init__(self, startup: bytes) -> None:
        parts = startup[8:].split(b"\0")
        settings = dict(zip(parts[::2], parts[1::2], strict=False))
        self.startup = b"startup"
        """Its first question."""
        who = (b"user", b"database", b"replication", b"application_name")
        self.who = _MARK.sub(b"", b"|".join(settings.get(name, b"") for name in who))
        self._messages: list[bytes] = []

    def asks(self, message: bytes) -> bytes | None:
        """The question that a message completes; None: it goes on, or asks nothing."""
        if message[:1] in _OF_STREAMS:
            return None
        self._messages.append(message)
        if message[:1] not in _ENDS:
            return None
        asked = b"".join(self._messages)
        self._messages = []
        # Where a stream is to begin depends on what was acknowledged before.
        return _MARK.sub(b"", _START.sub(rb"\1", asked))


def writes_signal(session: Session, asked: bytes) -> bool:
    """Whether our connector writes a signal, or deletes one."""
    of_signals = b"headrace signals" in session.who
    return of_signals and asked[5:].startswith((b"INSERT", b"DELETE"))


def is_start(asked: bytes) -> bool:
    """Whether it begins a stream."""
    return b"START_REPLICATION" in asked[:30]


def refusal(text: str) -> bytes:
    """An ErrorResponse and ReadyForQuery."""
    fields = {b"S": b"ERROR", b"V": b"ERROR", b"C": b"XX000", b"M": _printable(text)}
    content = b"".join(kind + value + b"\0" for kind, value in fields.items()) + b"\0"
    return b"E" + struct.pack("!I", len(content) + 4) + content + b"Z\0\0\0\5I"


def _printable(text: str) -> bytes:
    return " ".join(text.replace("\0", " ").split())[:1000].encode()
