"""Representations of Oracle's types, by kind. Types without a declaration are left out of events.

Sources: Oracle Database SQL Language Reference, "Data Types"; Debezium's documentation of the
Oracle connector, "Data type mappings", and its OracleValueConverters where the two differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from headrace.connectors.oracle.types.options import OracleTypeOptions
from headrace.connectors.oracle.types.zoned_timestamps import zoned_timestamp
from headrace.relational.types import binary, numeric, scalars, temporal
from headrace.relational.types.declaration import TypeDeclaration, text_declaration
from headrace.relational.types.durations import duration
from headrace.relational.types.options import TypeOptions

Maker = Callable[[int | None, int | None, TypeOptions], TypeDeclaration]
"""Makes a declaration from a column's length or precision, its scale or fraction digits (None: it
has none) and the options."""

MAX_DIGITS = 38
"""The precision of a NUMBER that has only a scale."""
_TEXT = text_declaration()
_XML = text_declaration("io.debezium.data.Xml")
_INTEGERS = ((3, scalars.INT8), (5, scalars.INT16), (10, scalars.INT32), (19, scalars.INT64))
"""Integer types, each after a number of digits: it holds integers of fewer digits."""


def _always(declaration: TypeDeclaration) -> Maker:
    return lambda _precision, _scale, _options: declaration


def _number(precision: int | None, scale: int | None, options: TypeOptions) -> TypeDeclaration:
    mode = options.decimal_handling_mode
    if scale is None and precision is None:
        return numeric.decimal_of_any_scale(mode)
    digits, fraction = precision or MAX_DIGITS, scale or 0
    # Whole numbers are doubles and texts if the mode says so, those of a negative scale are not.
    is_legacy = isinstance(options, OracleTypeOptions) and options.legacy_decimal_handling_strategy
    if fraction < 0 or (fraction == 0 and (mode == "precise" or is_legacy)):
        for most, declaration in _INTEGERS:
            if digits - fraction < most:
                return declaration
    return numeric.decimal(mode, digits, fraction)


def _float(_precision: int | None, _scale: int | None, options: TypeOptions) -> TypeDeclaration:
    return numeric.decimal_of_any_scale(options.decimal_handling_mode)


def _bytes(_length: int | None, _scale: int | None, options: TypeOptions) -> TypeDeclaration:
    return replace(
        binary.binary(options.binary_handling_mode),
        unavailable=binary.shown_in(options.binary_handling_mode),
    )


def _timestamp(_length: int | None, digits: int | None, options: TypeOptions) -> TypeDeclaration:
    return temporal.timestamp(options.time_precision_mode, digits or 0)


def _interval(_length: int | None, digits: int | None, options: TypeOptions) -> TypeDeclaration:
    return duration(options, digits or 0)


PADDED = frozenset({"CHAR", "NCHAR"})
"""Types whose texts are filled up with spaces to their length."""
NATIONAL = frozenset({"NCHAR", "NVARCHAR2", "NCLOB"})
"""Types whose texts are in the national character set."""
CHARACTER = PADDED | {"VARCHAR2", "VARCHAR", "NVARCHAR2", "CLOB", "NCLOB", "LONG"}
"""Types whose values are texts, to which masks and hashes apply."""
NUMBERS = frozenset({"NUMBER", "FLOAT"})
BINARY_FLOATS = frozenset({"BINARY_FLOAT", "BINARY_DOUBLE"})
BYTES = frozenset({"RAW", "LONG RAW", "BLOB"})
"""Types whose values are bytes."""
TIMESTAMPS = frozenset({"DATE", "TIMESTAMP"})
ZONED, LOCAL = "TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH LOCAL TIME ZONE"
YEAR_TO_MONTH, DAY_TO_SECOND = "INTERVAL YEAR TO MONTH", "INTERVAL DAY TO SECOND"
LARGE = frozenset({"CLOB", "NCLOB", "BLOB", "XMLTYPE"})
"""Types whose values the log stores apart from their rows."""
LONG_VALUES = LARGE | {"LONG", "LONG RAW"}
"""Types whose values may be large."""
EXTENDED = {"VARCHAR2": 4000, "VARCHAR": 4000, "NVARCHAR2": 2000}
"""The longest texts of these types that the log stores in their rows."""
LEFT_OUT = frozenset({"BFILE", "VECTOR", "JSON"})
"""Types that events do not show."""

MAKERS: dict[str, Maker] = {
    "NUMBER": _number,
    "FLOAT": _float,
    "BINARY_FLOAT": _always(scalars.FLOAT32),
    "BINARY_DOUBLE": _always(scalars.FLOAT64),
    "BOOLEAN": _always(scalars.BOOLEAN),
    "XMLTYPE": _always(_XML),
    YEAR_TO_MONTH: _interval,
    DAY_TO_SECOND: _interval,
    **dict.fromkeys(CHARACTER | {"ROWID", "UROWID"}, _always(_TEXT)),
    **dict.fromkeys(BYTES, _bytes),
    **dict.fromkeys(TIMESTAMPS, _timestamp),
    **dict.fromkeys((ZONED, LOCAL), _always(zoned_timestamp())),
}


def maker_of(kind: str) -> Maker | None:
    """Return the maker of a kind's declaration; None: the kind is left out. Object types, whose
    names users choose, are texts."""
    return None if kind in LEFT_OUT else MAKERS.get(kind, _always(_TEXT))


def has_values(kind: str) -> bool:
    """Whether values of a kind are read: values of object types are not, which the driver returns
    as objects, or not at all."""
    return kind in MAKERS
