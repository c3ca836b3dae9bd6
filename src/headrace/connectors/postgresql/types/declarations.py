"""One declaration per PostgreSQL type: its Connect schema, encoders and stand-in values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from headrace.connect.encoding import Encoding
from headrace.connect.schema import Schema, Type
from headrace.connectors.postgresql.types import binary as binary_types
from headrace.connectors.postgresql.types import extensions as extension_types
from headrace.connectors.postgresql.types import geometry as geometry_types
from headrace.connectors.postgresql.types import intervals, values
from headrace.connectors.postgresql.types import numeric as numeric_types
from headrace.connectors.postgresql.types import temporal as temporal_types
from headrace.connectors.postgresql.types.makers import Maker, fixed, textual
from headrace.connectors.postgresql.types.options import PostgresTypeOptions
from headrace.connectors.postgresql.types.type_facts import TypeFacts
from headrace.relational.types import texts
from headrace.relational.types.declaration import (
    Declaration,
    no_placeholder,
    signed_bytes,
    text_declaration,
    uuids_of,
)

_BITS = "io.debezium.data.Bits"
_UNBOUNDED = 2**31 - 1


def _integral(
    kind: Type, size: int, low: int, high: int, array: Callable[[bytes], object] = no_placeholder
) -> Maker:
    decoder = partial(texts.integer, low=low, high=high)
    return fixed(
        Declaration(Schema(kind), Encoding.RAW, decoder, 0, parameter=size, unavailable_array=array)
    )


def enum(facts: TypeFacts) -> Declaration:
    """An enum with its labels."""
    return text_declaration(
        "io.debezium.data.Enum",
        decoder=values.string,
        array=no_placeholder,
        parameters=(("allowed", ",".join(facts.labels)),),
    )


def _bits(_facts: TypeFacts, typmod: int, _options: PostgresTypeOptions) -> Declaration:
    if typmod == 1:
        return Declaration(Schema(Type.BOOLEAN), Encoding.BIT1, values.bit, False)
    length = typmod if typmod > 0 else _UNBOUNDED
    parameters = (("length", str(length)),)
    schema = Schema(Type.BYTES, name=_BITS, version=1, parameters=parameters)
    return Declaration(schema, Encoding.PYTHON, values.bits, b"")


_TEXT = textual()  # its arrays have a placeholder
_LONE_TEXT = textual(array=no_placeholder)
_JSON = textual("io.debezium.data.Json")

BUILT_IN: Mapping[str, Maker] = {
    "bool": fixed(Declaration(Schema(Type.BOOLEAN), Encoding.BOOLEAN, texts.boolean, False)),
    "int2": _integral(Type.INT16, 2, -(2**15), 2**15 - 1),
    "int4": _integral(Type.INT32, 4, -(2**31), 2**31 - 1, array=signed_bytes),
    "int8": _integral(Type.INT64, 8, -(2**63), 2**63 - 1, array=signed_bytes),
    "oid": _integral(Type.INT64, -4, 0, 2**32 - 1),
    "float4": fixed(Declaration(Schema(Type.FLOAT32), Encoding.FLOAT, texts.single, 0.0)),
    "float8": fixed(Declaration(Schema(Type.FLOAT64), Encoding.DOUBLE, texts.double, 0.0)),
    "numeric": numeric_types.numeric,
    "money": numeric_types.money,
    "char": _LONE_TEXT,
    "bpchar": _TEXT,
    "varchar": _TEXT,
    "text": _TEXT,
    "name": _LONE_TEXT,
    "bit": _bits,
    "varbit": _bits,
    "bytea": binary_types.bytea,
    "uuid": textual("io.debezium.data.Uuid", array=uuids_of),
    "json": _JSON,
    "jsonb": _JSON,
    "xml": textual("io.debezium.data.Xml", array=no_placeholder),
    "date": temporal_types.date,
    "time": temporal_types.time,
    "timetz": temporal_types.time_with_zone,
    "timestamp": temporal_types.timestamp,
    "timestamptz": temporal_types.timestamp_with_zone,
    "interval": intervals.interval,
    "inet": _LONE_TEXT,
    "cidr": _LONE_TEXT,
    "macaddr": _LONE_TEXT,
    "macaddr8": _LONE_TEXT,
    "int4range": _LONE_TEXT,
    "int8range": _LONE_TEXT,
    "numrange": _LONE_TEXT,
    "tsrange": _LONE_TEXT,
    "tstzrange": _LONE_TEXT,
    "daterange": _LONE_TEXT,
    "tsvector": textual("io.debezium.data.Tsvector", array=no_placeholder),
    "point": fixed(geometry_types.POINT),
    "box": fixed(geometry_types.BOX),
    "lseg": fixed(geometry_types.LSEG),
    "path": fixed(geometry_types.PATH),
    "polygon": fixed(geometry_types.POLYGON),
    "circle": fixed(geometry_types.CIRCLE),
    "line": fixed(geometry_types.LINE),
}
"""Types of pg_catalog by typname."""

SHAPES = frozenset({"box", "lseg", "path", "polygon", "circle", "line"})
"""Types of pg_catalog that Debezium 3.6 leaves out."""

EXTENSIONS: Mapping[str, Maker] = {
    "citext": _LONE_TEXT,
    "ltree": textual("io.debezium.data.Ltree", array=no_placeholder),
    "isbn": _LONE_TEXT,
    "hstore": extension_types.hstore,
    "vector": fixed(extension_types.VECTOR),
    "halfvec": fixed(extension_types.HALFVEC),
    "sparsevec": fixed(extension_types.SPARSEVEC),
    "geometry": fixed(geometry_types.GEOMETRY),
    "geography": fixed(geometry_types.GEOGRAPHY),
}
"""Types of extensions by typname; an extension may live in any schema."""

OMITTED_ARRAYS = frozenset({"money", "name", "interval", "varbit", "xml", "point", "refcursor"})
"""Element types of pg_catalog whose arrays Debezium leaves out of its events, even where unknown
types are included."""


def array_of(element: Declaration, separator: bytes = b",") -> Declaration:
    """The declaration of an array; elements may be null."""
    return Declaration(
        Schema(Type.ARRAY, values=element.schema.as_optional()),
        Encoding.PYTHON,
        partial(values.array, element=element.decoder, separator=separator),
        [],
        unavailable=element.unavailable_array,
    )


def array_without_nulls(element: Declaration, separator: bytes) -> Declaration:
    """The declaration of an array that is null when one of its elements is."""
    made = array_of(element, separator)
    decoder = partial(values.array, element=element.decoder, separator=separator, nulls=False)
    return replace(made, schema=Schema(Type.ARRAY, values=element.schema), decoder=decoder)


def unknown_array(options: PostgresTypeOptions, separator: bytes) -> Declaration:
    """The declaration of an array whose elements are of an unknown type."""
    element = replace(binary_types.unknown(options), unavailable_array=no_placeholder)
    made = array_of(element, separator)
    if options.quirks:
        decoder = array_without_nulls(element, separator).decoder
        made = replace(made, decoder=decoder)
    return made
