"""Connect values as JSON text, in plain Python: exact for every value, and the reference for the
compiled encoders.

Follows Kafka Connect's JsonConverter and the Jackson generator that it uses, on Java 19 or later
(whose floating-point texts are the shortest ones). Used for constants (defaults, placeholders,
fallbacks), for the cells that the compiled encoders cannot write, and in tests.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from operator import add
from typing import Protocol

import numpy as np

from headrace.connect.java_numbers import at_scale, java_double, java_float
from headrace.connect.json_values import json_text, quote, quoted_unless_number
from headrace.connect.schema import DECIMAL, Schema, Type, decimal_scale
from headrace.connect.values.float_texts import java_texts
from headrace.connect.values.many_values import ManyValues
from headrace.debezium import decimals
from headrace.errors import HeadraceError


@dataclass(frozen=True)
class JsonOptions:
    """JsonConverter's options that change how a value is written.

    `decimal_numeric` is `decimal.format=NUMERIC`: decimals as JSON numbers instead of base64;
    `schemas_enable` puts `{"schema":…,"payload":…}` around whole keys, values and headers.
    """

    replace_null_with_default: bool = True
    decimal_numeric: bool = False
    schemas_enable: bool = False


DEFAULT_OPTIONS = JsonOptions()


class CellType(Protocol):
    """The attributes of a column's type that `render_cell` needs."""

    @property
    def schema(self) -> Schema:
        """The Connect schema of the column's values."""
        ...

    @property
    def decode(self) -> Callable[[bytes], object]:
        """The function from the text of a non-null value to its Connect value; None if it has
        none."""
        ...


def render(schema: Schema, value: object, options: JsonOptions = DEFAULT_OPTIONS) -> str:
    """The JSON text of a Connect value.

    Bytes are `bytes`, Connect Decimals `Decimal`, structs mappings of field names (an absent
    field is null), arrays lists or tuples, maps mappings. Raises HeadraceError
    `converters.null_not_allowed` for null where the schema is required without default, and
    `converters.value_mismatch` when the value is not of the schema's type.
    """
    if value is None:
        return _null(schema, options)
    try:
        return _RENDERERS[schema.type](schema, value, options)
    except (TypeError, ValueError, AttributeError, AssertionError, KeyError, OverflowError):
        # The value itself stays out of the message: it may be a secret.
        raise HeadraceError(
            "converters.value_mismatch",
            f"a {type(value).__name__} cannot be written as {schema.type.value}"
            + (f" ({schema.name})" if schema.name else ""),
            "This is a defect of a connector or transform; report it with the column's type.",
        ) from None


def render_cell(
    column_type: CellType, text: bytes, options: JsonOptions = DEFAULT_OPTIONS
) -> bytes:
    """The JSON text (UTF-8) of one non-null cell, from the database's text."""
    return render(column_type.schema, column_type.decode(text), options).encode()


def _null(schema: Schema, options: JsonOptions) -> str:
    if schema.default is not None and options.replace_null_with_default:
        return render(schema, schema.default, options)
    if schema.optional:
        return "null"
    raise HeadraceError(
        "converters.null_not_allowed",
        f"a required value of type {schema.type.value}"
        + (f" ({schema.name})" if schema.name else "")
        + " is null",
        "Make the column nullable, or exclude it with column.exclude.list.",
    )


def _string(_schema: Schema, value: object, _options: JsonOptions) -> str:
    if not isinstance(value, str):
        raise TypeError
    return quote(value)


def _integer(_schema: Schema, value: object, _options: JsonOptions) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError
    return str(int(value))


def _boolean(_schema: Schema, value: object, _options: JsonOptions) -> str:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError
    return "true" if value else "false"


def _double(_schema: Schema, value: object, _options: JsonOptions) -> str:
    return quoted_unless_number(java_double(float(value)))  # type: ignore[arg-type]


def _float(_schema: Schema, value: object, _options: JsonOptions) -> str:
    return quoted_unless_number(java_float(float(value)))  # type: ignore[arg-type]


def _bytes(schema: Schema, value: object, options: JsonOptions) -> str:
    if schema.name == DECIMAL:
        if not isinstance(value, Decimal):
            raise TypeError
        scaled = at_scale(value, decimal_scale(schema))
        if scaled is None:
            raise ValueError
        if options.decimal_numeric:
            # The text of Java's BigDecimal.toString, which has no negative zero.
            return str(scaled if scaled else scaled.copy_abs())
        return f'"{decimals.base64_text(scaled)}"'
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError
    return f'"{base64.b64encode(value).decode()}"'


def _struct_of(schema: Schema) -> Callable[[Sequence[str]], str]:
    names = [f"{quote(name)}:" for name in schema.places]
    return lambda row: "{" + ",".join(map(add, names, row)) + "}"


def _many(options: JsonOptions) -> ManyValues[str]:
    """Return `render` for many values."""
    return ManyValues(
        one=lambda schema, value: render(schema, value, options),
        array=lambda _schema, items: "[" + ",".join(items) + "]",
        struct=_struct_of,
        several=_leaves,
    )


_UNQUOTED = re.compile(r'[\x00-\x1f"\\\U00010000-\U0010ffff]')


def _leaves(schema: Schema, kind: type, values: Sequence[object]) -> list[str] | None:
    """The texts of values of one type; None if they have to be rendered one by one."""
    match schema.type:
        case Type.INT8 | Type.INT16 | Type.INT32 | Type.INT64 if kind is int:
            return [str(value) for value in values]
        case Type.FLOAT32 | Type.FLOAT64 if kind is float:
            single = schema.type is Type.FLOAT32
            with np.errstate(over="ignore"):
                numbers = np.array(values, np.float32 if single else np.float64)
            return [quoted_unless_number(text) for text in java_texts(numbers)]
        case Type.STRING if kind is str and not any(map(_UNQUOTED.search, set(values))):  # type: ignore[arg-type]
            return [f'"{value}"' for value in values]
    return None


def _array(schema: Schema, value: object, options: JsonOptions) -> str:
    if schema.values is None or not isinstance(value, (list, tuple)):
        raise TypeError
    many = _many(options)
    return many.array(schema, many.of(schema.values, value))


def _map(schema: Schema, value: object, options: JsonOptions) -> str:
    if schema.keys is None or schema.values is None or not isinstance(value, Mapping):
        raise TypeError
    pairs = [
        (render(schema.keys, key, options), render(schema.values, item, options))
        for key, item in value.items()
    ]
    # Only keys that are always strings fit a JSON object; others become pairs.
    if schema.keys.type is Type.STRING and not schema.keys.optional:
        return "{" + ",".join([f"{key}:{item}" for key, item in pairs]) + "}"
    return "[" + ",".join([f"[{key},{item}]" for key, item in pairs]) + "]"


def _struct(schema: Schema, value: object, options: JsonOptions) -> str:
    if not isinstance(value, Mapping):
        raise TypeError
    members = [
        f"{quote(field.name)}:{render(field.schema, value.get(field.name), options)}"
        for field in schema.fields
    ]
    return "{" + ",".join(members) + "}"


_RENDERERS: Mapping[Type, Callable[[Schema, object, JsonOptions], str]] = {
    Type.INT8: _integer,
    Type.INT16: _integer,
    Type.INT32: _integer,
    Type.INT64: _integer,
    Type.FLOAT32: _float,
    Type.FLOAT64: _double,
    Type.BOOLEAN: _boolean,
    Type.STRING: _string,
    Type.BYTES: _bytes,
    Type.ARRAY: _array,
    Type.MAP: _map,
    Type.STRUCT: _struct,
    Type.ANY: lambda _schema, value, _options: json_text(value),
}
