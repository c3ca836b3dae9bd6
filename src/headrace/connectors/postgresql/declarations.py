"""One declaration per PostgreSQL type: its Connect schema, encoders and stand-in values."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from typing import Final

from headrace.connect.encoding import Encoding
from headrace.connect.schema import Schema, Type
from headrace.connectors.postgresql import values
from headrace.connectors.postgresql.type_facts import TypeFacts, TypeOptions
from headrace.debezium import decimals, temporal

_HEADER = 4  # PostgreSQL's VARHDRSZ, added to the modifiers of numeric and of the text types


class _NoPlaceholder:
    """The column's schema has no room for a placeholder: null, and the unavailable mark."""

    def __repr__(self) -> str:
        return "NO_PLACEHOLDER"

    def __reduce__(self) -> str:
        return "NO_PLACEHOLDER"


NO_PLACEHOLDER: Final = _NoPlaceholder()


@dataclass(frozen=True)
class Declaration:
    """What one type becomes, apart from nullability and defaults.

    `zero` is the value of a required column that the log leaves out; `toasted` makes the
    placeholder from its bytes, `toasted_array` that of an array of this type.
    """

    schema: Schema
    encoding: Encoding
    decoder: values.Decoder
    zero: object
    parameter: int = 0
    toasted: Callable[[bytes], object] = field(default=lambda _bytes: NO_PLACEHOLDER)
    toasted_array: Callable[[bytes], object] = field(default=lambda _bytes: NO_PLACEHOLDER)


Maker = Callable[[TypeFacts, int, TypeOptions], Declaration | None]


def _text_of(placeholder: bytes) -> str:
    return placeholder.decode(errors="replace")


def _texts_of(placeholder: bytes) -> list[object]:
    return [_text_of(placeholder)]


def _name_based_uuid(placeholder: bytes) -> list[object]:
    # Java's UUID.nameUUIDFromBytes: version 3 without a name space.
    digest = hashlib.md5(placeholder, usedforsecurity=False).digest()
    return [str(uuid.UUID(bytes=digest, version=3))]


def _textual(name: str | None = None, array: Callable[[bytes], object] = _texts_of) -> Maker:
    schema = Schema(Type.STRING, name=name, version=None if name is None else 1)
    made = Declaration(
        schema,
        Encoding.STRING,
        values.string,
        "",
        toasted=_text_of,
        toasted_array=array,
    )
    return lambda _facts, _typmod, _options: made


def _fixed(declaration: Declaration) -> Maker:
    return lambda _facts, _typmod, _options: declaration


def _integral(
    kind: Type, low: int, high: int, array: Callable[[bytes], object] | None = None
) -> Maker:
    decoder = partial(values.integer, low=low, high=high)
    made = Declaration(Schema(kind), Encoding.RAW, decoder, 0)
    return _fixed(made if array is None else replace(made, toasted_array=array))


def numeric_modifier(typmod: int) -> tuple[int, int] | None:
    """Precision and scale of a numeric's type modifier, or None when it has none.

    The scale is an 11-bit signed number since PostgreSQL 15 (`numeric(5,-2)`).
    """
    if typmod < _HEADER:
        return None
    bits = typmod - _HEADER
    return (bits >> 16) & 0xFFFF, ((bits & 0x7FF) ^ 0x400) - 0x400


def _numeric(_facts: TypeFacts, typmod: int, options: TypeOptions) -> Declaration:
    modifier = numeric_modifier(typmod)
    mode = options.decimal_handling_mode
    if mode == "double":
        return Declaration(
            Schema(Type.FLOAT64), Encoding.NUMERIC_DOUBLE, values.numeric_double, 0.0
        )
    if mode == "string":
        scale = None if modifier is None else max(modifier[1], 0)
        return Declaration(
            Schema(Type.STRING),
            Encoding.DECIMAL_STRING,
            partial(values.numeric_string, scale=scale),
            values.numeric_string(b"0", scale=scale),
            parameter=-1 if scale is None else scale,
            toasted=_text_of,
            toasted_array=_texts_of,
        )
    if modifier is None:
        return Declaration(
            decimals.VARIABLE_SCALE_DECIMAL,
            Encoding.VARIABLE_DECIMAL,
            values.variable_decimal,
            decimals.variable_scale(Decimal(0)),
        )
    precision, scale = modifier
    return Declaration(
        decimals.decimal_schema(scale, precision),
        # The kernel counts fraction digits, of which a negative scale has none.
        Encoding.DECIMAL if scale >= 0 else Encoding.PYTHON,
        partial(values.decimal, scale=scale),
        Decimal((0, (0,), -scale)),
        parameter=scale,
    )


def _precision(typmod: int) -> int:
    """Fraction digits of a time or timestamp: 6 when the column declares none."""
    return typmod if 0 <= typmod <= 6 else 6


def _time(_facts: TypeFacts, typmod: int, _options: TypeOptions) -> Declaration:
    schema = temporal.time_schema(_precision(typmod))
    if schema is temporal.TIME:
        return Declaration(schema, Encoding.TIME_MS, values.time_millis, 0)
    return Declaration(schema, Encoding.TIME_US, values.time_micros, 0)


def _timestamp(_facts: TypeFacts, typmod: int, _options: TypeOptions) -> Declaration:
    schema = temporal.timestamp_schema(_precision(typmod))
    if schema is temporal.TIMESTAMP:
        return Declaration(schema, Encoding.TIMESTAMP_MS, values.timestamp_millis, 0)
    return Declaration(schema, Encoding.TIMESTAMP_US, values.timestamp_micros, 0)


def _timestamp_with_zone(_facts: TypeFacts, typmod: int, _options: TypeOptions) -> Declaration:
    digits = _precision(typmod)
    return Declaration(
        temporal.ZONED_TIMESTAMP,
        Encoding.TIMESTAMPTZ,
        partial(values.timestamp_with_zone, digits=digits),
        "1970-01-01T00:00:00Z",
        parameter=digits,
    )


def enum(facts: TypeFacts) -> Declaration:
    schema = Schema(
        Type.STRING,
        name="io.debezium.data.Enum",
        version=1,
        parameters=(("allowed", ",".join(facts.labels)),),
    )
    return Declaration(schema, Encoding.STRING, values.string, "")


def _bit(_facts: TypeFacts, typmod: int, _options: TypeOptions) -> Declaration | None:
    if typmod != 1:
        return None  # longer ones are not supported yet
    return Declaration(Schema(Type.BOOLEAN), Encoding.BIT1, values.bit, False)


BUILT_IN: Mapping[str, Maker] = {
    "bool": _fixed(Declaration(Schema(Type.BOOLEAN), Encoding.BOOLEAN, values.boolean, False)),
    "int2": _integral(Type.INT16, -(2**15), 2**15 - 1),
    "int4": _integral(Type.INT32, -(2**31), 2**31 - 1, array=list),
    "int8": _integral(Type.INT64, -(2**63), 2**63 - 1, array=list),
    "oid": _integral(Type.INT64, 0, 2**32 - 1),
    "float4": _fixed(Declaration(Schema(Type.FLOAT32), Encoding.FLOAT, values.single, 0.0)),
    "float8": _fixed(Declaration(Schema(Type.FLOAT64), Encoding.DOUBLE, values.double, 0.0)),
    "numeric": _numeric,
    "char": _textual(),
    "bpchar": _textual(),
    "varchar": _textual(),
    "text": _textual(),
    "name": _textual(),
    "bit": _bit,
    "varbit": _bit,
    "bytea": _fixed(
        Declaration(
            Schema(Type.BYTES),
            Encoding.BYTES_HEX,
            values.bytea,
            b"",
            toasted=bytes,
            toasted_array=lambda placeholder: [placeholder],
        )
    ),
    "uuid": _textual("io.debezium.data.Uuid", array=_name_based_uuid),
    "json": _textual("io.debezium.data.Json"),
    "jsonb": _textual("io.debezium.data.Json"),
    "xml": _textual("io.debezium.data.Xml"),
    "date": _fixed(Declaration(temporal.DATE, Encoding.DATE, values.date, 0, toasted_array=list)),
    "time": _time,
    "timetz": _fixed(
        Declaration(temporal.ZONED_TIME, Encoding.TIMETZ, values.time_with_zone, "00:00:00Z")
    ),
    "timestamp": _timestamp,
    "timestamptz": _timestamp_with_zone,
    "inet": _textual(),
    "cidr": _textual(),
    "macaddr": _textual(),
    "macaddr8": _textual(),
    "int4range": _textual(),
    "int8range": _textual(),
    "numrange": _textual(),
    "tsrange": _textual(),
    "tstzrange": _textual(),
    "daterange": _textual(),
    "tsvector": _textual("io.debezium.data.Tsvector"),
}
"""Types of pg_catalog by typname."""

EXTENSIONS: Mapping[str, Maker] = {"citext": _textual()}
"""Types of extensions by typname; an extension may live in any schema."""

PLANNED = frozenset({"bit", "varbit", "money", "interval", "point", "box", "lseg", "path"}) | {
    "polygon",
    "circle",
    "line",
}
"""Types of pg_catalog that Debezium renders and this version does not."""

PLANNED_EXTENSIONS = frozenset(
    {
        "hstore",
        "ltree",
        "isbn",
        "geometry",
        "geography",
        "vector",
        "halfvec",
        "sparsevec",
    }
)
"""The same for extensions."""

OMITTED_ARRAYS = frozenset({"money", "name", "interval", "varbit", "xml", "point", "refcursor"})
"""Element types of pg_catalog whose arrays Debezium leaves out of its events."""


def array_of(element: Declaration, separator: bytes = b",") -> Declaration:
    """The declaration of an array; elements may be null."""
    return Declaration(
        Schema(Type.ARRAY, values=element.schema.as_optional()),
        Encoding.PYTHON,
        partial(values.array, element=element.decoder, separator=separator),
        [],
        toasted=element.toasted_array,
    )
