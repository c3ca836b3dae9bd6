"""A parser of redo statements in plain Python, one at a time: the reference for the kernel, which
leaves to it the statements that it does not read.

LogMiner writes

    insert into "S"."T"("C1",…) values (v,…);
    update "S"."T" [a] set [a.]"C" = v, … [where [a.]"C" = v and [a.]"C" IS NULL …];
    delete from "S"."T" [a] [where …];

A value is a text in quotes (a quote inside is doubled), NULL, a number, a function's call, several
of them joined by `||`, or `Unsupported Type`, which does not state the column's value. A hint in
a comment may precede it. Source: Oracle Database Utilities, "Using LogMiner to Analyze Redo
Log Files".
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from headrace.connect.images import CellKind, image_of
from headrace.connectors.oracle.redo.tables import ARCHIVE_STATE, OWN_COLUMN, RedoColumn, RedoTable
from headrace.connectors.oracle.redo.values import (
    Literal,
    LiteralNotUnderstood,
    NotConvertible,
    ValuePiece,
    text_of,
)
from headrace.errors import HeadraceError

log = logging.getLogger(__name__)

CREATE, UPDATE, DELETE = b"cud"
_UNSUPPORTED = ("Unsupported Type", "Unsupported")
KEPT = "surrogateescape"
"""The error handler with which bytes that are not UTF-8 are kept in texts (Python's `errors`)."""
_NULL_CELL, _UNAVAILABLE_CELL = (int(CellKind.NULL), b""), (int(CellKind.UNAVAILABLE), b"")

Cell = tuple[int, bytes]


@dataclass(frozen=True)
class ParsedStatement:
    """A change: CREATE, UPDATE or DELETE, and its images (empty: it has none)."""

    operation: int
    old: bytes
    new: bytes


class _Odd(ValueError):
    """A statement does not have the form above; the message says where."""


class _Unset:
    """The value of a column that the statement does not state."""


_UNSET = _Unset()
Value = Literal | None | _Unset


def parse_statement(sql: str, table: RedoTable) -> ParsedStatement:
    """Return the images of a statement of one table. Raises HeadraceError
    `oracle.redo_not_understood`; values stay out of its message."""
    try:
        return _Parser(sql, table, relaxed=table.relaxed).statement()
    except _Odd as error:
        if table.relaxed:
            # A text with doubled quotes may seem to end earlier.
            with suppress(_Odd):
                return _Parser(sql, table).statement()
        _refuse(table, str(error))


def parse_conditions(sql: str, place: int, table: RedoTable) -> tuple[Sequence[Cell], int]:
    """Return the cells of the table's columns by the conditions from a place on (null if no
    condition names the column, unavailable if the log stores the column apart), and the end of the
    conditions. Quotes inside of texts are doubled, as Debezium reads these statements."""
    parser = _Parser(sql, table)
    parser.place = place
    try:
        return parser.cells(parser.conditions(), is_old=True), parser.place
    except _Odd as error:
        _refuse(table, str(error))


def _refuse(table: RedoTable, reason: str) -> NoReturn:
    raise HeadraceError(
        "oracle.redo_not_understood",
        f"A redo statement of the table {table.schema}.{table.name} cannot be read: {reason}",
        "If the table's structure changed while its rows were mined, take a new snapshot of it; "
        "set event.processing.failure.handling.mode=warn to leave these rows out.",
    )


class _Parser:
    """A parser of one statement. `relaxed`: quotes inside of texts may not be doubled."""

    def __init__(self, sql: str, table: RedoTable, *, relaxed: bool = False) -> None:
        self.sql, self.table, self.place, self.relaxed = sql, table, 0, relaxed

    def statement(self) -> ParsedStatement:
        """Parse the whole statement."""
        if self._take("insert into "):
            return ParsedStatement(CREATE, b"", image_of(self.cells(self._insert(), is_old=False)))
        if self._take("update "):
            self._table_name()
            self._alias()
            self._expect("set ")
            values = self._assignments()
            old = self.cells(self._where(), is_old=True)
            new = self.cells(values, is_old=False, before=old)
            return ParsedStatement(UPDATE, image_of(old), image_of(new))
        if self._take("delete from "):
            self._table_name()
            self._alias()
            return ParsedStatement(DELETE, image_of(self.cells(self._where(), is_old=True)), b"")
        raise _Odd("it is not an insert, update or delete")

    def cells(
        self, values: Sequence[Value], *, is_old: bool, before: Sequence[Cell] = ()
    ) -> list[Cell]:
        """Return the cells of values; those that are not set are as in `before`."""
        image = []
        for place, (value, column) in enumerate(zip(values, self.table.columns, strict=True)):
            if isinstance(value, _Unset):
                cell = before[place] if before else _NULL_CELL
            elif value is None:
                cell = _NULL_CELL
            else:
                text = self._text(value, column)
                raw = None if text is None else text.encode(errors=KEPT)
                cell = _NULL_CELL if raw is None else (int(CellKind.TEXT), raw)
            if is_old and cell == _NULL_CELL and column.is_apart:
                cell = _UNAVAILABLE_CELL
            image.append(cell)
        return image

    def _text(self, value: Literal, column: RedoColumn) -> str | None:
        table = self.table
        try:
            return text_of(value, column)
        except NotConvertible:
            if table.converting == "fail":
                raise _Odd(
                    f"the time of column {column.name} is not a valid one in the session's formats"
                ) from None
            if table.converting == "warn" and column.name not in table.warned:
                table.warned.add(column.name)
                log.warning(
                    "%s of %s.%s has times in other forms than the session's, which are null "
                    "(event.converting.failure.handling.mode=fail makes them an error)",
                    column.name,
                    table.schema,
                    table.name,
                )
            return None
        except LiteralNotUnderstood:
            raise _Odd(
                f"the value of column {column.name} is not a valid one of its type"
            ) from None

    def _insert(self) -> list[Value]:
        self._table_name()
        self._spaces()
        self._expect("(")
        names = []
        while not self._take(")"):
            names.append(self._column())
            self._spaces()
            self._take(",")
            self._spaces()
        self._expect(" values (")
        values = self._unset()
        for number, name in enumerate(names):
            self._spaces()
            value = self._value(",)")
            self._spaces()
            self._expect(")" if number == len(names) - 1 else ",")
            self._put(values, name, value)
        self._end()
        return values

    def _assignments(self) -> list[Value]:
        values = self._unset()
        while True:
            name = self._column()
            self._expect(" = ")
            self._put(values, name, self._value(", ;"))
            if not self._take(","):
                return values
            self._spaces()

    def _where(self) -> list[Value]:
        if self._is_end():
            return self._unset()
        self._spaces()
        self._expect("where ")
        start, self.relaxed, relaxed = self.place, False, self.relaxed
        try:
            return self._last_conditions()
        except _Odd:
            if not relaxed:
                raise
        # Debezium reads conditions with doubled quotes only.
        self.place, self.relaxed = start, True
        return self._last_conditions()

    def _last_conditions(self) -> list[Value]:
        values = self.conditions()
        self._end()
        return values

    def conditions(self) -> list[Value]:
        """Parse the conditions after `where`, up to the end of the last one."""
        values = self._unset()
        while True:
            # The row's address is not one of its columns.
            name = ARCHIVE_STATE if self._take("ROWID") else self._column()
            if not self._take(" IS NULL"):
                self._expect(" = ")
                self._put(values, name, self._value(" ;"))
            value_end = self.place
            self._spaces()
            if not (self._take("and ") or self._take("or ")):
                self.place = value_end
                return values

    def _unset(self) -> list[Value]:
        return [_UNSET] * len(self.table.columns)

    def _put(self, values: list[Value], name: str, value: Value) -> None:
        if name == ARCHIVE_STATE:
            return
        place = self.table.place_of(name)
        if place is None:
            if OWN_COLUMN.fullmatch(name):
                return
            raise _Odd(f"the table has no column {name}")
        if not isinstance(value, _Unset):
            values[place] = value

    def _is_end(self) -> bool:
        return self.sql[self.place :].strip() in ("", ";")

    def _end(self) -> None:
        if not self._is_end():
            raise _Odd(f"there is text after its end, at character {self.place + 1}")

    def _take(self, text: str) -> bool:
        if not self.sql.startswith(text, self.place):
            return False
        self.place += len(text)
        return True

    def _expect(self, text: str) -> None:
        if not self._take(text):
            raise _Odd(f"{text.strip()} is lacking at character {self.place + 1}")

    def _spaces(self) -> None:
        while self._take(" "):
            pass

    def _table_name(self) -> None:
        """Move to the first space or parenthesis after quotes."""
        self._name_until(" (")

    def _name_until(self, ends: str) -> None:
        in_quotes = False
        while self.place < len(self.sql):
            character = self.sql[self.place]
            if character == '"':
                in_quotes = not in_quotes
            elif not in_quotes and character in ends:
                return
            self.place += 1
        if in_quotes:
            raise _Odd("its table's name has no end")

    def _alias(self) -> None:
        self._spaces()
        if self.sql.startswith(("set ", "where "), self.place) or self._is_end():
            return
        self._name_until(" ;")
        self._spaces()

    def _column(self) -> str:
        """Parse a column's name, with or without the alias of its table."""
        start = self.sql.find('"', self.place)
        alias = self.sql[self.place : start]
        if start < 0 or (alias and not (alias.endswith(".") and alias[:-1].isalnum())):
            raise _Odd(f"a column's name is lacking at character {self.place + 1}")
        end = self.sql.find('"', start + 1)
        if end < 0:
            raise _Odd("a column's name has no end")
        self.place = end + 1
        return self.sql[start + 1 : end]

    def _value(self, ends: str) -> Value:
        """Parse a value that ends before one of these characters."""
        if self._take("/*"):
            end = self.sql.find("*/", self.place)
            if end < 0:
                raise _Odd("a comment has no end")
            self.place = end + 2
            self._spaces()
        for text in _UNSUPPORTED:
            if self._take(text):
                return _UNSET
        pieces = [self._piece(ends)]
        while True:
            piece_end = self.place
            self._spaces()
            if not self._take("||"):
                self.place = piece_end
                break
            self._spaces()
            pieces.append(self._piece(ends))
        if pieces == [ValuePiece("NULL", is_quoted=False)]:
            return None
        return tuple(pieces)

    def _piece(self, ends: str) -> ValuePiece:
        if self._take("'"):
            return ValuePiece(self._quoted(ends), is_quoted=True)
        start, nested = self.place, 0
        while self.place < len(self.sql):
            character = self.sql[self.place]
            if character == "'":
                if self.relaxed and not nested:
                    raise _Odd(f"there is a quote inside of a value at character {self.place + 1}")
                self.place += 1
                self._strictly_quoted()
                continue
            if character == "(":
                nested += 1
            elif character == ")" and nested:
                nested -= 1
            elif not nested and (character in ends or self.sql.startswith("||", self.place)):
                break
            self.place += 1
        if nested or start == self.place:
            raise _Odd(f"a value is lacking or has no end at character {start + 1}")
        text = self.sql[start : self.place].rstrip(" ")
        self.place = start + len(text)
        return ValuePiece(text, is_quoted=False)

    def _quoted(self, ends: str) -> str:
        if not self.relaxed:
            return self._strictly_quoted()
        return self._relaxedly_quoted(_CLOSED[ends])

    def _strictly_quoted(self) -> str:
        """Parse the text up to its closing quote; quotes inside are doubled."""
        start = self.place
        while True:
            end = self.sql.find("'", self.place)
            if end < 0:
                raise _Odd("a text has no end")
            self.place = end + 1
            if not self._take("'"):
                return self.sql[start:end].replace("''", "'")

    def _relaxedly_quoted(self, is_closed: Callable[[str], bool]) -> str:
        """Parse the text up to its closing quote, if quotes inside may be single: a quote closes
        only if it is followed by what may follow a value. Two quotes in a row are a doubled one,
        unless the second one closes."""
        start = self.place
        while True:
            end = self.sql.find("'", self.place)
            if end < 0:
                raise _Odd("a text has no end")
            self.place = end + 1
            if is_closed(self.sql[self.place : self.place + 8]):
                return self.sql[start:end].replace("''", "'")
            second_end = self.place + 1
            if not is_closed(self.sql[second_end : second_end + 8]):
                self._take("'")


def _closes_inserted(following: str) -> bool:
    return following.startswith((",", ")"))


def _closes_set(following: str) -> bool:
    return following.startswith((', "', " where ")) or following in ("", ";")


def _closes_condition(following: str) -> bool:
    return following.startswith((' and "', ' or "')) or following in ("", ";")


_CLOSED = {",)": _closes_inserted, ", ;": _closes_set, " ;": _closes_condition}
