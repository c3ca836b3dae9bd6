"""Connect values in Avro's binary encoding, in plain Python: exact for every value, and the
reference for the compiled encoders."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

import numpy as np

from headrace.connect.java_numbers import at_scale, unscaled_bytes
from headrace.connect.schema import DECIMAL, Schema, Type, decimal_scale
from headrace.connect.values.many_values import ManyValues
from headrace.converters.avro.schemas import AvroOptions, is_pairs, symbols_of
from headrace.errors import HeadraceError


def long(value: int) -> bytes:
    """An int or long: zig-zag, seven bits per byte, lowest first."""
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def branch_of(schema: Schema) -> bytes:
    """Return the branch of a value that is not null, empty if the schema is not a union. In a union
    the type of the default comes first, except for structs."""
    if not schema.optional:
        return b""
    has_default = schema.default is not None and schema.type is not Type.STRUCT
    return b"\x00" if has_default else b"\x02"


def null_of(schema: Schema, options: AvroOptions) -> bytes | None:
    """Return the encoding of a null: the default if the schema has one; None if the schema does not
    allow nulls."""
    if schema.default is not None:
        return encode(schema, schema.default, options)
    return b"\x00" if schema.optional else None


def encode(schema: Schema, value: object, options: AvroOptions) -> bytes:
    """A value of a field, array or map with this schema, after the branch of its union.

    Values are those of `headrace.converters.json.values.render`. Raises HeadraceError
    `converters.null_not_allowed` and `converters.value_mismatch` as it does.
    """
    if value is None:
        null = null_of(schema, options)
        if null is None:
            raise HeadraceError(
                "converters.null_not_allowed",
                f"a required value of type {schema.type.value}"
                + (f" ({schema.name})" if schema.name else "")
                + " is null",
                "Make the column nullable, or exclude it with column.exclude.list.",
            )
        return null
    try:
        return branch_of(schema) + _value(schema, value, options)
    except (TypeError, ValueError, AttributeError, AssertionError, KeyError, OverflowError,
            struct.error):  # fmt: skip
        # The value itself stays out of the message: it may be a secret.
        raise HeadraceError(
            "converters.value_mismatch",
            f"a {type(value).__name__} cannot be written as {schema.type.value}"
            + (f" ({schema.name})" if schema.name else ""),
            "This is a defect of a connector or transform; report it with the column's type.",
        ) from None


_LIMITS = {Type.INT8: 7, Type.INT16: 15, Type.INT32: 31, Type.INT64: 63}


def _value(schema: Schema, value: object, options: AvroOptions) -> bytes:
    match schema.type:
        case Type.INT8 | Type.INT16 | Type.INT32 | Type.INT64:
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
                raise TypeError
            if not -(1 << _LIMITS[schema.type]) <= value < 1 << _LIMITS[schema.type]:
                raise OverflowError
            return long(int(value))
        case Type.FLOAT32:
            return struct.pack("<f", value)
        case Type.FLOAT64:
            return struct.pack("<d", value)
        case Type.BOOLEAN:
            if not isinstance(value, (bool, np.bool_)):
                raise TypeError
            return b"\x01" if value else b"\x00"
        case Type.STRING:
            symbols = symbols_of(schema, options)
            if not isinstance(value, str):
                raise TypeError
            return _block(value.encode()) if symbols is None else long(symbols.index(value))
        case Type.BYTES:
            return _block(plain_bytes(schema, value))
        case Type.ARRAY:
            assert schema.values is not None
            assert isinstance(value, (list, tuple))
            return _items(_many(options).of(schema.values, value))
        case Type.MAP:
            return _map(schema, value, options)
        case Type.STRUCT:
            assert isinstance(value, Mapping)
            members = (encode(f.schema, value.get(f.name), options) for f in schema.fields)
            return b"".join(members)
    raise TypeError


def plain_bytes(schema: Schema, value: object) -> bytes:
    """The bytes of a value of bytes or of a decimal."""
    if schema.name == DECIMAL:
        assert isinstance(value, Decimal)
        scaled = at_scale(value, decimal_scale(schema))
        assert scaled is not None
        return unscaled_bytes(scaled)
    assert isinstance(value, (bytes, bytearray, memoryview))
    return bytes(value)


def _block(raw: bytes) -> bytes:
    return long(len(raw)) + raw


def _struct_of(schema: Schema) -> Callable[[Sequence[bytes]], bytes]:
    branch = branch_of(schema)
    return lambda row: branch + b"".join(row)


def _many(options: AvroOptions) -> ManyValues[bytes]:
    """Return `encode` for many values."""
    return ManyValues(
        one=lambda schema, value: encode(schema, value, options),
        array=lambda schema, items: branch_of(schema) + _items(items),
        struct=_struct_of,
    )


def _items(items: list[bytes]) -> bytes:
    return (long(len(items)) + b"".join(items) if items else b"") + b"\x00"


def _map(schema: Schema, value: object, options: AvroOptions) -> bytes:
    assert isinstance(value, Mapping)
    assert schema.keys is not None
    assert schema.values is not None
    keys, values = schema.keys, schema.values
    if is_pairs(schema):
        return _items([encode(keys, k, options) + encode(values, v, options)
                       for k, v in value.items()])  # fmt: skip
    for key in value:
        if not isinstance(key, str):
            raise TypeError
    return _items([_block(k.encode()) + encode(values, v, options) for k, v in value.items()])
