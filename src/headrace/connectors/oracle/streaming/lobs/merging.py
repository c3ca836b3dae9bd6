"""Merges the values that a transaction's redo stores apart from their rows into its changes.

For each row of a table with such values, one change waits. A later change of the same row is merged
into it where Debezium merges them; otherwise the waiting change is written, and the later one
waits. At the end of the transaction the remaining changes are written, in the order in which the
rows came; simple rows (`survey`) are made then, one after the other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence

from headrace.connect.images import ABSENT
from headrace.connectors.oracle.redo.lob_statements import LobWrite
from headrace.connectors.oracle.redo.lob_values import LobValue
from headrace.connectors.oracle.streaming.lobs import frames
from headrace.connectors.oracle.streaming.lobs.changes import (
    CREATE,
    HEAD,
    TRUNCATE,
    UPDATE,
    Cells,
    Change,
    LobTable,
    WaitingKey,
    identity,
    read_change,
    read_named,
    read_part,
)
from headrace.connectors.oracle.streaming.lobs.survey import Held, Survey
from headrace.connectors.oracle.types.charsets import decoded
from headrace.errors import HeadraceError
from headrace.relational.table import Table

_LARGE_UNIT = 2

Reselect = Callable[[Table, Sequence[int], Sequence[int], Cells], Mapping[int, bytes | None]]
"""Reads columns of a row again: the table, the places of the columns and of the key's, the row.
Returns the values by column index; empty if the row does not exist."""
Failed = Callable[[HeadraceError], None]
"""Receives errors of unreadable redo; raises them if event.processing.failure.handling.mode is
`fail`."""


class Merging:
    """Merges one transaction. `tables` are the captured ones by relation version; `reselect` reads
    large values again that are not in the redo, if the key of their row changes."""

    def __init__(self, tables: Mapping[int, LobTable], reselect: Reselect, failed: Failed) -> None:
        self._tables, self._reselect, self._failed = tables, reselect, failed
        self._waiting: dict[WaitingKey, Change] = {}
        self._written: tuple[WaitingKey, int] | None = None
        """The row and the column to which parts are written."""

    def merged(self, held_frames: Held, survey: Survey) -> Iterator[bytes]:
        """Yield the frames of the transaction, from those that were held."""
        simple = survey.simple
        for number, (frame, is_cancelled) in enumerate(held_frames()):
            _, kind, relation, *_ = HEAD.unpack_from(frame)
            if is_cancelled or number in survey.undone or kind == frames.UNDOES:
                continue
            table = self._tables.get(relation)
            if table is None or not table.apart or kind == TRUNCATE:
                yield frame
            elif not simple[number]:
                yield from self._add_frame(number, frame, kind, table)
        rest = deque(sorted(self._waiting.values(), key=lambda change: change.number))
        if simple.any():
            yield from self._simple(held_frames, survey, rest)
        for change in rest:
            yield from self._out(change)

    def _simple(self, held_frames: Held, survey: Survey, rest: deque[Change]) -> Iterator[bytes]:
        """Yield simple rows, and the waiting changes before them."""
        of_row = Merging(self._tables, self._reselect, self._failed)
        for number, (frame, _) in enumerate(held_frames()):
            # The frames of the simple row that begins here; -1: inside of one (see Survey).
            count = int(survey.simple[number])
            if not count:
                continue
            if count > 0:
                yield from of_row.rest()
                while rest and rest[0].number < number:
                    yield from self._out(rest.popleft())
            _, kind, relation, *_ = HEAD.unpack_from(frame)
            if count == 1 and kind != frames.NAMES:
                yield frame
            else:
                yield from of_row._add_frame(number, frame, kind, self._tables[relation])
        yield from of_row.rest()

    def rest(self) -> Iterator[bytes]:
        """Yield the waiting changes."""
        for change in sorted(self._waiting.values(), key=lambda change: change.number):
            yield from self._out(change)
        self._written = None

    def _add_frame(self, number: int, frame: bytes, kind: int, table: LobTable) -> Iterator[bytes]:
        match kind:
            case frames.NAMES:
                change, how, column = read_named(frame)
                change.number = number
                yield from self._name(change, how, column, table)
            case frames.WRITES:
                self._write(frame, table)
            case frames.ERASES:
                self._erase()
            case frames.UNNAMED:
                self._forget_name(HEAD.unpack_from(frame)[2], table)
            case _:
                change = read_change(frame)
                change.number = number
                yield from self._change(change, table)

    def _change(self, change: Change, table: LobTable) -> Iterator[bytes]:
        """Add a change of a row; yields changes that no longer wait."""
        relation, old, new = change.relation, change.old, change.new
        waiting_key = identity(relation, table, old if new is None else new)
        before = identity(relation, table, new if old is None else old)
        if change.kind == UPDATE and before != waiting_key and table.table is not None:
            # The row has another key: its waiting change stays as it is, and is written before.
            change.earlier = self._waiting.get(before)
            if change.earlier is not None:
                self._wait(change.earlier, (object(),))
            before = waiting_key
        waiting = self._waiting.get(before)
        if waiting is not None and change.kind == UPDATE and _is_merged(waiting, change, table):
            assert waiting.new is not None
            assert new is not None
            for column, value in enumerate(new):
                if value is not ABSENT:
                    waiting.new[column] = value
                    waiting.lobs.pop(column, None)
            self._wait(waiting, waiting_key)
            return
        if waiting is not None:
            yield from self._out(waiting)
        if self._written is not None and self._written[0] in (before, waiting_key):
            self._written = None
        self._begin(change, waiting_key)

    def _name(self, change: Change, how: int, column: int, table: LobTable) -> Iterator[bytes]:
        """Begin a value, which is named and written next; yields a change that no longer waits. All
        values but LOBs are written as a whole."""
        waiting_key = identity(change.relation, table, change.new)
        waiting = self._waiting.get(waiting_key)
        if waiting is None or waiting.new is None:
            if waiting is not None:
                yield from self._out(waiting)
            self._begin(change, waiting_key)
            waiting = change
        if how == frames.Named.LOCATOR:
            waiting.lobs.setdefault(column, None)
        else:
            assert waiting.new is not None
            waiting.lobs[column], waiting.new[column] = None, ABSENT
        self._written = (waiting_key, column)

    def _write(self, frame: bytes, table: LobTable) -> None:
        """Write a part of the value that was named last."""
        if self._written is None:
            return
        waiting_key, column = self._written
        change = self._waiting.get(waiting_key)
        if change is None or change.new is None:
            return
        kind, offset, raw = read_part(frame)
        if kind == frames.PartKind.NULL:
            return
        try:
            part = _part(kind, raw, table.charsets.get(column))
            value = change.lobs.get(column)
            if value is None:
                value = change.lobs[column] = _beginning(change.new[column], offset, part)
            if offset == frames.CONTINUES:
                unit = 1 if value.is_binary else _LARGE_UNIT
                offset = len(value.written) // unit
            value.write(LobWrite(offset, part))
        except ValueError as error:
            self._written = None
            self._make_unavailable(change, column)
            self._failed(
                HeadraceError(
                    "oracle.redo_not_understood",
                    f"A part of a large value of the table {table.name} cannot be read, at SCN "
                    f"{HEAD.unpack_from(frame)[3]}: {error}",
                    "Set event.processing.failure.handling.mode=warn to leave these values out.",
                )
            )

    def _erase(self) -> None:
        """Make the value that was named last unavailable: a part of it is erased, which the redo
        does not show. A change that sets nothing else is dropped."""
        if self._written is None:
            return
        waiting_key, column = self._written
        self._written = None
        change = self._waiting.get(waiting_key)
        if change is not None:
            self._make_unavailable(change, column)

    def _forget_name(self, relation: int, table: LobTable) -> None:
        """Note that the value that is written next is of a row that cannot be read: it may be any
        waiting row. Nulls in these are unavailable, because the value may belong there."""
        self._written = None
        for change in self._waiting.values():
            if change.relation != relation or change.new is None or not change.is_reported:
                continue
            for column in table.apart:
                if change.new[column] is None and change.lobs.get(column) is None:
                    change.lobs.pop(column, None)
                    change.new[column] = ABSENT

    def _make_unavailable(self, change: Change, column: int) -> None:
        if change.new is None:
            return
        change.lobs.pop(column, None)
        change.new[column] = ABSENT
        if not change.is_reported and not change.lobs:
            del self._waiting[change.waiting_key]

    # -- waiting changes ------------------------------------------------------------------------

    def _begin(self, change: Change, waiting_key: WaitingKey) -> None:
        change.waiting_key = waiting_key
        self._waiting[waiting_key] = change

    def _wait(self, change: Change, waiting_key: WaitingKey) -> None:
        """Let a change wait under another key."""
        del self._waiting[change.waiting_key]
        if self._written is not None and self._written[0] == change.waiting_key:
            self._written = (waiting_key, self._written[1])
        change.waiting_key = waiting_key
        self._waiting[waiting_key] = change

    def _out(self, change: Change) -> Iterator[bytes]:
        """Yield a change, after the earlier ones."""
        line: list[Change] = []
        first: Change | None = change
        while first is not None and self._waiting.get(first.waiting_key) is first:
            line.append(first)
            first = first.earlier
        for waiting in reversed(line):
            del self._waiting[waiting.waiting_key]
            waiting.finish()
            self._complete(waiting)
            yield waiting.frame()

    def _complete(self, change: Change) -> None:
        """Read large values again that the redo lacks, if the key of their row changes."""
        table = self._tables[change.relation]
        old, new = change.old, change.new
        if change.kind != UPDATE or table.table is None or old is None or new is None:
            return
        lacking = [column for column in table.apart if new[column] is ABSENT]
        if lacking and any(old[column] != new[column] for column in table.key):
            for column, value in self._reselect(table.table, lacking, table.identity, new).items():
                new[column] = value


def _is_merged(waiting: Change, update: Change, table: LobTable) -> bool:
    """Whether an update is merged into the waiting change."""
    if waiting.new is None:
        return False
    if waiting.kind == CREATE or not waiting.is_reported:
        return True
    assert update.new is not None
    sets = any(update.new[column] is not ABSENT for column in table.merged)
    rows = {change.row_id for change in (waiting, update)} - {None}
    return sets and len(rows) <= 1


def _part(kind: int, raw: bytes, charset: str | None) -> str | bytes:
    """Return a part as a value of its column's type, whose character set is given (None: it is
    bytes). Raises ValueError."""
    if kind == frames.PartKind.TEXT:
        if charset is None:
            raise ValueError("a text is written to bytes")
        return raw.decode(errors=frames.KEPT)
    if charset is None:
        return raw
    text = decoded(raw, charset)
    if text is None:
        raise ValueError(f"its bytes are not text in the character set {charset}")
    return text


def _beginning(cell: bytes | None, offset: int, part: str | bytes) -> LobValue:
    """Return the value to which a part is written: that of the row, if it has one."""
    if offset == frames.CONTINUES or cell is None or cell is ABSENT:
        return LobValue(isinstance(part, bytes))
    text = cell.decode()
    return LobValue.beginning_with(
        bytes.fromhex(text.removeprefix("\\x")) if isinstance(part, bytes) else text
    )
