"""The permitted content of statements' slots: the SQL that the connector writes, and no other.

A text is read from the inside out: names, literals and calls of the functions below become values,
comparisons of values become conditions, and joined conditions become one condition.
"""

from __future__ import annotations

import re

NAME = r'"(?:[^"\x00]|"")+"'
TEXT = r"'(?:[^']|'')*'"
PART = rf"(?:{NAME}|{TEXT}|[^'\"])"
"""A character, or all text in quotes."""

_VALUE, _CONDITION = "\ue000", "\ue001"
_V, _C = _VALUE, _CONDITION
_FUNCTIONS = (
    "ABS", "COALESCE", "HEXTORAW", "LENGTH", "LOWER", "TO_BINARY_DOUBLE", "TO_BINARY_FLOAT",
    "TO_CHAR", "TO_DATE", "TO_TIMESTAMP", "TO_TIMESTAMP_TZ", "UNISTR", "UPPER",
)  # fmt: skip
_REDO_COLUMNS = (
    "CLIENT_ID", "INFO", "OPERATION_CODE", "SEG_OWNER", "SRC_CON_NAME", "TABLE_NAME", "USERNAME",
)  # fmt: skip
"""Columns of V$LOGMNR_CONTENTS that its conditions name."""
_QUOTED = re.compile(rf"{TEXT}|{NAME}(?:\.{NAME})*")
_WORDS = re.compile(
    rf"(?<![\w.$#\"])(?:-?\d+(?:\.\d+)?|(?<!IS )(?<!NOT )NULL|CURRENT_DATE|CURRENT_TIMESTAMP|"
    rf"{'|'.join(_REDO_COLUMNS)})(?![\w.$#\"(])"
)
_VALUES = (
    re.compile(rf"\b(?:{'|'.join(_FUNCTIONS)})\({_V}(?:, {_V})*\)"),
    re.compile(rf"\bCAST\({_V} AS [A-Z][A-Z0-9 ]*(?:\({_V}(?:, {_V})?\))?\)"),
    re.compile(rf"(?<!IN )(?<!\w)\({_V}\)"),
    re.compile(rf"{_V} (?:[-+*/]|\|\|) {_V}"),
)
_COMPARISON = re.compile(
    rf"{_V} (?:=|<>|<=|>=|<|>) {_V}"
    rf"|{_V} IS (?:NOT )?NULL"
    rf"|{_V} (?:NOT )?LIKE {_V}"
    rf"|{_V} (?:NOT )?BETWEEN {_V} AND {_V}"
    rf"|{_V} (?:NOT )?IN \({_V}(?:, ?{_V})*\)"
    rf"|\bREGEXP_LIKE\({_V}, {_V}, {_V}\)"
)
_JOINED = (
    re.compile(rf"\({_C}\)"),
    re.compile(rf"\bNOT {_C}"),
    re.compile(rf"{_C}(?: (?:AND|OR) {_C})+"),
)
_EXPRESSIONS = re.compile(rf"{_V}(?: AS {_V})?(?:, {_V}(?: AS {_V})?)*")


def is_condition(text: str) -> bool:
    """Whether a text is a condition, as in the WHERE of a SELECT."""
    compared = _COMPARISON.sub(_CONDITION, _values(text))
    return _reduced(compared, _JOINED, _CONDITION) == _CONDITION


def are_expressions(text: str) -> bool:
    """Whether a text is a list of expressions, as in a SELECT."""
    return _EXPRESSIONS.fullmatch(_values(text)) is not None


def is_query(text: str) -> bool:
    """Whether a text of the user is one query when it is put between parentheses: nothing in it
    ends them, or the statement."""
    bare = _QUOTED.sub("", text)
    depth = 0
    for character in bare:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return False
    is_one = depth == 0 and not re.search(r"[;'\"]|--|/\*", bare)
    return is_one and re.match(r"\s*(?:SELECT|WITH)\b", bare, re.IGNORECASE) is not None


def _values(text: str) -> str:
    if not _QUOTED.sub("", text).isprintable():
        return ""
    return _reduced(_WORDS.sub(_VALUE, _QUOTED.sub(_VALUE, text)), _VALUES, _VALUE)


def _reduced(text: str, patterns: tuple[re.Pattern[str], ...], by: str) -> str:
    before = None
    while text != before:
        before = text
        for pattern in patterns:
            text = pattern.sub(by, text)
    return text


def text(value: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + value.replace("'", "''") + "'"
