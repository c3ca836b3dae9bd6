"""The relation messages among bytes that were received and are not indexed yet."""

from __future__ import annotations

import struct
from mmap import mmap

from headrace.connectors.postgresql.replication.pgoutput_messages import (
    RelationMessage,
    parse_relation,
)

_XLOG_DATA, _RELATION = ord("w"), ord("R")
_LENGTH = struct.Struct("!I")


def relations_ahead(received: mmap | bytes, start: int, end: int) -> list[RelationMessage]:
    """Those in the whole CopyData frames between two places; `start` is where a frame begins.
    Raises HeadraceError("postgresql.broken_message")."""
    messages = []
    place = start
    while place + 5 <= end:
        (length,) = _LENGTH.unpack_from(received, place + 1)
        following = place + 1 + length
        if length < 4 or following > end:
            break
        if length > 29 and received[place + 5] == _XLOG_DATA and received[place + 30] == _RELATION:
            messages.append(parse_relation(bytes(received[place + 30 : following])))
        place = following
    return messages
