"""Kafka Connect schemas: immutable descriptions of values, rendered once as JsonConverter does."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from functools import cached_property

from headrace.connect.java_numbers import java_double, java_float, unscaled_bytes

DECIMAL = "org.apache.kafka.connect.data.Decimal"
"""Name of bytes that hold an unscaled number, big-endian; the parameter `scale` is the number of
digits after the point."""
MAX_SCALE = 10_000
"""The largest absolute scale of a decimal; databases declare at most 1,000."""
_WHOLE = re.compile(r"[+-]?[0-9]{1,9}")


class Type(StrEnum):
    """Connect's types; the values are JsonConverter's names."""

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float"
    FLOAT64 = "double"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"
    ANY = "any"
    """The type of a value without a schema: JSON's types, as Python objects."""


@dataclass(frozen=True)
class Field:
    """A named member of a struct schema."""

    name: str
    schema: Schema


@dataclass(frozen=True)
class Schema:
    """A Connect schema.

    `default` holds the default as a Connect value (for a decimal a `Decimal`, not the bytes of its
    unscaled value). `values` is the element schema of an array or the value schema of a map, `keys`
    the key schema of a map.
    """

    type: Type
    optional: bool = False
    name: str | None = None
    version: int | None = None
    default: object = None
    doc: str | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    fields: tuple[Field, ...] = ()
    keys: Schema | None = None
    values: Schema | None = field(default=None)

    def as_optional(self, optional: bool = True) -> Schema:
        """Return the schema with another optionality."""
        return self if self.optional == optional else replace(self, optional=optional)

    def with_default(self, default: object) -> Schema:
        """Return the schema with another default; None: without a default."""
        return replace(self, default=default)

    def with_parameters(self, parameters: Mapping[str, str]) -> Schema:
        """Return the schema with `parameters` appended."""
        return replace(self, parameters=self.parameters + tuple(parameters.items()))

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The names of `fields` in order, with their indexes; of several with one name the
        first."""
        places: dict[str, int] = {}
        for place, own_field in enumerate(self.fields):
            places.setdefault(own_field.name, place)
        return places

    @cached_property
    def _scale(self) -> int:
        text = dict(self.parameters).get("scale", "0")
        scale = int(text) if _WHOLE.fullmatch(text) else MAX_SCALE + 1
        if abs(scale) > MAX_SCALE:
            raise ValueError(f"the scale {text[:40]!r}")
        return scale

    @cached_property
    def json(self) -> str:
        """The schema as JsonConverter prints it (compact, member order as in asJsonSchema)."""
        if self._has_any():
            return "null"  # Connect has no such type
        text = json.dumps(self._json_object(), ensure_ascii=False, separators=(",", ":"))
        text = _NUMBER.sub(r"\1", text)
        return re.sub("[\U00010000-\U0010ffff]", _surrogates, text)

    def _has_any(self) -> bool:
        """Return whether values, or parts of them, have no schema."""
        inner = (*(field.schema for field in self.fields), self.keys, self.values)
        return self.type is Type.ANY or any(part is not None and part._has_any() for part in inner)

    def _json_object(self, member: str | None = None) -> dict[str, object]:
        out: dict[str, object] = {"type": self.type.value}
        if self.type is Type.STRUCT:
            out["fields"] = [f.schema._json_object(f.name) for f in self.fields]
        elif self.type is Type.ARRAY and self.values is not None:
            out["items"] = self.values._json_object()
        elif self.type is Type.MAP and self.keys is not None and self.values is not None:
            out["keys"] = self.keys._json_object()
            out["values"] = self.values._json_object()
        out["optional"] = self.optional
        if self.name is not None:
            out["name"] = self.name
        if self.version is not None:
            out["version"] = self.version
        if self.doc is not None:
            out["doc"] = self.doc
        if self.parameters:
            out["parameters"] = dict(self.parameters)
        if self.default is not None:
            out["default"] = _json_value(self.default, self)
        if member is not None:
            out["field"] = member
        return out


def _surrogates(match: re.Match[str]) -> str:
    """Return a character beyond the basic plane as two escapes, as Jackson writes it."""
    offset = ord(match[0]) - 0x10000
    return f"\\u{0xD800 + (offset >> 10):04X}\\u{0xDC00 + (offset & 0x3FF):04X}"


# Marks Java's text of a number by NULs, which no text of a schema contains, for `json`.
_NUMBER = re.compile(r'"\\u0000([^"]*)\\u0000"')


def _json_value(value: object, schema: Schema) -> object:
    if isinstance(value, float):
        is_single = schema.type is Type.FLOAT32
        text = java_float(value) if is_single else java_double(value)
        return f"\0{text}\0" if math.isfinite(value) else text
    if isinstance(value, Decimal):
        return base64.b64encode(unscaled_bytes(value)).decode()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, list | tuple) and schema.values is not None:
        return [_json_value(item, schema.values) for item in value]
    if isinstance(value, Mapping) and schema.fields:
        return {f.name: _json_value(value.get(f.name), f.schema) for f in schema.fields}
    if isinstance(value, Mapping) and schema.keys is not None and schema.values is not None:
        keys, values = schema.keys, schema.values
        if keys.type is Type.STRING:
            return {key: _json_value(item, values) for key, item in value.items()}
        return [[_json_value(key, keys), _json_value(item, values)] for key, item in value.items()]
    return value


def decimal_scale(schema: Schema) -> int:
    """Return the digits after the point of a Decimal's values; 0 without such a parameter.

    Raises ValueError for a parameter that is not a whole number of at most MAX_SCALE.
    """
    return schema._scale


SCHEMALESS = Schema(Type.ANY, optional=True)
"""The schema of values without a schema."""
