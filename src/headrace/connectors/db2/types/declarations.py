"""Representations of Db2's types, by name. Types without a declaration are left out of events.

Sources: Db2 SQL reference, "Data types"; Debezium's documentation of the Db2 connector, "Data type
mappings", and its Db2ValueConverters where the two differ.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.relational.types import binary, numeric, scalars, temporal
from headrace.relational.types.declaration import TypeDeclaration, text_declaration
from headrace.relational.types.options import TypeOptions

Maker = Callable[[int, int, TypeOptions], TypeDeclaration]
"""Makes a declaration from a column's length, its scale (fraction digits) and the options."""

LARGE = frozenset({"CLOB", "DBCLOB", "NCLOB", "BLOB", "XML", "LONG VARCHAR", "LONG VARGRAPHIC"})
"""Types whose values SQL replication does not put into change tables: a flag takes their place."""
_TEXT = text_declaration()
_XML = text_declaration("io.debezium.data.Xml")


def _always(declaration: TypeDeclaration) -> Maker:
    return lambda _length, _scale, _options: declaration


def _decimal(length: int, scale: int, options: TypeOptions) -> TypeDeclaration:
    return numeric.decimal(options.decimal_handling_mode, length, scale)


def _decimal_float(_length: int, _scale: int, options: TypeOptions) -> TypeDeclaration:
    return numeric.decimal_of_any_scale(options.decimal_handling_mode)


def _bytes(_length: int, _scale: int, options: TypeOptions) -> TypeDeclaration:
    return binary.binary(options.binary_handling_mode)


def _date(_length: int, _scale: int, options: TypeOptions) -> TypeDeclaration:
    return temporal.date(options.time_precision_mode)


def _time(_length: int, _scale: int, options: TypeOptions) -> TypeDeclaration:
    return temporal.time(options.time_precision_mode, 0)


def _timestamp(_length: int, scale: int, options: TypeOptions) -> TypeDeclaration:
    return temporal.timestamp(options.time_precision_mode, scale)


def _timestamp_with_zone(_length: int, _scale: int, options: TypeOptions) -> TypeDeclaration:
    return temporal.timestamp_with_zone(options.time_precision_mode, 0)


_ZONED_NAMES = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH TIMEZONE")
CHARACTER = frozenset(
    {
        "CHAR", "CHARACTER", "VARCHAR", "CHARACTER VARYING", "LONG VARCHAR", "CLOB", "GRAPHIC",
        "VARGRAPHIC", "LONG VARGRAPHIC", "DBCLOB", "NCHAR", "NVARCHAR", "NCLOB",
    }
)  # fmt: skip
"""Types whose values are texts, to which masks and hashes apply."""
PADDED = frozenset({"CHAR", "CHARACTER", "GRAPHIC", "NCHAR"})
"""Types whose texts are filled up with spaces to their length."""
BYTES = frozenset(
    {
        "CHAR FOR BIT DATA", "VARCHAR FOR BIT DATA", "LONG VARCHAR FOR BIT DATA", "BINARY",
        "VARBINARY", "BLOB", "ROWID",
    }
)  # fmt: skip
"""Types whose values are bytes."""
DECIMALS = frozenset({"DECIMAL", "NUMERIC", "DEC"})
DATES, TIMES = frozenset({"DATE"}), frozenset({"TIME"})
TIMESTAMPS = frozenset({"TIMESTAMP"})
ZONED_TIMESTAMPS = frozenset(_ZONED_NAMES)

MAKERS: dict[str, Maker] = {
    "BOOLEAN": _always(scalars.BOOLEAN),
    "SMALLINT": _always(scalars.INT16),
    "INTEGER": _always(scalars.INT32),
    "INT": _always(scalars.INT32),
    "BIGINT": _always(scalars.INT64),
    "REAL": _always(scalars.FLOAT32),
    "DOUBLE": _always(scalars.FLOAT64),
    "FLOAT": _always(scalars.FLOAT64),
    "DECFLOAT": _decimal_float,
    "XML": _always(_XML),
    "TIME": _time,
    "DATE": _date,
    "TIMESTAMP": _timestamp,
    **dict.fromkeys(DECIMALS, _decimal),
    **dict.fromkeys(CHARACTER, _always(_TEXT)),
    **dict.fromkeys(BYTES, _bytes),
    **dict.fromkeys(ZONED_TIMESTAMPS, _timestamp_with_zone),
}
