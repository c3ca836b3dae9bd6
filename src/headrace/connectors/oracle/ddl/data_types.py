"""Data types in statements, converted to their names in the data dictionary.

Source: Oracle Database SQL Language Reference, "Data Types", also for those of ANSI, DB2 and
SQL/DS.
"""

from __future__ import annotations

from dataclasses import replace

from headrace.connectors.oracle.ddl.tokens import TokenCursor, TokenKind
from headrace.connectors.oracle.types.source_type import OracleType

_WHOLE = frozenset({"INTEGER", "INT", "SMALLINT"})
_DECIMALS = frozenset({"NUMBER", "DECIMAL", "DEC", "NUMERIC"})
_CHARACTERS = {
    "CHAR": "CHAR", "CHARACTER": "CHAR", "VARCHAR": "VARCHAR2", "VARCHAR2": "VARCHAR2",
    "NCHAR": "NCHAR", "NVARCHAR2": "NVARCHAR2",
}  # fmt: skip
_VARYING = {"CHAR": "VARCHAR2", "NCHAR": "NVARCHAR2"}
_LENGTHS = {
    "DATE": 7, "BINARY_FLOAT": 4, "BINARY_DOUBLE": 8, "ROWID": 10, "CLOB": 4000, "NCLOB": 4000,
    "BLOB": 4000, "BFILE": 530, "XMLTYPE": 2000, "JSON": 8200, "BOOLEAN": 1, "VECTOR": 8200,
}  # fmt: skip
_NUMBER_LENGTH = 22
_REAL_DIGITS, _DOUBLE_DIGITS = 63, 126
"""Binary digits of REAL, and of DOUBLE PRECISION and FLOAT."""
_DEFAULT_FRACTION, _DEFAULT_DIGITS = 6, 2


def read_type(cursor: TokenCursor) -> OracleType:
    """Return the next type. Raises DdlNotUnderstood."""
    return replace(_read(cursor), is_stated=True)


def _read(cursor: TokenCursor) -> OracleType:
    if cursor.take("REF"):
        cursor.path("")
        return OracleType.of("REF", 50)
    token = cursor.peek()
    is_quoted = token is not None and token.kind is TokenKind.QUOTED
    word = cursor.name()
    if cursor.take("."):
        word, is_quoted = cursor.name(), True
    if is_quoted:
        return OracleType.of(word, _LENGTHS.get(word, 1))
    if word == "NATIONAL":
        word = {"CHAR": "NCHAR", "CHARACTER": "NCHAR"}.get(cursor.name(), "NVARCHAR2")
    if word in _CHARACTERS:
        return _characters(cursor, _CHARACTERS[word])
    if word in _WHOLE:
        return OracleType.of("NUMBER", _NUMBER_LENGTH, None, 0)
    if word in _DECIMALS:
        return _decimal(cursor, word)
    match word:
        case "FLOAT":
            (digits,) = _measures(cursor) or (_DOUBLE_DIGITS,)
            return OracleType.of("FLOAT", _NUMBER_LENGTH, digits)
        case "REAL":
            return OracleType.of("FLOAT", _NUMBER_LENGTH, _REAL_DIGITS)
        case "DOUBLE":
            cursor.expect("PRECISION")
            return OracleType.of("FLOAT", _NUMBER_LENGTH, _DOUBLE_DIGITS)
        case "TIMESTAMP":
            return _timestamp(cursor)
        case "INTERVAL":
            return _interval(cursor)
        case "LONG":
            if cursor.take("VARCHAR"):
                return OracleType.of("LONG")
            return OracleType.of("LONG RAW" if cursor.take("RAW") else "LONG")
        case "RAW" | "UROWID":
            (length,) = _measures(cursor) or (4000 if word == "UROWID" else 1,)
            return OracleType.of(word, length)
    cursor.skip_parentheses()
    return OracleType.of(word, _LENGTHS.get(word, 1))


def _measures(cursor: TokenCursor) -> tuple[int | None, ...]:
    """Return the numbers in parentheses, None for an asterisk; empty without parentheses."""
    if not cursor.take("("):
        return ()
    numbers: list[int | None] = []
    while True:
        numbers.append(None if cursor.take("*") else cursor.number())
        if cursor.take("CHAR") or cursor.take("BYTE") or not cursor.sees(","):
            break
        cursor.expect(",")
    cursor.expect(")")
    return tuple(numbers)


def _characters(cursor: TokenCursor, name: str) -> OracleType:
    if cursor.take("VARYING"):
        name = _VARYING.get(name, name)
    (length,) = _measures(cursor) or (1,)
    return OracleType.of(name, length)


def _decimal(cursor: TokenCursor, word: str) -> OracleType:
    measures = _measures(cursor)
    if not measures:
        return OracleType.of("NUMBER", _NUMBER_LENGTH, None, None if word == "NUMBER" else 0)
    precision = measures[0]
    is_plain = measures == (None,) and word == "NUMBER"
    scale = measures[1] if len(measures) > 1 else None if is_plain else 0
    return OracleType.of("NUMBER", _NUMBER_LENGTH, precision, scale)


def _timestamp(cursor: TokenCursor) -> OracleType:
    (fraction,) = _measures(cursor) or (_DEFAULT_FRACTION,)
    name, length = f"TIMESTAMP({fraction})", 11
    if cursor.take("WITH", "LOCAL", "TIME", "ZONE"):
        name += " WITH LOCAL TIME ZONE"
    elif cursor.take("WITH", "TIME", "ZONE"):
        name, length = name + " WITH TIME ZONE", 13
    return OracleType.of(name, length, None, fraction)


def _interval(cursor: TokenCursor) -> OracleType:
    if cursor.take("YEAR"):
        (years,) = _measures(cursor) or (_DEFAULT_DIGITS,)
        cursor.expect("TO", "MONTH")
        return OracleType.of(f"INTERVAL YEAR({years}) TO MONTH", 5, years, 0)
    cursor.expect("DAY")
    (days,) = _measures(cursor) or (_DEFAULT_DIGITS,)
    cursor.expect("TO", "SECOND")
    (fraction,) = _measures(cursor) or (_DEFAULT_FRACTION,)
    return OracleType.of(f"INTERVAL DAY({days}) TO SECOND({fraction})", 11, days, fraction)
