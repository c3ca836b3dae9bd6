"""Rows of change tables that tests make up, and the frames that are written of them, read back."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from headrace.connect.images import cells
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connectors.db2.rows.images import images_at
from headrace.connectors.db2.streaming import frames
from headrace.connectors.db2.streaming.change_table import LEADING, ChangeTable
from headrace.connectors.db2.streaming.merging import merged
from headrace.connectors.db2.types.source_type import Db2Type
from headrace.relational.table import Column

Row = tuple[bytes, bytes, str, int]
"""IBMSNAP_COMMITSEQ, IBMSNAP_INTENTSEQ, IBMSNAP_OPERATION, and a column ID."""
IMAGES = images_at("a change table", [Column("ID", Db2Type("INTEGER"), True)], [LEADING])


def lsn(number: int, size: int = 16) -> bytes:
    """A number of the log."""
    return number.to_bytes(size, "big")


@dataclass
class Rows:
    """A cursor that gives at most so many rows at once, whatever is asked for, and those that are
    fetched ahead first."""

    rows: Sequence[Row]
    sizes: Sequence[int] = (1,)
    given: int = 0
    fetches: int = field(default=0)
    _ahead: Sequence[Row] | None = None

    def ahead(self, rows: int) -> None:
        if self._ahead is None:
            self._ahead = self._take(rows)

    def fetch(self, rows: int) -> Sequence[Row]:
        part, self._ahead = self._ahead, None
        return self._take(rows) if part is None else part

    def _take(self, rows: int) -> Sequence[Row]:
        size = min(rows, self.sizes[self.fetches % len(self.sizes)])
        part = self.rows[self.given : self.given + size]
        self.given, self.fetches = self.given + len(part), self.fetches + 1
        return part

    def close(self) -> None:
        pass


def change_table(rows: Sequence[Row], relation: int, sizes: Sequence[int] = (1,)) -> ChangeTable:
    """A change table with these rows, whose cursor gives them in parts of these sizes."""
    return ChangeTable(Rows(rows, sizes), IMAGES, relation, ("ASNCDC", f"CD{relation}"), 1000)


@dataclass(frozen=True)
class Change:
    """The content of a change's frame: its table, the kind of its frame, its number as a text, and
    the IDs before and after."""

    table: int
    kind: str
    change_lsn: str
    ids: tuple[int, ...]


@dataclass(frozen=True)
class Transaction:
    """The content of a transaction's frames."""

    commit_lsn: str
    place: int
    changes: tuple[Change, ...]


def written(
    tables: Sequence[ChangeTable], size: int = 16, delivered: tuple[int, int] | None = None
) -> bytes:
    """The frames of all changes of tables; see `merged`."""
    transaction = np.zeros(frames.OPEN_WORDS, np.int64)
    out = b""
    for part in merged(tables, delivered):
        total = int(part.words[:, frames.OLD_SIZE].sum() + part.words[:, frames.NEW_SIZE].sum())
        room = np.zeros(total + frames.FRAME_BYTES * len(part.words) + PADDING, np.uint8)
        end = frames.write_changes(
            address_of(part.words), len(part.words), size, address_of(transaction), address_of(room)
        )
        out += room[: end - address_of(room)].tobytes()
    room = np.zeros(frames.FRAME_BYTES + PADDING, np.uint8)
    end = frames.write_end(address_of(room), address_of(transaction))
    return out + room[: end - address_of(room)].tobytes()


def read(data: bytes) -> Iterator[Transaction]:
    """The transactions of frames, each of which must end before the next one begins."""
    at = 0
    begun: tuple[str, int] | None = None
    changes: list[Change] = []
    while at < len(data):
        size, kind = struct.unpack_from("!Ic", data, at)
        body = data[at + frames.HEAD_BYTES : at + size]
        at += size
        if kind == b"B":
            assert begun is None
            place = int.from_bytes(body[:16], "big")
            begun = (cells(body[24:])[0] or b"").decode(), place
        elif kind == b"E":
            assert begun is not None
            yield Transaction(*begun, tuple(changes))
            begun, changes = None, []
        else:
            assert begun is not None
            changes.append(_change(kind.decode(), body))
    assert begun is None


def _change(kind: str, body: bytes) -> Change:
    (relation,) = struct.unpack_from("!I", body)
    images, at = [], frames.CHANGE_HEAD_BYTES - frames.HEAD_BYTES
    while at < len(body):
        (first,) = cells(body[at:])
        assert first is not None
        images.append(first.decode())
        at += 7 + len(first)
    return Change(relation, kind, images[0], tuple(map(int, images[1:])))
