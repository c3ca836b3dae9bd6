"""Arrow types of Connect schemas, and Arrow arrays of Connect values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from headrace.connect.schema import DECIMAL, Schema, Type, decimal_scale
from headrace.connect.values.many_values import ManyValues
from headrace.errors import HeadraceError

_TYPES = {
    Type.INT8: pa.int8(),
    Type.INT16: pa.int16(),
    Type.INT32: pa.int32(),
    Type.INT64: pa.int64(),
    Type.FLOAT32: pa.float32(),
    Type.FLOAT64: pa.float64(),
    Type.BOOLEAN: pa.bool_(),
    Type.STRING: pa.large_string(),
    Type.BYTES: pa.large_binary(),
}
_NESTING = (Type.ARRAY, Type.MAP, Type.STRUCT)
_MAX_DIGITS = 76  # digits of Arrow's widest decimal


def arrow_type(schema: Schema) -> pa.DataType:
    """Return the Arrow type for values of `schema`: integers, floats, boolean, large_string,
    large_binary; decimal256 for Connect's Decimal; lists, maps and structs of these.

    Raises HeadraceError("connect.value_not_in_arrow") for values without a schema.
    """
    match schema.type:
        case Type.BYTES if schema.name == DECIMAL:
            scale = decimal_scale(schema)
            return pa.decimal256(_MAX_DIGITS, scale)
        case Type.ARRAY if schema.values is not None:
            return pa.large_list(arrow_type(schema.values))
        case Type.MAP if schema.keys is not None and schema.values is not None:
            return pa.map_(arrow_type(schema.keys), arrow_type(schema.values))
        case Type.STRUCT:
            return pa.struct([pa.field(f.name, arrow_type(f.schema)) for f in schema.fields])
        case Type.ANY:
            raise HeadraceError(
                "connect.value_not_in_arrow",
                "a value without a schema has no form in Arrow",
                "Convert it with a schema before it is transformed.",
            )
    return _TYPES[schema.type]


def arrow_array(schema: Schema, values: Sequence[object]) -> pa.Array:
    """Return Connect values of `schema` as an array of `arrow_type`.

    Raises HeadraceError("connect.value_not_in_arrow") for decimals of more than 76 digits and for
    values that are not of the schema's type.
    """
    kind = arrow_type(schema)
    if schema.type in _NESTING:
        values = _NESTED.of(schema, values)
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise HeadraceError(
            "connect.value_not_in_arrow",
            f"a value of type {schema.name or schema.type.value} has no form in Arrow",
            "A decimal may have at most 76 digits; leave the column out of the transform.",
        ) from None


def _nested(schema: Schema, value: object) -> object:
    """Return a value of another class than dict or list in Arrow's form: maps as lists of pairs."""
    if schema.type is Type.MAP and isinstance(value, Mapping):
        return _NESTED.of(schema, [dict(value)])[0]
    if schema.type is Type.STRUCT and isinstance(value, Mapping):
        return _NESTED.of(schema, [dict(value)])[0]
    return value


_NESTED: ManyValues[object] = ManyValues(
    one=_nested,
    array=lambda _schema, items: items,
    struct=lambda schema: lambda row: dict(zip(schema.places, row, strict=True)),
    map=lambda _schema, pairs: pairs,
    several=lambda schema, _kind, values: None if schema.type in _NESTING else list(values),
)


def connect_value(schema: Schema, value: object) -> object:
    """Return the Connect value of a scalar's Python value in Arrow: maps are mappings."""
    if value is None:
        return None
    if schema.type is Type.MAP and isinstance(value, list):
        assert schema.keys is not None
        assert schema.values is not None
        keys, values = schema.keys, schema.values
        return {connect_value(keys, key): connect_value(values, item) for key, item in value}
    if schema.type is Type.ARRAY and schema.values is not None and isinstance(value, list):
        return [connect_value(schema.values, item) for item in value]
    if schema.type is Type.STRUCT and isinstance(value, Mapping):
        return {f.name: connect_value(f.schema, value.get(f.name)) for f in schema.fields}
    return value
