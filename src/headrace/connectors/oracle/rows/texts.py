"""Converts columns of the driver's values to headrace's texts (headrace.connect.encoding), by
Arrow.

Numbers are texts with all of their digits, or Python's numbers; times are texts such as
` 2018-03-27 12:34:56.007891000`, with a minus before years before Christ, intervals texts in the
session's formats (`sql.SESSION_FORMATS`); RAW and BLOB are bytes. Every function takes one column's
values (None is null) and returns them as large_string.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from headrace.connectors.oracle.types import literals
from headrace.connectors.oracle.types.declarations import (
    BYTES,
    DAY_TO_SECOND,
    LOCAL,
    NUMBERS,
    TIMESTAMPS,
    YEAR_TO_MONTH,
    ZONED,
)
from headrace.connectors.oracle.types.source_type import OracleType
from headrace.relational.rows.texts import (
    TEXTS,
    Values,
    booleans,
    first_value,
    hexadecimal,
    mapped,
    strings,
)

_ZEROS = r"(\.\d*?)0+$"
_STAMP = r"^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(\.\d+)?(?: ?([+-]\d\d:\d\d))?$"
_UTC = r"[+-]00:00$"


def _numbers(values: Values) -> pa.Array:
    if not isinstance(first_value(values), str):
        return strings([None if value is None else literals.number(str(value)) for value in values])
    texts = strings(values)
    # The driver omits the zero before a point, or writes an exponent, if Oracle does.
    odd = pc.any(pc.match_substring_regex(texts, r"^-?\.|\.$|[eE+ ]"))
    return mapped(literals.number)(values) if odd.as_py() else texts


def _floats(kind: pa.DataType) -> Callable[[Values], pa.Array]:
    def texts(values: Values) -> pa.Array:
        numbers = pa.array([None if v is None else float(v) for v in values], kind)  # type: ignore[arg-type]
        as_texts = numbers.cast(TEXTS)
        if pc.all(pc.is_finite(numbers)).as_py() is False:
            for arrow_text, written in (("nan", "NaN"), ("-nan", "NaN"), ("inf", "Infinity")):
                as_texts = pc.if_else(
                    pc.equal(as_texts, arrow_text), pa.scalar(written, TEXTS), as_texts
                )
            as_texts = pc.if_else(
                pc.equal(as_texts, "-inf"), pa.scalar("-Infinity", TEXTS), as_texts
            )
        return as_texts

    return texts


def _timestamps(values: Values) -> pa.Array:
    """Remove zeros at the end of the fraction."""
    texts = _signed(values)
    if first_value(values) is None:
        return texts
    if pc.any(pc.match_substring(texts, ".")).as_py():
        texts = pc.replace_substring_regex(texts, _ZEROS, r"\1")
        texts = pc.replace_substring_regex(texts, r"\.$", "")
    if pc.any(pc.starts_with(texts, "-")).as_py():
        return pc.replace_substring_regex(texts, r"^-(.*)$", r"\1 BC")
    return texts


def _signed(values: Values) -> pa.Array:
    """Remove the blank before years that have no minus."""
    return pc.utf8_ltrim(strings(values), " ")


def _zoned(digits: int) -> Callable[[Values], pa.Array]:
    """Return the converter of timestamps with time zone to events' texts, at so many digits of the
    fraction (0: as many as a value needs)."""

    def texts(values: Values) -> pa.Array:
        stamps = _signed(values)
        fits = pc.all(pc.match_substring_regex(stamps, _STAMP)).as_py()
        if fits is False or pc.any(pc.match_substring_regex(stamps, _ZONE_BEYOND)).as_py():
            return mapped(lambda text: _zoned_text(text, digits))(stamps.to_pylist())
        stamps = pc.replace_substring_regex(stamps, _STAMP, r"\1T\2\3\4")
        if digits:
            stamps = pc.replace_substring_regex(stamps, rf"(\.\d{{{digits}}})\d+", r"\1")
        else:
            stamps = pc.replace_substring_regex(stamps, r"(\.\d*?)0+([+-]|$)", r"\1\2")
            stamps = pc.replace_substring_regex(stamps, r"\.([+-]|$)", r"\1")
        stamps = pc.replace_substring_regex(stamps, _UTC, "Z")
        return pc.replace_substring_regex(stamps, r"(T[0-9:.]+)$", r"\1Z")

    return texts


def _zoned_text(text: str, digits: int) -> str | None:
    """Return the events' text of a timestamp with time zone. ISO 8601 counts years before Christ
    from 0: the year 1 is 0000, 4712 is -4711."""
    if not text.startswith("-"):
        return literals.zoned_timestamp(text, digits)
    year, rest = text[1:5], text[5:]
    if not year.isdigit():
        return None
    in_leap_year = literals.zoned_timestamp(f"{_LEAP_YEAR}{rest}", digits)
    before = int(year) - 1
    return in_leap_year and f"{'-' if before else ''}{before:04}{in_leap_year[4:]}"


_LEAP_YEAR = "2000"
"""A year that has every day that any year has."""
_ZONE_BEYOND = r"(?:[+-](?:1[89]|[2-9]\d):\d\d|^0000)"
_BY_KIND: dict[str, Callable[[Values], pa.Array]] = {
    **dict.fromkeys(NUMBERS, _numbers),
    "BINARY_FLOAT": _floats(pa.float32()),
    "BINARY_DOUBLE": _floats(pa.float64()),
    "BOOLEAN": booleans,
    **dict.fromkeys(BYTES, hexadecimal),
    **dict.fromkeys(TIMESTAMPS, _timestamps),
    YEAR_TO_MONTH: mapped(literals.years_to_months),
    DAY_TO_SECOND: mapped(literals.days_to_seconds),
}


def texts_of(declared: OracleType, values: Values) -> pa.Array:
    """Return the texts (large_string) of one column's values, null for a null. Raises
    pyarrow.ArrowException, TypeError or ValueError for values that do not have the type."""
    kind = declared.kind
    if kind in (ZONED, LOCAL):
        return _zoned(declared.digits or 0)(values)
    return _BY_KIND.get(kind, strings)(values)
