"""Redo of values that the log stores apart from their rows: statements that name a row and its
column, and statements that write a part of the value.

    SELECT_LOB_LOCATOR  DECLARE … BEGIN select "C" into loc_c from "S"."T" where … for update;
    LOB_WRITE           buf_c := '…'; dbms_lob.write(loc_c, LENGTH, OFFSET, buf_c);
    32K_BEGIN           DECLARE … BEGIN … Stmt := 'update "S"."T" a set a."C" = :1 where …';
    32K_WRITE           buf_c := '…'; …;
    XML_BEGIN           XML DOC BEGIN:  select "C" from "S"."T" where …, of binary XML;
                        update "S"."T" a set a."C" = XMLType(:1) where …, of other XML
    XML_WRITE           XML_REDO := HEXTORAW('…'):LENGTH, of binary XML; else a part of the text

They are rare and large, and are read one at a time. Source: Oracle Database Utilities, "Using
LogMiner to Analyze Redo Log Files"; the forms are those that Debezium reads.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from headrace.connect.images import image_of
from headrace.connectors.oracle.redo.reference import Cell, parse_conditions
from headrace.connectors.oracle.redo.tables import RedoTable
from headrace.connectors.oracle.types import literals
from headrace.connectors.oracle.types.charsets import decoded
from headrace.errors import HeadraceError

_ALIAS = r"(?: +[A-Za-z0-9]+)?"
_TABLE = r'"(?P<schema>[^"]*)"\."(?P<table>[^"]*)"' + _ALIAS
_COLUMN = r'(?:[A-Za-z0-9]+\.)?"(?P<column>[^"]*)"'
_LOCATOR = re.compile(
    rf"\s*DECLARE\b.*?\bBEGIN\s+select +{_COLUMN} +into +(?P<into>\w+) +from +{_TABLE} +where +",
    re.DOTALL,
)
_EXTENDED = re.compile(
    r"\s*DECLARE\b.*?\bBEGIN\b.*?\bStmt\s*:=\s*'(?P<statement>.*)'\s*;\s*", re.DOTALL
)
_UPDATE = re.compile(rf"update +{_TABLE} +set +{_COLUMN} += +:\w+ +where +")
_XML_BINARY = re.compile(rf"XML DOC BEGIN: +select +{_COLUMN} +from +{_TABLE} +where +")
_XML_TEXT = re.compile(
    rf"\s*update +{_TABLE} +set +{_COLUMN} += +XMLType\(:\w+\) +where +", re.IGNORECASE
)
_LOB_WRITE = re.compile(
    r".*?:=\s*(?:HEXTORAW\('(?P<hex>[0-9A-Fa-f]*)'\)|N?'(?P<text>.*)')\s*;"
    r"\s*dbms_lob\.write\([^,]+,\s*(?P<length>\d+)\s*,\s*(?P<offset>\d+)\s*,[^,]+\);.*",
    re.DOTALL,
)
_EXTENDED_WRITE = re.compile(r"\s*\w+\s*:=\s*N?'(?P<text>.*)'\s*;[^;]*;[^;]*", re.DOTALL)
_XML_REDO = r"\s*XML_REDO\s*:=\s*"
_XML_HEX = re.compile(_XML_REDO + r"HEXTORAW\('(?P<hex>[0-9A-Fa-f]*)'?\)\s*:\s*(?P<length>\d+)\s*")
_XML_QUOTED = re.compile(_XML_REDO + r"'(?P<text>.*)'[^']*:\s*(?P<length>\d+)\s*", re.DOTALL)
_XML_NULL = re.compile(_XML_REDO + r"NULL\s*")
_BINARY_LOCATORS = ("loc_b", "buf_b")
_MAX_CHARACTERS = 2**31 - 1
_NOT_EXECUTABLE = "not re-executable"
_ENDS = ("", ";", "for update", "for update;")


@dataclass(frozen=True)
class NamedValue:
    """The row and the column whose value is written next: the number of the column, the cells of
    the row that the statement names, and whether the value is bytes."""

    column: int
    cells: Sequence[Cell]
    is_binary: bool = False

    @property
    def image(self) -> bytes:
        """The row as an image: null where the statement has no value, unavailable in columns that
        the log stores apart from the row."""
        return image_of(self.cells)


@dataclass(frozen=True)
class LobWrite:
    """A part of a LOB: where it begins (from 0 on; characters of a text, else bytes), and its
    content."""

    offset: int
    part: str | bytes


def parse_locator(sql: str, table: RedoTable) -> NamedValue:
    """Parse SELECT_LOB_LOCATOR. Like all functions here raises HeadraceError
    `oracle.redo_not_understood`."""
    match = _LOCATOR.match(sql)
    if match is None:
        _refuse(table, "SELECT_LOB_LOCATOR")
    is_binary = match["into"].startswith(_BINARY_LOCATORS)
    return _named(sql, match, table, "SELECT_LOB_LOCATOR", is_binary=is_binary)


def parse_extended_begin(sql: str, table: RedoTable) -> NamedValue:
    """Parse 32K_BEGIN, which contains a statement as a text."""
    match = _EXTENDED.fullmatch(sql)
    update = "" if match is None else match["statement"].replace("''", "'")
    named = _UPDATE.match(update)
    if named is None:
        _refuse(table, "32K_BEGIN")
    return _named(update, named, table, "32K_BEGIN")


def parse_xml_begin(sql: str, info: str | None, table: RedoTable) -> NamedValue:
    """Parse XML_BEGIN; `info` is the row's INFO, which marks binary XML."""
    match = (_XML_BINARY if is_binary_xml(info) else _XML_TEXT).match(sql)
    if match is None:
        _refuse(table, "XML_BEGIN")
    return _named(sql, match, table, "XML_BEGIN")


def is_binary_xml(info: str | None) -> bool:
    """Whether a row of V$LOGMNR_CONTENTS with this INFO is of binary XML."""
    return (info or "").endswith(_NOT_EXECUTABLE)


def parse_lob_write(sql: str, table: RedoTable) -> LobWrite:
    """Parse LOB_WRITE: no more than the length that it states."""
    match = _LOB_WRITE.fullmatch(sql.strip())
    if match is None or not 1 <= int(match["offset"]) <= _MAX_CHARACTERS:
        _refuse(table, "LOB_WRITE")
    length, offset = int(match["length"]), int(match["offset"]) - 1
    if match["hex"] is not None:
        raw = literals.hexadecimal(match["hex"])
        if raw is None:
            _refuse(table, "LOB_WRITE")
        return LobWrite(offset, raw[:length])
    units = match["text"].replace("''", "'").encode("utf-16-le", "surrogatepass")[: 2 * length]
    return LobWrite(offset, units.decode("utf-16-le", "surrogatepass"))


def parse_extended_write(sql: str, table: RedoTable) -> str:
    """Parse 32K_WRITE: the next part of the text. Quotes inside are not doubled."""
    match = _EXTENDED_WRITE.fullmatch(sql)
    if match is None:
        _refuse(table, "32K_WRITE")
    return match["text"]


def parse_xml_write(
    sql: str | None, info: str | None, charset: str, table: RedoTable
) -> str | None:
    """Parse XML_WRITE: the next part of the text; None: the value is null. `charset` is the
    database's character set, by Python's name."""
    if sql is None or not sql.strip() or _XML_NULL.fullmatch(sql):
        return None
    if not is_binary_xml(info):
        return sql
    match = _XML_QUOTED.fullmatch(sql)
    if match is not None:
        return match["text"]
    match = _XML_HEX.fullmatch(sql)
    raw = None if match is None else literals.hexadecimal(match["hex"])
    text = None if raw is None else decoded(raw, charset)
    if text is None:
        _refuse(table, "XML_WRITE")
    return text


def _named(
    sql: str, match: re.Match[str], table: RedoTable, operation: str, *, is_binary: bool = False
) -> NamedValue:
    column = table.place_of(match["column"])
    if column is None:
        _refuse(table, operation)
    cells, end = parse_conditions(sql, match.end(), table)
    if sql[end:].strip() not in _ENDS:
        _refuse(table, operation)
    return NamedValue(column, cells, is_binary)


def _refuse(table: RedoTable, operation: str) -> NoReturn:
    raise HeadraceError(
        "oracle.redo_not_understood",
        f"A redo statement of the table {table.schema}.{table.name} cannot be read: its operation "
        f"{operation} has another form than those that are known",
        "If the table's structure changed while its rows were mined, take a new snapshot of it; "
        "set event.processing.failure.handling.mode=warn to leave these rows out.",
    )
