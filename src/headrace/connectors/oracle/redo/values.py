"""Plain Python's conversion of a literal in a redo statement to headrace's text: the reference for
the kernel, which leaves odd literals to it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from headrace.connectors.oracle.redo import internal_values
from headrace.connectors.oracle.redo.forms import LiteralForm
from headrace.connectors.oracle.redo.tables import RedoColumn
from headrace.connectors.oracle.types import literals
from headrace.connectors.oracle.types.charsets import decoded

_CALL = re.compile(r"([A-Za-z_]+) *\( *(?:N?'((?:[^']|'')*)' *(?:,.*)?)?\)", re.DOTALL)
_EMPTY = ("EMPTY_CLOB", "EMPTY_BLOB")
_EMPTY_STRING = "LM_EMPTY_STRING"
_TIMES = ("TO_DATE", "TO_TIMESTAMP")
_ZONED = ("TO_TIMESTAMP_TZ", "TO_TIMESTAMP")
_FUNCTIONS = {LiteralForm.TIMESTAMP: _TIMES, LiteralForm.ZONED: _ZONED, LiteralForm.LOCAL: _ZONED}
_TRUTHS = {"1": "t", "0": "f", "TRUE": "t", "FALSE": "f"}
_OFFSET = re.compile(r"(.*) ?([+-])(\d\d):(\d\d) *", re.ASCII)


@dataclass(frozen=True)
class ValuePiece:
    """A part of a value: the text between quotes, or a text without quotes (a number, a function's
    call)."""

    text: str
    is_quoted: bool


Literal = tuple[ValuePiece, ...]
"""A value: its pieces, which are joined by `||`."""


class LiteralNotUnderstood(ValueError):
    """A literal does not have its column's type."""


class NotConvertible(LiteralNotUnderstood):
    """A literal is a time in another form than that of the session."""


def text_of(literal: Literal, column: RedoColumn) -> str | None:
    """Return headrace's text of a value, None for null. Raises LiteralNotUnderstood."""
    if (
        column.form in (LiteralForm.TEXT, LiteralForm.BYTES)
        and len(literal) == 1
        and _is_empty(literal[0], column)
    ):
        # Oracle's empty LOBs; they are null where null is accepted.
        return ("\\x" if column.form is LiteralForm.BYTES else "") if column.not_null else None
    if column.form is LiteralForm.TEXT:
        return literals.joined(_text(piece, column.charset) for piece in literal)
    if column.form is LiteralForm.BYTES:
        return "\\x" + "".join(_bytes(piece).hex() for piece in literal)
    if len(literal) != 1:
        raise LiteralNotUnderstood
    (piece,) = literal
    name, argument = _called(piece)
    if name == "HEXTORAW":
        raw = literals.hexadecimal(argument)
        text = None if raw is None else _stored(raw, column)
    elif piece.is_quoted and not piece.text:
        return None
    else:
        text = _plain(piece, name, argument, column)
        if text is None and name in _FUNCTIONS.get(column.form, ()):
            raise NotConvertible
    if text is None:
        raise LiteralNotUnderstood
    return text


def _is_empty(piece: ValuePiece, column: RedoColumn) -> bool:
    if piece.text == _EMPTY_STRING:
        return column.is_apart or not piece.is_quoted
    return not piece.is_quoted and piece.text.partition("(")[0] in _EMPTY


def _called(piece: ValuePiece) -> tuple[str, str]:
    """Return the name and the first argument of a function's call, which is a text; else empty."""
    call = None if piece.is_quoted else _CALL.fullmatch(piece.text)
    if call is None:
        return "", ""
    return call[1].upper(), (call[2] or "").replace("''", "'")


def _text(piece: ValuePiece, charset: str) -> str:
    if piece.is_quoted:
        return piece.text
    name, argument = _called(piece)
    if name == "UNISTR":
        return literals.unistr(argument)
    if name == "HEXTORAW":
        raw = literals.hexadecimal(argument)
        text = None if raw is None else decoded(raw, charset)
        if text is None:
            raise LiteralNotUnderstood
        return text
    return piece.text


def _bytes(piece: ValuePiece) -> bytes:
    if piece.is_quoted:
        return piece.text.encode()
    name, argument = _called(piece)
    raw = literals.hexadecimal(argument) if name == "HEXTORAW" else None
    if raw is None:
        raise LiteralNotUnderstood
    return raw


def _stored(raw: bytes, column: RedoColumn) -> str | None:
    match column.form:
        case LiteralForm.NUMBER:
            return internal_values.number(raw)
        case LiteralForm.TIMESTAMP:
            return internal_values.timestamp(raw, column.digits)
        case LiteralForm.ZONED | LiteralForm.LOCAL:
            return internal_values.zoned_timestamp(raw, column.digits)
        case LiteralForm.DOUBLE | LiteralForm.FLOAT:
            return internal_values.binary_float(raw)
        case LiteralForm.YEAR_TO_MONTH:
            return internal_values.years_to_months(raw)
        case LiteralForm.DAY_TO_SECOND:
            return internal_values.days_to_seconds(raw)
    return _TRUTHS.get(str(raw[0])) if len(raw) == 1 else None


def _plain(piece: ValuePiece, name: str, argument: str, column: RedoColumn) -> str | None:
    match column.form:
        case LiteralForm.NUMBER:
            return literals.number(piece.text)
        case LiteralForm.DOUBLE | LiteralForm.FLOAT:
            return literals.binary_float(piece.text, double=column.form is LiteralForm.DOUBLE)
        case LiteralForm.TIMESTAMP:
            return literals.timestamp(argument) if name in _TIMES else None
        case LiteralForm.ZONED:
            known = name in _ZONED
            return literals.zoned_timestamp(argument, column.digits) if known else None
        case LiteralForm.LOCAL:
            return _in_utc(argument, column.digits) if name in _ZONED else None
        case LiteralForm.YEAR_TO_MONTH:
            return literals.years_to_months(argument) if name == "TO_YMINTERVAL" else None
        case LiteralForm.DAY_TO_SECOND:
            return literals.days_to_seconds(argument) if name == "TO_DSINTERVAL" else None
    return _TRUTHS.get(piece.text.upper())


def _in_utc(argument: str, digits: int) -> str | None:
    """Return a timestamp with local time zone, which may be written with another offset, in UTC."""
    match = _OFFSET.fullmatch(argument)
    if match is None or match[3] + match[4] == "0000":
        return literals.zoned_timestamp(argument, digits)
    text = literals.timestamp(match[1])
    if text is None or text.endswith("BC"):
        return None
    minutes = int(match[3]) * 60 + int(match[4])
    clock, _, fraction = text.partition(".")
    try:
        moved = datetime.fromisoformat(clock) - timedelta(
            minutes=-minutes if match[2] == "-" else minutes
        )
    except OverflowError:
        return None
    return literals.zoned_timestamp(f"{moved.isoformat(' ', 'seconds')}.{fraction}", digits)
