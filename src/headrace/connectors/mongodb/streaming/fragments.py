"""Events larger than 16 MB, which the server sends in fragments ($changeStreamSplitLargeEvent)."""

from __future__ import annotations

import struct

from headrace.connectors.mongodb.streaming.replies import ReplyMember, members
from headrace.documents.bson import Kind
from headrace.errors import HeadraceError

_INT32 = struct.Struct("<i")
_SPLIT, _TOKEN = "splitEvent", "_id"
_ABSENT = bytes([Kind.NULL])
"""Stands for a member that no fragment had yet: it counts as null."""


class Fragments:
    """The fragments of one event, in the order of their arrival."""

    def __init__(self) -> None:
        self._members: dict[str, bytes] = {}
        self._count = 0

    @property
    def is_open(self) -> bool:
        """Whether fragments of the event are still missing."""
        return self._count > 0

    def add(self, event: bytes) -> bytes | None:
        """Add a fragment; returns the complete event, None if further fragments follow. Of each
        member the first value that is not null counts, but the token is the last fragment's.

        Raises HeadraceError("mongodb.broken_event") for anything but the next fragment.
        """
        try:
            fragment = members(event)
            number, count = self._place_of(event, fragment[_SPLIT])
        except (ValueError, KeyError) as error:
            raise _broken(f"after {self._count} fragments of an event: {error!r}") from None
        if number != self._count + 1 or number > count:
            raise _broken(f"fragment {number} of {count} after {self._count} others")
        self._count = number
        for name, member in fragment.items():
            if name == _SPLIT:
                continue
            raw = bytes([member.kind]) + name.encode() + b"\0" + event[member.begin : member.end]
            if name == _TOKEN or self._members.get(name, _ABSENT)[0] == Kind.NULL:
                self._members[name] = raw
        if number < count:
            return None
        body = b"".join(self._members.values())
        self._members, self._count = {}, 0
        return _INT32.pack(len(body) + _INT32.size + 1) + body + b"\0"

    def _place_of(self, event: bytes, split: ReplyMember) -> tuple[int, int]:
        place = members(event, split.begin) if split.kind == Kind.DOCUMENT else {}
        number, count = (
            _INT32.unpack_from(event, place[name].begin)[0]
            if place[name].kind == Kind.INT32
            else -1
            for name in ("fragment", "of")
        )
        return number, count


def _broken(reason: str) -> HeadraceError:
    return HeadraceError(
        "mongodb.broken_event",
        f"The fragments of a large event do not follow one another: {reason}",
        "Leave splitEvent in cursor.pipeline as it is.",
    )
