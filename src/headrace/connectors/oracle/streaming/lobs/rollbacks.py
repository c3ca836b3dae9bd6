"""The changes of a transaction that were rolled back to savepoints, in tables whose values the redo
may store apart from their rows.

A row of redo that undoes a change names only the row. It undoes the newest remaining change: a
change of that row, or the name of a value and the parts that were written after it. An insert that
is undone takes everything with it that came after it. If LogMiner gives no ROWIDs, a change and the
values of its row are one record of redo (RS_ID), and are undone at once.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Protocol

from headrace.connect.images import cells
from headrace.connectors.oracle.streaming import redo_rows
from headrace.connectors.oracle.streaming.lobs import frames

log = logging.getLogger(__name__)

_HEAD = struct.Struct("!IBIQq")
_CREATE, _UPDATE, _DELETE, _TRUNCATE = b"cudt"
_TAKEN_BACK = {
    redo_rows.DELETE: _CREATE,
    redo_rows.INSERT: _DELETE,
    redo_rows.UPDATE: _UPDATE,
}
"""The kind of change that a row of redo undoes, by its operation."""
_NO_ROW = b"A" * 12
"""The end of a ROWID that identifies no row."""


class HeldTable(Protocol):
    """A captured table."""

    @property
    def apart(self) -> tuple[int, ...]:
        """The places of columns whose values the redo may store apart."""
        ...


@dataclass
class _Group:
    """A change of a row, or a named value with its parts: the numbers of their frames. `row_id` and
    `record` are empty if LogMiner does not give them."""

    kind: int
    relation: int
    row_id: bytes
    record: bytes
    numbers: list[int]
    is_left: bool = True

    @property
    def is_value(self) -> bool:
        return self.kind == frames.NAMES

    @property
    def row(self) -> tuple[int, bytes]:
        return self.relation, self.row_id


def row_of(frame: bytes) -> bytes:
    """Return the ROWID of a frame; empty if LogMiner does not give it."""
    row_id = cells(frame[_HEAD.size :])[1]
    return b"" if row_id is None or row_id.endswith(_NO_ROW) else row_id


def rolled_back(
    held_frames: Iterable[tuple[bytes, bool]], tables: Mapping[int, HeldTable], rows: Set[bytes]
) -> frozenset[int]:
    """Return the numbers of the frames that were undone. `held_frames` are the frames of one
    transaction, and whether the buffer cancelled them; `tables` are by relation version, `rows` the
    ROWIDs for which anything was undone."""
    groups = _Groups()
    for number, (frame, is_cancelled) in enumerate(held_frames):
        _, kind, relation, *_ = _HEAD.unpack_from(frame)
        table = tables.get(relation)
        if table is None or not table.apart or kind == _TRUNCATE:
            continue
        if kind in (frames.WRITES, frames.ERASES):
            groups.add_part(number)
            continue
        if kind == frames.UNNAMED:
            groups.forget_name()
            continue
        group = _group(frame, kind, relation, number)
        if kind == frames.UNDOES:
            groups.take_back(group, _TAKEN_BACK[frame[-1]])
        elif group.row_id and not rows & {group.row_id, b""}:
            groups.add_other(group)
        else:
            groups.add(group, is_cancelled=is_cancelled)
    return frozenset(groups.undone)


class _Groups:
    """The groups of one transaction, the newest last, by their rows and by their tables."""

    def __init__(self) -> None:
        self.undone: set[int] = set()
        self._by_row: dict[tuple[int, bytes], list[_Group]] = {}
        self._by_table: dict[int, list[_Group]] = {}
        self._void: set[tuple[int, bytes]] = set()
        """Rows whose last change the buffer cancelled: values that follow it are cancelled, too."""
        self._named: _Group | None = None
        self._others: dict[int, int] = {}
        """The number of the newest of the other groups, by table."""

    def add(self, group: _Group, *, is_cancelled: bool) -> None:
        """Add a change, or a named value."""
        if group.is_value:
            self._named = group
            is_cancelled = group.row in self._void
        elif is_cancelled:
            self._void.add(group.row)
        else:
            self._void.discard(group.row)
        if is_cancelled:
            self._take(group)
            return
        self._by_row.setdefault(group.row, []).append(group)
        self._by_table.setdefault(group.relation, []).append(group)

    def add_other(self, group: _Group) -> None:
        """Add a group that is never undone."""
        self._named = None
        self._others[group.relation] = group.numbers[0]

    def forget_name(self) -> None:
        """Let the parts that are written next belong to no group."""
        self._named = None

    def add_part(self, number: int) -> None:
        """Add a part of the value that was named last."""
        if self._named is not None:
            self._named.numbers.append(number)
            if not self._named.is_left:
                self.undone.add(number)

    def take_back(self, row: _Group, kind: int) -> None:
        """Undo the changes that a row of redo takes back; `kind`: the kind of the change that is
        undone."""
        newest = _left(self._by_table.get(row.relation, []))
        if newest and not newest[-1].row_id and self._is_newest(newest[-1]):
            undone_groups = _record(newest, kind)
        else:
            # Without a ROWID the newest change is undone.
            undone = row if row.row_id or not newest else newest[-1]
            undone_groups = _of_row(_left(self._by_row.get(undone.row, [])), kind)
        for group in undone_groups:
            self._take(group)
        if not undone_groups:
            log.warning(
                "A change of the row %s is rolled back to a savepoint, but is not among the "
                "remaining changes of its transaction: nothing is left out",
                row.row_id.decode() or "without ROWID",
            )

    def _is_newest(self, group: _Group) -> bool:
        return self._others.get(group.relation, -1) < group.numbers[0]

    def _take(self, group: _Group) -> None:
        group.is_left = False
        self.undone.update(group.numbers)


def _left(groups: list[_Group]) -> list[_Group]:
    """Return the groups without the undone ones at their end."""
    while groups and not groups[-1].is_left:
        groups.pop()
    return groups


def _of_row(groups: list[_Group], kind: int) -> list[_Group]:
    """Return the undone groups of a row."""
    if kind == _CREATE:
        creates = [place for place, group in enumerate(groups) if group.kind == _CREATE]
        return groups[creates[-1] :] if creates else []
    fits = groups and (groups[-1].kind == kind or (kind == _UPDATE and groups[-1].is_value))
    return groups[-1:] if fits else []


def _record(groups: list[_Group], kind: int) -> list[_Group]:
    """Return the newest groups without ROWIDs, as far as they are of one record, from the undone
    change on; if there is no such change, only the values."""
    record_groups: list[_Group] = []
    for group in reversed(groups):
        if group.row_id or group.record != groups[-1].record:
            break
        if group.kind == kind:
            return [*record_groups, group]
        if not group.is_value:
            break
        record_groups.append(group)
    return record_groups if kind == _UPDATE else []


def _group(frame: bytes, kind: int, relation: int, number: int) -> _Group:
    record = cells(frame[_HEAD.size :])[0]
    return _Group(kind, relation, row_of(frame), record or b"", [number])
