"""Replies of the server to the commands of a change stream's cursor, located in their bytes.

No object is created for an event: a reply has the position of its batch.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connectors.mongodb.errors import UNSUPPORTED
from headrace.connectors.mongodb.position import token_time
from headrace.documents.bson import DOCUMENT, SMALLEST_DOCUMENT, Kind
from headrace.documents.kernels.value_sizes import value_size
from headrace.errors import HeadraceError

_INT32, _INT64 = struct.Struct("<i"), struct.Struct("<q")


class ReplyMember(NamedTuple):
    """A member of a document: its type, and the beginning and end of its value."""

    kind: int
    begin: int
    end: int


@dataclass(frozen=True)
class Reply:
    """A reply to `aggregate` or `getMore`.

    The batch is an array, bytes `first` to `last` of `data`. `token` is the server's resume token
    after it, a BSON document; `cursor` is 0 when the server has closed the cursor.
    `operation_time` is the timestamp of the last operation that the server knows of (seconds << 32
    | increment).
    """

    data: bytes
    first: int
    last: int
    token: bytes
    cursor: int
    namespace: str
    operation_time: int

    @property
    def is_empty(self) -> bool:
        """Whether the reply has no events."""
        return self.last - self.first <= SMALLEST_DOCUMENT


def read_reply(data: bytes) -> Reply:
    """Parse the reply in the document `data`. Raises HeadraceError: `mongodb.broken_reply`,
    `mongodb.unsupported_server`."""
    try:
        return _reply(data)
    except (ValueError, KeyError) as error:
        raise HeadraceError(
            "mongodb.broken_reply",
            f"The server's reply to a change stream's command is not valid: {error!r}",
            "Check the server's version, and any proxy between headrace and MongoDB.",
        ) from None


def _reply(data: bytes) -> Reply:
    reply = members(data)
    cursor = members(data, _of_kind(reply["cursor"], Kind.DOCUMENT).begin)
    batch = _of_kind(cursor["nextBatch" if "nextBatch" in cursor else "firstBatch"], Kind.ARRAY)
    if "postBatchResumeToken" not in cursor:
        raise _unsupported("has no resume token after its batches (postBatchResumeToken)")
    token = _of_kind(cursor["postBatchResumeToken"], Kind.DOCUMENT)
    namespace = _of_kind(cursor["ns"], Kind.STRING)
    time = reply.get("operationTime")
    if len(data) - batch.end < PADDING:
        data += bytes(PADDING)
    return Reply(
        data,
        batch.begin,
        batch.end,
        data[token.begin : token.end],
        _INT64.unpack_from(data, _of_kind(cursor["id"], Kind.INT64).begin)[0],
        data[namespace.begin + _INT32.size : namespace.end - 1].decode(),
        0 if time is None else _INT64.unpack_from(data, time.begin)[0] & (1 << 64) - 1,
    )


def check_token(token: bytes) -> None:
    """Check that a server's token contains a time, as positions require and MongoDB's tokens do.
    Raises HeadraceError("mongodb.unsupported_server") for a token of another form."""
    try:
        token_time(token)
    except HeadraceError:
        raise _unsupported("has resume tokens of another form than MongoDB's") from None


def _unsupported(defect: str) -> HeadraceError:
    return HeadraceError(
        "mongodb.unsupported_server", f"The server's change stream {defect}", UNSUPPORTED.remedy
    )


def _of_kind(member: ReplyMember, kind: Kind) -> ReplyMember:
    if member.kind != kind:
        raise ValueError(f"a member has the type {member.kind}, and not {kind.name}")
    return member


def members(data: bytes, start: int = 0) -> dict[str, ReplyMember]:
    """The members of the document that begins at `start`. Raises ValueError if it is broken."""
    return dict(each_member(data, start))


def each_member(data: bytes, start: int = 0) -> Iterator[tuple[str, ReplyMember]]:
    """Yield the members of a document. Raises ValueError at the first broken member."""
    # Bytes read after a member's value are still inside of the enclosing document.
    address = address_of(np.frombuffer(data, np.uint8))
    size = int(value_size(DOCUMENT, address + start, len(data) - start))
    if size < 0:
        raise ValueError("a document has a wrong length")
    place, last = start + _INT32.size, start + size - 1
    while place < last:
        kind, name = data[place], data[place + 1 : data.index(0, place + 1, last + 1)]
        begin = place + len(name) + 2
        length = int(value_size(kind, address + begin, last - begin))
        if length < 0:
            raise ValueError("a member has a wrong length or type")
        place = begin + length
        yield name.decode(errors="replace"), ReplyMember(kind, begin, place)
