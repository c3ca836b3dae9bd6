"""Texts with bytes that are not part of a character. In events U+FFFD replaces these bytes, as in
Java's driver, wherever they come from. A warning names each column that has such texts."""

from __future__ import annotations

import codecs
import logging
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from headrace.errors import HeadraceError
from headrace.relational.rows.texts import Values
from headrace.relational.table import Column

log = logging.getLogger(__name__)

REPLACED = "replace"
"""The error handler of codecs that replaces such bytes by U+FFFD."""
MARKED = "headrace.marked"
"""The error handler that replaces them by `_MARK`, which shows whose column they are."""
_MARK, _REPLACEMENT = "\udffd", "\ufffd"
"""The mark is an unpaired surrogate, which no text has."""
NONCHARACTER = "\ufdd0"
"""A code point that is not a character, as the mark in statements, which are read as UTF-8."""
_warned: set[tuple[str, str]] = set()
"""Tables and columns for which a warning was given."""


def _mark(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return _MARK, error.end


codecs.register_error(MARKED, _mark)


def warn(table: str, columns: Iterable[str]) -> None:
    """Log one warning for each column (empty: it is not known) of a table."""
    for column in columns:
        if (table, column) in _warned:
            continue
        _warned.add((table, column))
        log.warning(
            "%s has texts that are not valid in the database's character set: bytes that are no "
            "part of a character are U+FFFD in events. Find the rows with "
            "UTL_I18N.VALIDATE_CHARACTER_ENCODING(column) > 0, and correct them",
            f"The column {column} of {table}" if column else table,
        )


def without_marks(table: str, column: str, values: Values) -> Values:
    """Replace marks in a column's values by U+FFFD; a warning names the column."""
    warn(table, [column])
    return replaced(values)


def replaced(values: Values) -> Values:
    """Replace marks in values by U+FFFD."""
    return [
        value.replace(_MARK, _REPLACEMENT) if isinstance(value, str) else value for value in values
    ]


def has_mark(row: Sequence[object]) -> bool:
    """Whether a value of a row has a mark."""
    return any(isinstance(value, str) and _MARK in value for value in row)


def invalid_key(key: Sequence[Column]) -> HeadraceError:
    """Return the error of a key by which a table is read in chunks: rows would be left out."""
    names = ", ".join(column.name for column in key)
    return HeadraceError(
        "oracle.invalid_text",
        f"The key ({names}) has a text that is not valid in the database's character set, and no "
        "statement can name it: the table cannot be read in chunks of this key",
        "Find the rows with UTL_I18N.VALIDATE_CHARACTER_ENCODING(column) > 0, and correct them; or "
        "name another column by surrogate-key in the signal.",
    )


def invalid_rows(texts: pa.Array) -> list[int]:
    """Return the numbers of the rows of a column (string or large_string) that are not UTF-8."""
    if _is_ascii(texts):
        return []
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        rows = enumerate(_bytes(texts))
        return [row for row, raw in rows if raw is not None and _is_invalid(raw)]
    return []


def valid(texts: pa.Array) -> pa.Array:
    """Return the column with U+FFFD instead of bytes that are not UTF-8."""
    if not invalid_rows(texts):
        return texts
    decoded = [None if raw is None else raw.decode(errors=REPLACED) for raw in _bytes(texts)]
    return pa.array(decoded, texts.type)


def marked(statement: bytes) -> str:
    """Return a statement with NONCHARACTER instead of bytes that are not UTF-8."""
    return statement.decode(errors=MARKED).replace(_MARK, NONCHARACTER)


def _is_ascii(texts: pa.Array) -> bool:
    """Whether the memory between the first and the last text of a column is ASCII: numpy finds that
    out several times faster than Arrow reads UTF-8."""
    _, offsets, values = texts.buffers()
    if values is None or len(texts) == 0:
        return True
    kind = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    bounds = np.frombuffer(offsets, kind)
    first, last = bounds[texts.offset], bounds[texts.offset + len(texts)]
    return bool(np.frombuffer(values, np.int8)[first:last].min(initial=0) >= 0)


def _is_invalid(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return True
    return False


def _bytes(texts: pa.Array) -> list[bytes | None]:
    kind = pa.large_binary() if pa.types.is_large_string(texts.type) else pa.binary()
    raw: list[bytes | None] = texts.view(kind).to_pylist()
    return raw
