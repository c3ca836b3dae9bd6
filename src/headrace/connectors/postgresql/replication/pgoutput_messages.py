"""Rare pgoutput messages, parsed in Python: relations, truncates, logical messages.

Format: PostgreSQL manual, "Logical Replication Message Formats".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from mmap import mmap

from headrace.errors import HeadraceError


@dataclass(frozen=True)
class RelationColumn:
    """A column as the log describes it; `in_identity`: part of the replica identity."""

    name: str
    type_oid: int
    type_modifier: int
    in_identity: bool


@dataclass(frozen=True)
class RelationMessage:
    """The description of a table at this place of the log."""

    oid: int
    schema: str
    table: str
    identity: str  # d default, n nothing, f full, i index
    columns: tuple[RelationColumn, ...]


@dataclass(frozen=True)
class LogicalMessage:
    """A message written by pg_logical_emit_message."""

    transactional: bool
    lsn: int
    prefix: str
    content: bytes


class _Reader:
    def __init__(self, body: bytes) -> None:
        self.body = body
        self.place = 1

    def take(self, layout: str) -> tuple[int, ...]:
        values = struct.unpack_from("!" + layout, self.body, self.place)
        self.place += struct.calcsize("!" + layout)
        return values

    def text(self) -> str:
        end = self.body.index(b"\0", self.place)
        value = self.body[self.place : end].decode()
        self.place = end + 1
        return value


MAX_COLUMNS = 1664
"""PostgreSQL's MaxTupleAttributeNumber; buffers for rows have room for as many columns."""


def broken(reason: str) -> HeadraceError:
    """The error of bytes that do not conform to the manual."""
    return HeadraceError(
        "postgresql.broken_message",
        f"The server sent something that is not the replication protocol: {reason}",
        "Check any proxy between headrace and PostgreSQL, and the server's version.",
    )


@contextmanager
def _read(body: bytes, kind: str) -> Iterator[_Reader]:
    """Read a message of one kind; any error while reading means that it is malformed."""
    try:
        yield _Reader(body)
    except (struct.error, ValueError) as error:
        raise broken(f"a malformed {kind} message") from error


def parse_relation(body: bytes) -> RelationMessage:
    """Parse an `R` message. Raises HeadraceError("postgresql.broken_message")."""
    with _read(body, "relation") as reader:
        (oid,) = reader.take("I")
        schema, table = reader.text(), reader.text()
        identity, count = reader.take("BH")
        if count > MAX_COLUMNS:
            raise broken(f"a malformed relation message, which announces {count} columns")
        columns = []
        for _ in range(count):
            (flags,) = reader.take("B")
            name = reader.text()
            type_oid, modifier = reader.take("Ii")
            columns.append(RelationColumn(name, type_oid, modifier, bool(flags & 1)))
    return RelationMessage(oid, schema or "pg_catalog", table, chr(identity), tuple(columns))


def parse_origin(body: bytes) -> tuple[int, str]:
    """Parse an `O` message: LSN of the commit on the origin, and the origin's name."""
    with _read(body, "origin") as reader:
        (lsn,) = reader.take("Q")
        return lsn, reader.text()


def parse_truncate(body: bytes) -> tuple[int, ...]:
    """Parse a `T` message: the relation oids in its order."""
    with _read(body, "truncate") as reader:
        count, _flags = reader.take("IB")
        if count > len(body):
            raise ValueError(count)
        return reader.take(f"{count}I")


def parse_message(body: bytes) -> LogicalMessage:
    """Parse an `M` message."""
    with _read(body, "logical") as reader:
        flags, lsn = reader.take("BQ")
        prefix = reader.text()
        (length,) = reader.take("I")
        content = body[reader.place : reader.place + length]
        if len(content) != length:
            raise ValueError(length)
    return LogicalMessage(bool(flags & 1), lsn, prefix, content)


_XLOG_DATA, _RELATION = ord("w"), ord("R")
_LENGTH = struct.Struct("!I")


def relations_ahead(received: mmap | bytes, start: int, end: int) -> list[RelationMessage]:
    """Return the relation messages in the complete CopyData frames between two places; a frame
    begins at `start`. Raises HeadraceError("postgresql.broken_message")."""
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
