"""Frames of redo rows that write values apart from their rows. They are held, but not written to
segments: `merging` puts the values into their rows' frames.

Numbers are in network byte order. In place of a change's images (see streaming.frames), they have

    L   the value that is written next: how the redo writes it (1), the column's number (2), whether
        it is bytes (1), the row's image
    W   a part: its kind (1), where it begins (8; -1: after the part before it), the part: a text
        in UTF-8, or bytes
    X   nothing: the value is erased, or a part of it cannot be read
    Q   nothing: a value is written next, and its row and column cannot be read
    R   a change of a row is rolled back to a savepoint: the operation that undoes it (1)
"""

from __future__ import annotations

import struct
from enum import IntEnum

from headrace.connectors.oracle.redo import lob_statements
from headrace.connectors.oracle.redo.lob_statements import NamedValue
from headrace.connectors.oracle.redo.tables import RedoTable
from headrace.connectors.oracle.streaming import redo_rows

NAMES, WRITES, ERASES, UNNAMED, UNDOES = ord("L"), ord("W"), ord("X"), ord("Q"), ord("R")
"""Kinds of frames."""
NAMED_HEAD, PART_HEAD = struct.Struct("!BHB"), struct.Struct("!Bq")
CONTINUES = -1
"""The offset of a part that continues where the one before it ended."""
KEPT = "surrogatepass"


class Named(IntEnum):
    """How the log names the value that is written next."""

    LOCATOR = 0
    EXTENDED = 1
    XML = 2


class PartKind(IntEnum):
    """The kind of a part."""

    TEXT = 0
    BYTES = 1
    NULL = 2


CODES = (
    redo_rows.SELECT_LOB_LOCATOR,
    redo_rows.LOB_WRITE,
    redo_rows.LOB_ERASE,
    redo_rows.XML_BEGIN,
    redo_rows.XML_WRITE,
    redo_rows.LONG_BEGIN,
    redo_rows.LONG_WRITE,
)
"""Operations whose rows are held; LOB_TRIM and the ends of texts have no information."""


def held_row(
    code: int, statement: str | None, info: str | None, table: RedoTable, charset: str
) -> tuple[int, bytes]:
    """Return the kind of the frame of a row of redo, and its content in place of images. Raises
    HeadraceError `oracle.redo_not_understood`."""
    sql = statement or ""
    match code:
        case redo_rows.SELECT_LOB_LOCATOR:
            return NAMES, _named(Named.LOCATOR, lob_statements.parse_locator(sql, table))
        case redo_rows.LONG_BEGIN:
            return NAMES, _named(Named.EXTENDED, lob_statements.parse_extended_begin(sql, table))
        case redo_rows.XML_BEGIN:
            return NAMES, _named(Named.XML, lob_statements.parse_xml_begin(sql, info, table))
        case redo_rows.LOB_WRITE:
            part = lob_statements.parse_lob_write(sql, table)
            return WRITES, _part(part.part, part.offset)
        case redo_rows.LONG_WRITE:
            return WRITES, _part(lob_statements.parse_extended_write(sql, table), CONTINUES)
        case redo_rows.XML_WRITE:
            text = lob_statements.parse_xml_write(statement, info, charset, table)
            return WRITES, _part(text, CONTINUES)
    return ERASES, b""


def unread_row(code: int) -> tuple[int, bytes]:
    """Return the held form of a row that `held_row` cannot read, if its value is left out."""
    writes = (redo_rows.LOB_WRITE, redo_rows.LONG_WRITE, redo_rows.XML_WRITE)
    return (ERASES if code in writes else UNNAMED), b""


def _named(how: Named, value: NamedValue) -> bytes:
    return NAMED_HEAD.pack(how, value.column, value.is_binary) + value.image


def _part(part: str | bytes | None, offset: int) -> bytes:
    if part is None:
        return PART_HEAD.pack(PartKind.NULL, offset)
    if isinstance(part, bytes):
        return PART_HEAD.pack(PartKind.BYTES, offset) + part
    return PART_HEAD.pack(PartKind.TEXT, offset) + part.encode(errors=KEPT)
