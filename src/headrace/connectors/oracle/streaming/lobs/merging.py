"""Puts the values that a transaction's redo holds apart from their rows into its changes.

Of the rows of a table with such values, one change per row waits: what the redo tells next of the
same row is put into it where Debezium does so, else it goes out and the next one waits. At the end
of the transaction the rest goes out, in the order in which the rows came.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from headrace.connect.images import ABSENT, CELL_HEAD_BYTES, HEAD_BYTES, cells, make_image
from headrace.connectors.oracle.redo.lob_statements import LobWrite
from headrace.connectors.oracle.redo.lob_values import LobValue
from headrace.connectors.oracle.streaming.lobs import frames

CREATE, UPDATE, DELETE, TRUNCATE = b"cudt"
_HEAD = struct.Struct("!IBIQq")
_LARGE_UNIT = 2
_EXTRA_ROW_ID = 1
Cells = list[bytes | None]


class LobTable(NamedTuple):
    """Of a captured table: the places of the columns that tell its rows apart, and of those whose
    values the redo may hold apart (none: its changes go out as they are)."""

    identity: tuple[int, ...]
    apart: tuple[int, ...]


@dataclass
class _Change:
    """A change that waits. `is_told` says that it began as one of the redo's changes of rows: not
    with the mere name of a value. `lobs` are values that are written, by column; None: it is named,
    and nothing of it came yet."""

    kind: int
    relation: int
    scn: int
    us: int
    extra: bytes
    old: Cells | None
    new: Cells | None
    is_told: bool = True
    lobs: dict[int, LobValue | None] = field(default_factory=dict)

    @property
    def row_id(self) -> bytes | None:
        return cells(self.extra)[_EXTRA_ROW_ID]

    def frame(self) -> bytes:
        """The frame of the change with its values."""
        if self.new is not None:
            for column, value in self.lobs.items():
                if value is not None:
                    self.new[column] = value.text().encode()
                elif self.new[column] is ABSENT:
                    self.new[column] = None
        images = b"".join(make_image(image) for image in (self.old, self.new) if image is not None)
        size = _HEAD.size + len(self.extra) + len(images)
        head = _HEAD.pack(size, self.kind, self.relation, self.scn, self.us)
        return head + self.extra + images


class Merging:
    """Merges one transaction. `tables` are the captured ones by relation version."""

    def __init__(self, tables: Mapping[int, LobTable]) -> None:
        self._tables = tables
        self._waiting: dict[tuple[object, ...], _Change] = {}
        self._written: tuple[tuple[object, ...], int] | None = None
        """The row and the column that parts are written to."""
        self._undone: set[tuple[object, ...]] = set()
        """Rows whose last change was rolled back: their values are those of that change."""

    def merged(self, held: Iterable[tuple[bytes, bool]]) -> Iterator[bytes]:
        """The frames of the transaction, out of those that were held and whether they were rolled
        back to a savepoint."""
        for frame, is_undone in held:
            kind, relation = frame[4], struct.unpack_from("!I", frame, 5)[0]
            table = self._tables.get(relation)
            if is_undone:
                if table is not None and kind in (CREATE, UPDATE):
                    self._undone.add(_identity(_read(frame), table, _read(frame).new))
                continue
            if table is None or not table.apart or kind == TRUNCATE:
                yield frame
                continue
            yield from self._take(frame, kind, table)
        for change in self._waiting.values():
            yield change.frame()

    def _take(self, frame: bytes, kind: int, table: LobTable) -> Iterator[bytes]:
        _, _, relation, scn, us = _HEAD.unpack_from(frame)
        extra, rest = _split(frame[_HEAD.size :])
        match kind:
            case frames.NAMES:
                _, column, _ = frames.NAMED_HEAD.unpack_from(rest)
                row = _cells(rest[frames.NAMED_HEAD.size :])
                change = _Change(UPDATE, relation, scn, us, extra, row, list(row), is_told=False)
                yield from self._name(change, column, table)
            case frames.WRITES:
                self._write(rest)
            case frames.ERASES:
                if self._written is not None:
                    self._waiting.pop(self._written[0], None)
                    self._written = None
            case _:
                yield from self._change(_read(frame), table)

    def _change(self, change: _Change, table: LobTable) -> Iterator[bytes]:
        """A change of a row."""
        before = _identity(change, table, change.old or change.new)
        self._undone.discard(_identity(change, table, change.new or change.old))
        waiting = self._waiting.get(before)
        if waiting is not None and change.kind == UPDATE and _takes(waiting, change, table):
            assert waiting.new is not None
            assert change.new is not None
            for column, value in enumerate(change.new):
                if value is not ABSENT:
                    waiting.new[column] = value
                    waiting.lobs.pop(column, None)
            self._move(before, _identity(waiting, table, waiting.new))
            return
        if waiting is not None:
            yield self._waiting.pop(before).frame()
        self._waiting[_identity(change, table, change.new or change.old)] = change
        self._written = None

    def _name(self, change: _Change, column: int, table: LobTable) -> Iterator[bytes]:
        """A value is named that is written next."""
        place = _identity(change, table, change.new)
        if place in self._undone:
            self._written = None
            return
        waiting = self._waiting.get(place)
        if waiting is None or waiting.new is None:
            if waiting is not None:
                yield self._waiting.pop(place).frame()
            waiting = self._waiting[place] = change
        waiting.lobs.setdefault(column, None)
        self._written = (place, column)

    def _write(self, rest: bytes) -> None:
        """A part of the value that was named last."""
        if self._written is None:
            return
        place, column = self._written
        change = self._waiting.get(place)
        if change is None or change.new is None:
            return
        kind, offset = frames.PART_HEAD.unpack_from(rest)
        raw = rest[frames.PART_HEAD.size :]
        if kind == frames.PartKind.NULL:
            change.new[column] = None
            return
        part = raw if kind == frames.PartKind.BYTES else raw.decode(errors=frames.KEPT)
        value = change.lobs.get(column)
        if value is None:
            value = change.lobs[column] = _beginning(change.new[column], offset, part)
        if offset == frames.BEHIND:
            unit = 1 if value.is_binary else _LARGE_UNIT
            offset = len(value.written) // unit
        value.write(LobWrite(offset, part))

    def _move(self, before: tuple[object, ...], after: tuple[object, ...]) -> None:
        """A row that waits has another key now."""
        if before != after:
            self._waiting[after] = self._waiting.pop(before)


def _read(frame: bytes) -> _Change:
    """The change of a frame that is a create, an update or a delete."""
    _, kind, relation, scn, us = _HEAD.unpack_from(frame)
    extra, rest = _split(frame[_HEAD.size :])
    first, behind = _split(rest)
    images = [_cells(first)] + ([_cells(behind)] if behind else [])
    old = None if kind == CREATE else images[0]
    new = None if kind == DELETE else images[-1]
    return _Change(kind, relation, scn, us, extra, old, new)


def _takes(waiting: _Change, update: _Change, table: LobTable) -> bool:
    """Whether an update is put into the change that waits."""
    if waiting.new is None:
        return False
    if waiting.kind == CREATE or not waiting.is_told:
        return True
    assert update.new is not None
    sets = any(update.new[column] is not ABSENT for column in table.apart)
    return sets and waiting.row_id == update.row_id


def _beginning(cell: bytes | None, offset: int, part: str | bytes) -> LobValue:
    """The value that a part is written to: what the row came with, where there is any."""
    if offset == frames.BEHIND or cell is None or cell is ABSENT:
        return LobValue(isinstance(part, bytes))
    text = cell.decode()
    return LobValue.beginning_with(
        bytes.fromhex(text.removeprefix("\\x")) if isinstance(part, bytes) else text
    )


def _identity(change: _Change, table: LobTable, row: Cells | None) -> tuple[object, ...]:
    assert row is not None
    return (change.relation, *(row[column] for column in table.identity))


def _cells(image: bytes) -> Cells:
    return cells(image, unavailable=ABSENT)


def _split(data: bytes) -> tuple[bytes, bytes]:
    """The image that `data` begins with, and what is behind it; none where there is no image."""
    if not data:
        return b"", b""
    size = HEAD_BYTES + sum(
        1 if cell is None or cell is ABSENT else CELL_HEAD_BYTES + len(cell)
        for cell in _cells(data)
    )
    return data[:size], data[size:]
