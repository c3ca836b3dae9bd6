"""Converts columns of a driver's values to headrace's texts (headrace.connect.encoding) with Arrow,
for types that drivers represent alike.

Every function takes one column's values (None is null) and returns them as large_string.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

Values = Sequence[object]
TEXTS = pa.large_string()


def first_value(values: Values) -> object:
    """The first value that is not null; None if all are null."""
    return next((value for value in values if value is not None), None)


def strings(values: Values) -> pa.Array:
    """An Arrow array of texts."""
    return pa.array(values, TEXTS)


def mapped(text_of: Callable[[str], str | None]) -> Callable[[Values], pa.Array]:
    """Return a function that converts the texts of values with `text_of`, one by one. It raises
    ValueError for a text that is not of the type (None)."""

    def one(value: object) -> str | None:
        if value is None:
            return None
        text = text_of(str(value))
        if text is None:
            raise ValueError("a value of the driver does not have its column's type")
        return text

    return lambda values: strings([one(value) for value in values])


def booleans(values: Values) -> pa.Array:
    """Texts (`t`, `f`) of booleans, or of 0 and 1."""
    truths = [None if value is None else bool(int(str(int(value)))) for value in values]  # type: ignore[call-overload]
    return pc.if_else(pa.array(truths, pa.bool_()), "t", "f").cast(TEXTS)


def hexadecimal(values: Values) -> pa.Array:
    """Hexadecimal texts of bytes."""
    return strings([None if value is None else "\\x" + bytes(value).hex() for value in values])  # type: ignore[call-overload]


def decimal_texts(texts: pa.Array) -> pa.Array:
    """Texts of decimals with digits on both sides of the point: databases omit zeros."""
    if pc.any(pc.match_substring_regex(texts, r"^-?\.|\.$|,")).as_py():
        texts = pc.replace_substring(texts, ",", ".")
        texts = pc.replace_substring_regex(texts, r"^(-?)\.", r"\10.")
        texts = pc.replace_substring_regex(texts, r"\.$", "")
    return texts
