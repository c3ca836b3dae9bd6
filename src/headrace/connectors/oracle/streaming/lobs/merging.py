"""Puts the values that a transaction's redo holds apart from their rows into its changes.

Of the rows of a table with such values, one change per row waits: what the redo tells next of the
same row is put into it where Debezium does so, else it goes out and the next one waits. At the end
of the transaction the rest goes out, in the order in which the rows came.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from headrace.connect.images import ABSENT, CELL_HEAD_BYTES, HEAD_BYTES, cells, make_image
from headrace.connectors.oracle.redo.lob_statements import LobWrite
from headrace.connectors.oracle.redo.lob_values import LobValue
from headrace.connectors.oracle.streaming.lobs import frames
from headrace.relational.table import Table

CREATE, UPDATE, DELETE, TRUNCATE = b"cudt"
_HEAD = struct.Struct("!IBIQq")
_LARGE_UNIT = 2
_SEVERAL = 2
_EXTRA_ROW_ID = 1
_NO_ROW = b"A" * 12
"""How a ROWID ends that tells of no row."""
_MERGED_TYPES = ("BLOB", "CLOB")
"""Types of columns that an update of theirs is put into another one for."""
Cells = list[bytes | None]
Place = tuple[object, ...]


class LobTable(NamedTuple):
    """Of a captured table: the places of the columns that tell its rows apart, and of those whose
    values the redo may hold apart (none: its changes go out as they are). `table`: what it is read
    again by where its key changes; None: it has no key. `key`: the places of the columns of events'
    keys, `merged`: of those for which updates are put together."""

    identity: tuple[int, ...]
    apart: tuple[int, ...]
    table: Table | None = None
    key: tuple[int, ...] = ()
    merged: tuple[int, ...] = ()

    @staticmethod
    def of(table: Table, apart: Sequence[int], key: Iterable[str]) -> LobTable:
        """`apart` are the places of the columns whose values the redo may hold apart, `key` the
        columns of events' keys."""
        places = {column.name: place for place, column in enumerate(table.columns)}
        own, events = (tuple(places[name] for name in names) for names in (table.key, key))
        plain = tuple(place for place in range(len(table.columns)) if place not in apart)
        merged = tuple(p for p in apart if table.columns[p].type.name in _MERGED_TYPES)
        return LobTable(own or plain, tuple(apart), table if own else None, events, merged)


Reselect = Callable[[Table, Sequence[int], Sequence[int], Cells], Mapping[int, bytes | None]]
"""Reads columns of a row again: the table, the places of the columns and of the key's, the row.
The values by place; none where the row is not there."""


@dataclass
class _Change:
    """A change that waits. `is_told` says that it began as one of the redo's changes of rows: not
    with the mere name of a value. `lobs` are values that are written, by column; None: it is named,
    and nothing of it came yet. `number`: which one of its transaction it is, `place`: what it waits
    under, `earlier`: what goes out before it, a change of the row as its key was."""

    kind: int
    relation: int
    scn: int
    us: int
    extra: bytes
    old: Cells | None
    new: Cells | None
    is_told: bool = True
    lobs: dict[int, LobValue | None] = field(default_factory=dict)
    number: int = 0
    place: Place = ()
    earlier: _Change | None = None

    @property
    def row_id(self) -> bytes | None:
        """None: it tells of no row."""
        row_id = cells(self.extra)[_EXTRA_ROW_ID]
        return None if row_id is None or row_id.endswith(_NO_ROW) else row_id

    def finish(self) -> None:
        """The values that were written are those of the row."""
        if self.new is None:
            return
        for column, value in self.lobs.items():
            if value is not None:
                self.new[column] = value.text().encode()
            elif self.new[column] is ABSENT:
                self.new[column] = None

    def frame(self) -> bytes:
        """The frame of the change."""
        images = b"".join(make_image(image) for image in (self.old, self.new) if image is not None)
        size = _HEAD.size + len(self.extra) + len(images)
        head = _HEAD.pack(size, self.kind, self.relation, self.scn, self.us)
        return head + self.extra + images


class Merging:
    """Merges one transaction. `tables` are the captured ones by relation version; `reselect` reads
    large values again that no redo tells of, where the key of their row changes."""

    def __init__(self, tables: Mapping[int, LobTable], reselect: Reselect) -> None:
        self._tables, self._reselect = tables, reselect
        self._waiting: dict[Place, _Change] = {}
        self._written: tuple[Place, int] | None = None
        """The row and the column that parts are written to."""
        self._count = 0

    def merged(
        self, held: Iterable[tuple[bytes, bool]], undone: Set[int] = frozenset()
    ) -> Iterator[bytes]:
        """The frames of the transaction, out of those that were held and whether they were
        cancelled; `undone` are the numbers of others that were rolled back (`rollbacks`)."""
        for number, (frame, is_cancelled) in enumerate(held):
            kind, relation = frame[4], struct.unpack_from("!I", frame, 5)[0]
            if is_cancelled or number in undone or kind == frames.UNDOES:
                continue
            table = self._tables.get(relation)
            if table is None or not table.apart or kind == TRUNCATE:
                yield frame
                continue
            yield from self._take(frame, kind, table)
        for change in sorted(self._waiting.values(), key=lambda change: change.number):
            yield from self._out(change)

    def _take(self, frame: bytes, kind: int, table: LobTable) -> Iterator[bytes]:
        _, _, relation, scn, us = _HEAD.unpack_from(frame)
        extra, rest = _split(frame[_HEAD.size :])
        match kind:
            case frames.NAMES:
                how, column, _ = frames.NAMED_HEAD.unpack_from(rest)
                row = _cells(rest[frames.NAMED_HEAD.size :])
                change = _Change(UPDATE, relation, scn, us, extra, row, list(row), is_told=False)
                yield from self._name(change, how, column, table)
            case frames.WRITES:
                self._write(rest)
            case frames.ERASES:
                self._erase()
            case _:
                yield from self._change(_read(frame), table)

    def _change(self, change: _Change, table: LobTable) -> Iterator[bytes]:
        """A change of a row."""
        place = _identity(change, table, change.old if change.new is None else change.new)
        before = _identity(change, table, change.new if change.old is None else change.old)
        if change.kind == UPDATE and before != place and table.table is not None:
            # The row has another key: what waits of it stays as it is, and goes out before.
            change.earlier = self._waiting.get(before)
            if change.earlier is not None:
                self._wait(change.earlier, (object(),))
            before = place
        waiting = self._waiting.get(before)
        if waiting is not None and change.kind == UPDATE and _takes(waiting, change, table):
            assert waiting.new is not None
            assert change.new is not None
            for column, value in enumerate(change.new):
                if value is not ABSENT:
                    waiting.new[column] = value
                    waiting.lobs.pop(column, None)
            self._wait(waiting, place)
            return
        if waiting is not None:
            yield from self._out(waiting)
        if self._written is not None and self._written[0] in (before, place):
            self._written = None
        self._begin(change, place)

    def _name(self, change: _Change, how: int, column: int, table: LobTable) -> Iterator[bytes]:
        """A value is named that is written next. All but LOBs are written anew."""
        place = _identity(change, table, change.new)
        waiting = self._waiting.get(place)
        if waiting is None or waiting.new is None:
            if waiting is not None:
                yield from self._out(waiting)
            self._begin(change, place)
            waiting = change
        if how == frames.Named.LOCATOR:
            waiting.lobs.setdefault(column, None)
        else:
            assert waiting.new is not None
            waiting.lobs[column], waiting.new[column] = None, ABSENT
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
            return
        part = raw if kind == frames.PartKind.BYTES else raw.decode(errors=frames.KEPT)
        value = change.lobs.get(column)
        if value is None:
            value = change.lobs[column] = _beginning(change.new[column], offset, part)
        if offset == frames.BEHIND:
            unit = 1 if value.is_binary else _LARGE_UNIT
            offset = len(value.written) // unit
        value.write(LobWrite(offset, part))

    def _erase(self) -> None:
        """A part of the value that was named last is erased, which the redo does not show: the
        value is unavailable. A change that says nothing else is none."""
        if self._written is None:
            return
        place, column = self._written
        self._written = None
        change = self._waiting.get(place)
        if change is None or change.new is None:
            return
        change.lobs.pop(column, None)
        change.new[column] = ABSENT
        if not change.is_told and not change.lobs:
            del self._waiting[place]

    # -- what waits -----------------------------------------------------------------------------

    def _begin(self, change: _Change, place: Place) -> None:
        self._count += 1
        change.number, change.place = self._count, place
        self._waiting[place] = change

    def _wait(self, change: _Change, place: Place) -> None:
        """A change waits under another place."""
        del self._waiting[change.place]
        if self._written is not None and self._written[0] == change.place:
            self._written = (place, self._written[1])
        change.place = place
        self._waiting[place] = change

    def _out(self, change: _Change) -> Iterator[bytes]:
        """A change goes out, behind those that are before it."""
        line: list[_Change] = []
        first: _Change | None = change
        while first is not None and self._waiting.get(first.place) is first:
            line.append(first)
            first = first.earlier
        for one in reversed(line):
            del self._waiting[one.place]
            one.finish()
            self._complete(one)
            yield one.frame()

    def _complete(self, change: _Change) -> None:
        """Large values of a row whose key changes are read again where the redo has none."""
        table = self._tables[change.relation]
        old, new = change.old, change.new
        if change.kind != UPDATE or table.table is None or old is None or new is None:
            return
        lacking = [column for column in table.apart if new[column] is ABSENT]
        if lacking and any(old[column] != new[column] for column in table.key):
            for column, value in self._reselect(table.table, lacking, table.identity, new).items():
                new[column] = value


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
    sets = any(update.new[column] is not ABSENT for column in table.merged)
    rows = {one.row_id for one in (waiting, update)} - {None}
    return sets and len(rows) < _SEVERAL


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
