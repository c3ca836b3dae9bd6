"""A database in a folder: one file, to which transactions are appended whole.

A frame of the file is its length (uint32), a letter, the collection's number and images, as
`headrace.connect.images` has them; numbers are in network byte order. B begins a transaction: its
position (16 bytes: the file's generation and the offset of its C), the microseconds since 1970,
and an image with its id, a text. I, U and D are changes with a new, an old and a new, an old image.
C ends the transaction. Nothing is written of a transaction that is rolled back.
"""

from __future__ import annotations

import fcntl
import itertools
import struct
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from headrace.connect.images import cells, make_image

COLLECTIONS = ("things", "marks")
HEAD = struct.Struct("!IBB")
BEGIN = struct.Struct("!qqq")
GENERATION = 7
"""The upper half of every position."""
_numbers = itertools.count(1)

Row = tuple[int, str]


class Frame(NamedTuple):
    """A frame at `offset` of what was read, and what stands behind its head."""

    offset: int
    kind: str
    collection: int
    body: bytes


def frames(data: bytes) -> Iterator[Frame]:
    """The whole frames of a part of the file."""
    start = 0
    while start + HEAD.size <= len(data):
        size, kind, collection = HEAD.unpack_from(data, start)
        if start + size > len(data):
            break
        yield Frame(start, chr(kind), collection, data[start + HEAD.size : start + size])
        start += size


@dataclass(frozen=True)
class Journal:
    """The folder of a database; whoever opens it may read and write."""

    folder: Path

    @property
    def file(self) -> Path:
        """The log, and all that there is."""
        return self.folder / "journal"

    @property
    def first(self) -> int:
        """The offset from which on the log is there; what is before it was given up."""
        kept = self.folder / "first"
        return int(kept.read_text()) if kept.exists() else 0

    def acknowledged(self, reader: str) -> Path:
        """Where it stands up to which place a reader needs nothing any more, in hexadecimal."""
        return self.folder / f"acknowledged-{reader}"

    def read(self, start: int = 0, size: int = -1) -> bytes:
        """So many bytes of the file, or all. Raises OSError while the database is stopped."""
        if (self.folder / "stopped").exists():
            raise ConnectionRefusedError(f"{self.folder} is stopped")
        if not self.file.exists():
            return b""
        with self.file.open("rb") as file:
            file.seek(start)
            return file.read(size)

    def commit(self, changes: Iterable[tuple[int, Row | None, Row | None]]) -> None:
        """One transaction: collection, row before and row after of each change."""
        identity = make_image([f"txn:{next(_numbers)}:{time.time_ns():x}"])
        body = b"".join(
            _frame(_kind(old, new), collection, b"".join(_image(r) for r in (old, new) if r))
            for collection, old, new in changes
        ) + _frame("C", 0, b"")
        with self.file.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            begin = HEAD.size + BEGIN.size + len(identity)
            end = file.seek(0, 2) + begin + len(body)
            now = time.time_ns() // 1000
            head = BEGIN.pack(GENERATION, end - HEAD.size, now)
            file.write(_frame("B", 0, head + identity) + body)

    def rows(self, collection: int, upto: int | None = None) -> dict[int, bytes]:
        """The images of a collection's rows by key, as of the offset `upto`."""
        rows: dict[int, bytes] = {}
        for frame in frames(self.read(0, -1 if upto is None else upto)):
            if frame.collection != collection or frame.kind not in "IUD":
                continue
            for image, lives in _images(frame):
                key = _key(image)
                rows.pop(key, None)
                if lives:
                    rows[key] = image
        return rows


def _kind(old: Row | None, new: Row | None) -> str:
    return "U" if old and new else "I" if new else "D"


def _frame(kind: str, collection: int, body: bytes) -> bytes:
    return HEAD.pack(HEAD.size + len(body), ord(kind), collection) + body


def _image(row: Row) -> bytes:
    return make_image([str(row[0]), row[1]])


def _key(image: bytes) -> int:
    key, _text = cells(image)
    assert key is not None
    return int(key)


def _images(frame: Frame) -> Iterator[tuple[bytes, bool]]:
    """The images of a change, each with whether it is a row afterwards."""
    if frame.kind != "U":
        yield frame.body, frame.kind == "I"
        return
    old = make_image(cells(frame.body))
    yield old, False
    yield frame.body[len(old) :], True
