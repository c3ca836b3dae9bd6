"""The position of the MongoDB connector in the oplog: resume tokens, and their form in offsets."""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headrace.connect.rows import NULL
from headrace.errors import HeadraceError
from headrace.offsets.offset import Offset
from headrace.offsets.position import delivered_by_count
from headrace.signals.stored import (
    LARGEST_COUNT,
    checked_text,
    number,
    optional_number,
    optional_text,
)

_HALF = (1 << 64) - 1
_INCREMENT = (1 << 32) - 1
_TIMESTAMP_BYTES = 9
_TIMESTAMP = 0x82
"""The first byte of a token's `_data`: a timestamp follows, in network byte order."""


@dataclass(frozen=True)
class Unread:
    """Virtual addresses of a position's resume token in the spool, and of the image with its
    session (0: no session)."""

    token: int
    token_size: int
    session: int


@dataclass(frozen=True)
class MongoPosition:
    """See headrace.offsets.position.Position. A place is a clusterTime (`time`: seconds << 32 |
    increment) and the `number` of events that were received at it; for ranges, each event ends a
    transaction, so a position is never inside of one.

    `token`, a document of BSON, is the position at which the stream resumes, after `token_number`
    events of its time: this position, unless transactions are counted and one is open; then it is
    before that transaction, and delivered events are skipped. None: it is `unread`. `session`
    (Extended JSON) and `transaction_number` are those of the last event.
    """

    time: int = 0
    number: int = 0
    token: bytes | None = None
    token_number: int = 0
    session: str | None = None
    transaction_number: int | None = None
    unread: Unread | None = field(default=None, compare=False, repr=False)

    transaction = None
    messages = 0
    has_delivered = delivered_by_count

    @property
    def committed(self) -> int:
        """See Position."""
        return (self.time & _HALF) << 64 | self.number

    @property
    def is_boundary(self) -> bool:
        """See Position: unknown after an event of a transaction, because nothing says which of its
        events is the last one."""
        return self.transaction_number is None

    @property
    def shown(self) -> int:
        """See Position: `ord`, the increment of the clusterTime."""
        return self.time & _INCREMENT

    def after(self, end: np.void) -> MongoPosition:
        """See Position."""
        number, transaction = int(end["number"]), int(end["transaction"])
        token = end["token"]
        return MongoPosition(
            int(end["time"]) & _HALF,
            number,
            token if isinstance(token, bytes) else None,
            int(end["token_number"]),
            None,
            None if transaction == NULL else transaction,
            None
            if isinstance(token, bytes)
            else Unread(int(token), int(end["token_size"]), int(end["session"])),
        )

    def inside(self, row: np.void) -> None:  # noqa: ARG002
        """See Position: the rows of one event are never separated."""
        return

    def is_at(self, other: MongoPosition) -> bool:
        """See Position."""
        return self.committed == other.committed

    def to_json(self) -> dict[str, Any]:
        """The members of an offset, by Debezium's names; `ordinal` is `number`."""
        out: dict[str, Any] = {
            "sec": self.time >> 32,
            "ord": self.shown,
            "ordinal": self.number,
        }
        if self.token is not None:
            out["resume_token"] = base64.b64encode(self.token).decode()
        if self.token_number != self.number:
            out["resume_ordinal"] = self.token_number
        if self.session is not None:
            out["lsid"] = self.session
        if self.transaction_number is not None:
            out["txnNumber"] = self.transaction_number
        return out

    @classmethod
    def at(cls, place: int) -> MongoPosition:
        """See Position; without a token."""
        return cls(place >> 64, place & _HALF, token_number=place & _HALF)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> MongoPosition:
        """Read the position from the members of an offset. Raises
        HeadraceError("mongodb.broken_token"), and ValueError."""
        text = data.get("resume_token")
        token = None if text is None else read_token(checked_text(text, "resume_token"))
        seconds = number(data, "sec", 0, least=-LARGEST_COUNT, most=_INCREMENT)
        increment = number(data, "ord", 0, least=-1, most=_INCREMENT)
        # Debezium stores no time for a token after which no event has arrived.
        if seconds < 0:
            time = 0 if token is None else token_time(token)
        else:
            time = seconds << 32 | increment
        count = number(data, "ordinal", 0)
        return cls(
            time,
            count,
            token,
            number(data, "resume_ordinal", count),
            optional_text(data.get("lsid"), "lsid"),
            optional_number(data, "txnNumber", least=-LARGEST_COUNT),
        )

    def __str__(self) -> str:
        return f"Timestamp({self.time >> 32}, {self.shown}), event {self.number}"


MongoOffset = Offset[MongoPosition]


def at_token(token: bytes) -> MongoPosition:
    """The position of a token after which no event has arrived."""
    return MongoPosition(token_time(token), 0, token)


def token_time(token: bytes) -> int:
    """The clusterTime in a resume token: seconds << 32 | increment."""
    raw = _data_of(token)
    if len(raw) < _TIMESTAMP_BYTES or raw[0] != _TIMESTAMP:
        raise _broken(token.hex())
    return int.from_bytes(raw[1:_TIMESTAMP_BYTES], "big")


def _data_of(token: bytes) -> bytes:
    """The first bytes of a token's `_data`, which is a string of hexadecimal digits, or binary data
    (MongoDB 4.0 and 4.2)."""
    name = b"_data\0"
    try:
        if token[5:11] == name and token[4] == 0x02:
            (length,) = struct.unpack_from("<i", token, 11)
            digits = token[15 : 15 + min(length - 1, 2 * _TIMESTAMP_BYTES)]
            return bytes.fromhex(digits.decode("ascii"))
        if token[5:11] == name and token[4] == 0x05:
            return token[16 : 16 + _TIMESTAMP_BYTES]
    except (IndexError, ValueError, struct.error):
        pass
    raise _broken(token.hex())


def read_token(text: str) -> bytes:
    """Decode the token stored as `resume_token`: base64 of its document, or, as written by old
    versions of Debezium, only its `_data`, in hexadecimal."""
    try:
        token = base64.b64decode(text, validate=True)
        if len(token) >= 5 and struct.unpack_from("<i", token)[0] == len(token):
            return token
    except (binascii.Error, ValueError):
        pass
    if len(text) >= 2 * _TIMESTAMP_BYTES and all(c in "0123456789abcdefABCDEF" for c in text):
        data = text.encode() + b"\0"
        member = b"\x02_data\0" + struct.pack("<i", len(data)) + data + b"\0"
        return struct.pack("<i", len(member) + 4) + member
    raise _broken(text)


def _broken(token: str) -> HeadraceError:
    return HeadraceError(
        "mongodb.broken_token",
        f"The stored resume token is not valid: {token[:80]}",
        "Use the checkpoint as headrace wrote it, or start with a new one.",
    )
