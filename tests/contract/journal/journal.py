"""A database in a folder: one file, to which transactions are appended whole.

A frame of the file is its length (uint32), a letter, the collection's number and images, as
`headrace.connect.images` has them; numbers are in network byte order. B begins a transaction: its
place (16 bytes: the file's generation and the offset of its E), the microseconds since 1970, and an
image with its id, a text. c, u and d are changes with a new, an old and a new, an old image. E ends
the transaction. Nothing is written of a transaction that is rolled back.

A file `first` has the offset from which on the log is there: what is before it was given up.
"""

from __future__ import annotations

import fcntl
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headrace.connect.images import cells, make_image
from headrace.errors import HeadraceError

COLLECTIONS = ("things", "marks")
HEAD, BEGIN = struct.Struct("!IBB"), struct.Struct("!qqq")
GENERATION = 7
"""The upper half of every place."""


def place_of(offset: int) -> int:
    """A place in the log, 16 bytes, of an offset in the file."""
    return GENERATION << 64 | offset


def offset_of(place: int) -> int:
    """The reverse of `place_of`."""
    return place & (1 << 64) - 1


@dataclass(frozen=True)
class Journal:
    """The folder of a database; whoever opens it may read and write. Methods raise OSError while
    the database is stopped: then the file is not there."""

    folder: Path

    @property
    def file(self) -> Path:
        """The log, and all that there is."""
        return self.folder / "journal"

    def acknowledged(self, reader: str) -> Path:
        """The file with the place up to which a reader needs nothing any more, in hexadecimal."""
        return self.folder / f"acknowledged-{reader}"

    def read(self, start: int = 0, size: int = -1) -> bytes:
        """`size` bytes of the file from `start` on, or all."""
        with self.file.open("rb") as file:
            file.seek(start)
            return file.read(size)

    def end(self) -> int:
        """The place after the last transaction."""
        with self.file.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            return place_of(file.seek(0, 2))

    def rows(self, collection: str, up_to: int) -> dict[int, bytes]:
        """The images of a collection's rows by key, in its order, as of the place `up_to`."""
        rows: dict[int, bytes] = {}
        for kind, number, body in _frames(self.read(0, offset_of(up_to))):
            if COLLECTIONS[number] == collection and kind in "cud":
                first = make_image(cells(body))
                if kind != "c":
                    del rows[_key(first)]
                if kind != "d":
                    new = first if kind == "c" else body[len(first) :]
                    rows[_key(new)] = new
        return dict(sorted(rows.items()))

    def check(self, place: int) -> None:
        """Raises HeadraceError when the log from `place` on is gone."""
        self.read(0, 0)
        first = int((self.folder / "first").read_text())
        if offset_of(place) < first:
            message = f"The journal begins at {first}"
            raise HeadraceError("journal.lost", message, "Start a new checkpoint.")


def translate(error: Exception) -> HeadraceError | None:
    """The driver's errors in our words."""
    if not isinstance(error, OSError):
        return None
    return HeadraceError(
        "journal.gone", f"The journal does not answer: {error}", "Wait.", retriable=True
    )


def _frames(log: bytes) -> Iterator[tuple[str, int, bytes]]:
    """Kind, collection and body of each frame."""
    start = 0
    while start < len(log):
        size, kind, collection = HEAD.unpack_from(log, start)
        yield chr(kind), collection, log[start + HEAD.size : start + size]
        start += size


def _key(image: bytes) -> int:
    return int(cells(image)[0] or b"")
