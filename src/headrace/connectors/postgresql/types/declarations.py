"""Declarations of PostgreSQL's types, one for each: Connect schema, encoders and stand-in
values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from headrace.connect.encoding import Encoding
from headrace.connect.schema import Schema, Type
from headrace.connectors.postgresql.types import numeric, values
from headrace.connectors.postgresql.types.hstore import hstore
from headrace.connectors.postgresql.types.options import PostgresTypeOptions
from headrace.relational.types import binary, bits, durations, scalars, temporal, vectors
from headrace.relational.types import geometric_texts as geometry
from headrace.relational.types import geometry as postgis
from headrace.relational.types.declaration import (
    TypeDeclaration,
    no_placeholder,
    text_declaration,
    texts_of,
    uuids_of,
)
from headrace.relational.types.options import TypeOptions

Maker = Callable[[int, PostgresTypeOptions], TypeDeclaration]
"""A function that makes the declaration of a type with a modifier."""

_MAX_DIGITS = 6


def _fixed(declaration: TypeDeclaration) -> Maker:
    """Return a maker of this declaration, whatever the modifier and the options."""
    return lambda _typmod, _options: declaration


def _textual(name: str | None = None, array: Callable[[bytes], object] = no_placeholder) -> Maker:
    """The server's text, for every modifier; `name` is its semantic type, `array` the placeholder
    of its arrays."""
    return _fixed(text_declaration(name, decoder=values.string, array=array))


def _timed(declare: Callable[[str, int], TypeDeclaration]) -> Maker:
    """A time or timestamp, whose modifier is the number of its fraction digits: 6 when the column
    declares none."""

    def maker(typmod: int, options: PostgresTypeOptions) -> TypeDeclaration:
        digits = typmod if 0 <= typmod <= _MAX_DIGITS else _MAX_DIGITS
        return declare(options.time_precision_mode, digits)

    return maker


def _interval(typmod: int, options: PostgresTypeOptions) -> TypeDeclaration:
    # The upper half of the modifier has the interval's fields.
    digits = _MAX_DIGITS if typmod < 0 else min(typmod & 0xFFFF, _MAX_DIGITS)
    return durations.duration(options, digits)


def _bytea(_typmod: int, options: PostgresTypeOptions) -> TypeDeclaration:
    return binary.binary(options.binary_handling_mode, values.bytea)


def unknown(options: TypeOptions) -> TypeDeclaration:
    """The bytes of the server's text, for a type that Debezium does not know."""
    return binary.raw(options.binary_handling_mode)


_LONE_TEXTS = (
    *("char", "name", "inet", "cidr", "macaddr", "macaddr8"),
    *("int4range", "int8range", "numrange", "tsrange", "tstzrange", "daterange"),
)
BUILT_IN: Mapping[str, Maker] = {
    "bool": _fixed(scalars.BOOLEAN),
    "int2": _fixed(scalars.INT16),
    "int4": _fixed(scalars.INT32),
    "int8": _fixed(scalars.INT64),
    "oid": _fixed(scalars.UINT32),
    "float4": _fixed(scalars.FLOAT32),
    "float8": _fixed(scalars.FLOAT64),
    "numeric": numeric.numeric,
    "money": numeric.money,
    **dict.fromkeys(("bpchar", "varchar", "text"), _textual(array=texts_of)),
    **dict.fromkeys(_LONE_TEXTS, _textual()),
    **dict.fromkeys(("bit", "varbit"), lambda typmod, _options: bits.bits(typmod)),
    "bytea": _bytea,
    "uuid": _textual("io.debezium.data.Uuid", array=uuids_of),
    **dict.fromkeys(("json", "jsonb"), _textual("io.debezium.data.Json", array=texts_of)),
    "xml": _textual("io.debezium.data.Xml"),
    "date": lambda _typmod, options: temporal.date(options.time_precision_mode),
    "time": _timed(temporal.time),
    "timetz": _timed(temporal.time_with_zone),
    "timestamp": _timed(temporal.timestamp),
    "timestamptz": _timed(temporal.timestamp_with_zone),
    "interval": _interval,
    "tsvector": _textual("io.debezium.data.Tsvector"),
    "point": _fixed(geometry.POINT),
    "box": _fixed(geometry.BOX),
    "lseg": _fixed(geometry.LSEG),
    "path": _fixed(geometry.PATH),
    "polygon": _fixed(geometry.POLYGON),
    "circle": _fixed(geometry.CIRCLE),
    "line": _fixed(geometry.LINE),
}
"""Types of pg_catalog by typname."""

SHAPES = frozenset({"box", "lseg", "path", "polygon", "circle", "line"})
"""Types of pg_catalog that Debezium 3.6 leaves out."""

EXTENSIONS: Mapping[str, Maker] = {
    "citext": _textual(),
    "ltree": _textual("io.debezium.data.Ltree"),
    "isbn": _textual(),
    "hstore": hstore,
    "vector": _fixed(vectors.DOUBLE_VECTOR),
    "halfvec": _fixed(vectors.FLOAT_VECTOR),
    "sparsevec": _fixed(vectors.SPARSE_VECTOR),
    "geometry": _fixed(postgis.GEOMETRY),
    "geography": _fixed(postgis.GEOGRAPHY),
}
"""Types of extensions by typname; an extension may live in any schema."""

OMITTED_ARRAYS = frozenset({"money", "name", "interval", "varbit", "xml", "point", "refcursor"})
"""Element types of pg_catalog whose arrays Debezium leaves out of its events, even if unknown types
are included."""


def array_of(element: TypeDeclaration, separator: bytes = b",") -> TypeDeclaration:
    """The declaration of an array; elements may be null."""
    return TypeDeclaration(
        Schema(Type.ARRAY, values=element.schema.as_optional()),
        Encoding.PYTHON,
        partial(values.array, element=element.decoder, separator=separator),
        [],
        unavailable=element.unavailable_array,
    )


def array_without_nulls(element: TypeDeclaration, separator: bytes) -> TypeDeclaration:
    """The declaration of an array that is null when one of its elements is."""
    declaration = array_of(element, separator)
    decoder = partial(values.array, element=element.decoder, separator=separator, nulls=False)
    return replace(declaration, schema=Schema(Type.ARRAY, values=element.schema), decoder=decoder)


def unknown_array(options: PostgresTypeOptions, separator: bytes) -> TypeDeclaration:
    """The declaration of an array whose elements are of an unknown type."""
    element = replace(unknown(options), unavailable_array=no_placeholder)
    declaration = array_of(element, separator)
    if options.quirks:
        decoder = array_without_nulls(element, separator).decoder
        declaration = replace(declaration, decoder=decoder)
    return declaration
