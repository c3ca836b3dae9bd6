"""The Connect types of undeclared BSON values, and their Connect values.

Each BSON type maps to one Connect type: a date to Connect's Timestamp, a Decimal128 to a text. For
values of a declared type see `headrace.documents.target_schema`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headrace.connect.schema import Field, Schema, Type
from headrace.documents.bson import Kind
from headrace.documents.values import SCALARS, elements_of, pointer_parts, regex_parts, scoped_code

TEXT = Schema(Type.STRING, optional=True)
_TIMESTAMP = Schema(
    Type.INT64, optional=True, name="org.apache.kafka.connect.data.Timestamp", version=1
)
REGEX = Schema(
    Type.STRUCT,
    optional=True,
    name="io.debezium.mongodb.regex",
    fields=(Field("regex", TEXT), Field("options", TEXT)),
)
POINTER_FIELDS = ("$ref", "$id")
"""Fields of a DBPointer, both texts."""
SCALAR_TYPES: Mapping[Kind, Schema] = {
    Kind.DOUBLE: Schema(Type.FLOAT64, optional=True),
    Kind.BINARY: Schema(Type.BYTES, optional=True),
    Kind.BOOLEAN: Schema(Type.BOOLEAN, optional=True),
    Kind.DATE: _TIMESTAMP,
    Kind.TIMESTAMP: _TIMESTAMP,
    Kind.INT32: Schema(Type.INT32, optional=True),
    Kind.INT64: Schema(Type.INT64, optional=True),
}
"""Connect types of scalar values; those of other types are texts."""
TEXTS = (Kind.STRING, Kind.OBJECT_ID, Kind.CODE, Kind.SYMBOL)
"""Types whose text contains the whole value."""


def scalar_type(kind: Kind) -> Schema:
    """The Connect type of a scalar value."""
    return SCALAR_TYPES.get(kind, TEXT)


def plain_value(
    kind: int,
    value: bytes,
    field_name: Callable[[str], str],
    array: Callable[[bytes], object],
    scalars: Mapping[int, Callable[[bytes], object]] = SCALARS,
) -> object:
    """Return the Python value of a type and its bytes, in the form of its Connect type.
    `field_name` returns the names of fields; `array` the values of arrays that are fields,
    `scalars` those of scalar types."""
    match kind:
        case Kind.DOCUMENT:
            return plain_members(value, field_name, array, scalars)
        case Kind.ARRAY:
            return array(value)
        case Kind.REGEX:
            return dict(zip(("regex", "options"), regex_parts(value), strict=True))
        case Kind.DB_POINTER:
            return dict(zip(map(field_name, POINTER_FIELDS), pointer_parts(value), strict=True))
        case Kind.CODE_WITH_SCOPE:
            code, scope = scoped_code(value)
            return {"code": code, "scope": plain_members(scope, field_name, array, scalars)}
    return None if kind == Kind.UNDEFINED else scalars[kind](value)


def plain_members(
    document: bytes,
    field_name: Callable[[str], str],
    array: Callable[[bytes], object],
    scalars: Mapping[int, Callable[[bytes], object]] = SCALARS,
) -> dict[str, object]:
    """Return the fields of a document except undefined ones, with values as in `plain_value`."""
    return {
        field_name(name): plain_value(kind, value, field_name, array, scalars)
        for kind, name, value in elements_of(document)
        if kind != Kind.UNDEFINED
    }
