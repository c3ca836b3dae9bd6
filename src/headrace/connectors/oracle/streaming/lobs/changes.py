"""Changes of rows whose values the redo may store separately, read from their frames in the
transaction buffer."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from headrace.connect.images import (
    ABSENT,
    BINARY,
    CELL_HEAD_BYTES,
    HEAD_BYTES,
    TEXT,
    UNAVAILABLE,
    cells,
    make_image,
)
from headrace.connectors.oracle.redo.forms import LiteralForm
from headrace.connectors.oracle.redo.lob_values import LobValue
from headrace.connectors.oracle.redo.tables import RedoTable
from headrace.connectors.oracle.streaming.lobs import frames
from headrace.relational.table import Table

CREATE, UPDATE, DELETE, TRUNCATE = b"cudt"
HEAD = struct.Struct("!IBIQq")
"""Size, kind, relation, SCN, time in microseconds."""
_COUNT, _LENGTH = struct.Struct("!H"), struct.Struct("!I")
_EXTRA_ROW_ID = 1  # the index of the ROWID's cell in `extra`
_NO_ROW = b"A" * 12
"""The end of a ROWID that identifies no row."""
_MERGED_TYPES = ("BLOB", "CLOB")
"""Types of columns for which Debezium merges an update into another one."""
Cells = list[bytes | None]
WaitingKey = tuple[object, ...]
"""The key under which a change waits."""


class LobTable(NamedTuple):
    """A captured table. Columns are named by their indexes."""

    name: str
    identity: tuple[int, ...]
    """The columns that identify rows."""
    apart: tuple[int, ...]
    """The columns whose values the redo may write separately; empty: changes of the table are
    passed on unchanged."""
    table: Table | None = None
    """Description of the table, with which the LOBs of a row are read again from the database if
    the key of the row changes. None: the table has no key."""
    key: tuple[int, ...] = ()
    """The columns of events' keys."""
    merged: tuple[int, ...] = ()
    """The columns by which updates are merged."""
    charsets: Mapping[int, str] = {}
    """The character sets of texts; values of other columns are bytes."""

    @staticmethod
    def of(table: Table, redo: RedoTable, key: Sequence[str]) -> LobTable:
        """Return the LobTable of a table. `redo` is the same table as its statements name it, `key`
        the columns of events' keys."""
        apart = tuple(index for index, column in enumerate(redo.columns) if column.is_apart)
        own_key, event_key = (
            tuple(redo.places[name] for name in names) for names in (table.key, key)
        )
        plain = tuple(index for index in range(len(redo.columns)) if index not in apart)
        return LobTable(
            table.name,
            own_key or plain,
            apart,
            table if own_key else None,
            event_key,
            tuple(index for index in apart if table.columns[index].type.name in _MERGED_TYPES),
            {
                index: redo.columns[index].charset
                for index in apart
                if redo.columns[index].form is not LiteralForm.BYTES
            },
        )


@dataclass
class Change:
    """A change. `is_reported`: it began as a change of a row in the redo, not with the name of a
    value alone. `lobs` are values that are written, by column; None: the value is named, and no
    part of it was read yet. While the change waits: `number` is that of its first frame,
    `waiting_key` the key under which it waits, `earlier` a change of the row under its former key,
    which is written before it."""

    kind: int
    relation: int
    scn: int
    us: int
    extra: bytes
    old: Cells | None
    new: Cells | None
    is_reported: bool = True
    lobs: dict[int, LobValue | None] = field(default_factory=dict)
    number: int = 0
    waiting_key: WaitingKey = ()
    earlier: Change | None = None

    @property
    def row_id(self) -> bytes | None:
        """The row's id; None if the frame describes no row."""
        row_id = cells(self.extra)[_EXTRA_ROW_ID]
        return None if row_id is None or row_id.endswith(_NO_ROW) else row_id

    def finish(self) -> None:
        """Put the written values into the row."""
        if self.new is None:
            return
        for column, value in self.lobs.items():
            if value is not None:
                self.new[column] = value.text().encode()
            elif self.new[column] is ABSENT:
                self.new[column] = None

    def frame(self) -> bytes:
        """Return the frame of the change."""
        images = b"".join(make_image(image) for image in (self.old, self.new) if image is not None)
        size = HEAD.size + len(self.extra) + len(images)
        head = HEAD.pack(size, self.kind, self.relation, self.scn, self.us)
        return head + self.extra + images


def read_change(frame: bytes) -> Change:
    """Return the change of a frame that is a create, an update or a delete."""
    _, kind, relation, scn, us = HEAD.unpack_from(frame)
    _, at = _image(frame, HEAD.size)
    extra = frame[HEAD.size : at]
    old = new = None
    if kind != CREATE:
        old, at = _image(frame, at)
    if kind != DELETE:
        new, at = _image(frame, at)
    return Change(kind, relation, scn, us, extra, old, new)


def read_named(frame: bytes) -> tuple[Change, int, int]:
    """Return the content of a frame that names a value: an update that sets nothing yet, how the
    redo writes the value (`frames.Named`), and the value's column."""
    _, _, relation, scn, us = HEAD.unpack_from(frame)
    _, at = _image(frame, HEAD.size)
    extra = frame[HEAD.size : at]
    how, column, _ = frames.NAMED_HEAD.unpack_from(frame, at)
    row, _ = _image(frame, at + frames.NAMED_HEAD.size)
    change = Change(UPDATE, relation, scn, us, extra, row, list(row), is_reported=False)
    return change, how, column


def read_part(frame: bytes) -> tuple[int, int, bytes]:
    """Return the kind of a piece of a LOB, its offset in the LOB, and the piece."""
    _, at = _image(frame, HEAD.size)
    kind, offset = frames.PART_HEAD.unpack_from(frame, at)
    return kind, offset, frame[at + frames.PART_HEAD.size :]


def identity(relation: int, table: LobTable, row: Cells | None) -> WaitingKey:
    """Return the key that identifies a row among those of its transaction."""
    assert row is not None
    return (relation, *(row[column] for column in table.identity))


def _image(data: bytes, at: int) -> tuple[Cells, int]:
    """Return the cells of the image at byte `at`, and where it ends."""
    (count,) = _COUNT.unpack_from(data, at)
    row: Cells = []
    at += HEAD_BYTES
    for _ in range(count):
        kind = data[at]
        if kind in (TEXT, BINARY):
            (length,) = _LENGTH.unpack_from(data, at + 1)
            at += CELL_HEAD_BYTES
            row.append(data[at : at + length])
            at += length
        else:
            row.append(ABSENT if kind == UNAVAILABLE else None)
            at += 1
    return row, at
