"""Connect's schemas and values in the JSON of Kafka Connect's JsonConverter, read and written as
Python's `json` objects.

Values follow the converter with the format BASE64 of decimals: bytes and decimals are base64, maps
are objects where their keys are texts that are never null and else lists of pairs.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal

from headrace.connect.java_numbers import java_double, java_float
from headrace.connect.schema import DECIMAL, SCHEMALESS, Field, Schema, Type, unscaled_bytes
from headrace.errors import HeadraceError

_INTEGERS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}


def decimal_of(unscaled: int, scale: int) -> Decimal:
    """The decimal unscaled · 10^-scale, with all its digits."""
    digits = Decimal(abs(unscaled)).as_tuple().digits
    return Decimal((int(unscaled < 0), digits, -scale))


def load_schema(described: object) -> Schema:
    """A schema from its JSON object; null is SCHEMALESS.

    Raises HeadraceError("connect.schema_not_understood").
    """
    if described is None:
        return SCHEMALESS
    if not isinstance(described, Mapping):
        raise _not_a_schema(f"a {type(described).__name__} instead of an object")
    try:
        kind = Type(described["type"])
    except (KeyError, ValueError):
        raise _not_a_schema(f"the type {described.get('type')!r}") from None
    fields: tuple[Field, ...] = ()
    keys = values = None
    if kind is Type.STRUCT:
        entries = described.get("fields")
        if not isinstance(entries, list):
            raise _not_a_schema("a struct without fields")
        fields = tuple(Field(_name_of(entry), load_schema(entry)) for entry in entries)
    elif kind is Type.ARRAY:
        values = load_schema(described.get("items"))
    elif kind is Type.MAP:
        keys, values = load_schema(described.get("keys")), load_schema(described.get("values"))
    parameters = described.get("parameters") or {}
    schema = Schema(
        kind,
        optional=bool(described.get("optional", False)),
        name=described.get("name"),
        version=described.get("version"),
        doc=described.get("doc"),
        parameters=tuple((str(name), str(text)) for name, text in parameters.items()),
        fields=fields,
        keys=keys,
        values=values,
    )
    default = described.get("default")
    if default is None:
        return schema
    return schema.with_default(load_value(schema, default))


def _name_of(entry: object) -> str:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("field"), str):
        raise _not_a_schema("a field without a name")
    return str(entry["field"])


def _not_a_schema(what: str) -> HeadraceError:
    return HeadraceError(
        "connect.schema_not_understood",
        f"a schema has {what}",
        "Write schemas as Kafka Connect's JsonConverter does.",
    )


def load_value(schema: Schema, payload: object) -> object:
    """The Connect value of a payload; null stays null, whatever the schema's default.

    Raises HeadraceError("connect.value_not_understood") when it is not of the schema's type.
    """
    if payload is None:
        return None
    try:
        return _loaded(schema, payload)
    except (TypeError, ValueError, ArithmeticError, binascii.Error):
        raise HeadraceError(
            "connect.value_not_understood",
            f"a payload is no {schema.type.value}" + (f" ({schema.name})" if schema.name else ""),
            "Write values as Kafka Connect's JsonConverter does.",
        ) from None


def _loaded(schema: Schema, payload: object) -> object:
    match schema.type:
        case Type.ANY:
            return payload
        case Type.STRING if isinstance(payload, str):
            return payload
        case Type.BOOLEAN if isinstance(payload, bool):
            return payload
        case Type.INT8 | Type.INT16 | Type.INT32 | Type.INT64 if type(payload) is int:
            bits = _INTEGERS[schema.type]
            if -(1 << bits - 1) <= payload < 1 << bits - 1:
                return payload
        case Type.FLOAT32 | Type.FLOAT64 if isinstance(payload, int | float | str | Decimal):
            return float(payload)
        case Type.BYTES if schema.name == DECIMAL:
            scale = int(dict(schema.parameters).get("scale", "0"))
            if isinstance(payload, int | float | Decimal) and not isinstance(payload, bool):
                return Decimal(str(payload))
            number = int.from_bytes(
                base64.b64decode(str(payload), validate=True), "big", signed=True
            )
            # Of all digits: `scaleb` rounds to those of the context.
            sign, digits, _ = Decimal(number).as_tuple()
            return Decimal((sign, digits, -scale))
        case Type.BYTES if isinstance(payload, str):
            return base64.b64decode(payload, validate=True)
        case Type.ARRAY if isinstance(payload, list) and schema.values is not None:
            return [load_value(schema.values, item) for item in payload]
        case Type.MAP if schema.keys is not None and schema.values is not None:
            pairs = payload.items() if isinstance(payload, Mapping) else payload
            return {
                load_value(schema.keys, key): load_value(schema.values, item)
                for key, item in pairs  # type: ignore[attr-defined]
            }
        case Type.STRUCT if isinstance(payload, Mapping):
            return {f.name: load_value(f.schema, payload.get(f.name)) for f in schema.fields}
    raise TypeError


def dump_value(schema: Schema, value: object) -> object:
    """The payload of a Connect value; what `load_value` reads back."""
    if value is None:
        return None
    match schema.type:
        case Type.FLOAT32 | Type.FLOAT64:
            number = float(value)  # type: ignore[arg-type]
            if not math.isfinite(number):
                return java_double(number)
            # The shortest digits that identify it.
            return float(java_float(number)) if schema.type is Type.FLOAT32 else number
        case Type.BYTES if schema.name == DECIMAL:
            assert isinstance(value, Decimal)
            return base64.b64encode(unscaled_bytes(value)).decode()
        case Type.BYTES:
            return base64.b64encode(bytes(value)).decode()  # type: ignore[call-overload]
        case Type.ARRAY if schema.values is not None:
            return [dump_value(schema.values, item) for item in value]  # type: ignore[attr-defined]
        case Type.MAP if schema.keys is not None and schema.values is not None:
            keys, values = schema.keys, schema.values
            pairs = [
                [dump_value(keys, key), dump_value(values, item)]
                for key, item in value.items()  # type: ignore[attr-defined]
            ]
            is_object = keys.type is Type.STRING and not keys.optional
            return {str(key): item for key, item in pairs} if is_object else pairs
        case Type.STRUCT:
            assert isinstance(value, Mapping)
            return {f.name: dump_value(f.schema, value.get(f.name)) for f in schema.fields}
    return value


_ESCAPED = re.compile(r'[\x00-\x1f"\\\U00010000-\U0010ffff]')
_ESCAPES = {c: f"\\u{c:04X}" for c in range(0x20)} | {
    ord(c): e
    for c, e in (
        ("\b", "\\b"),
        ("\t", "\\t"),
        ("\n", "\\n"),
        ("\f", "\\f"),
        ("\r", "\\r"),
        ('"', '\\"'),
        ("\\", "\\\\"),
    )
}


def quote(text: str) -> str:
    """A JSON string as Jackson writes it: short escapes, other controls as \\u00XX in upper case,
    characters beyond the basic plane as two escapes, everything else as it is."""
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def _escape(match: re.Match[str]) -> str:
    point = ord(match[0])
    if point < 0x10000:
        return _ESCAPES[point]
    offset = point - 0x10000
    return f"\\u{0xD800 + (offset >> 10):04X}\\u{0xDC00 + (offset & 0x3FF):04X}"


def quoted_unless_number(text: str) -> str:
    """Java's text of a floating-point number, as JSON."""
    # JSON has no NaN and no infinities; Jackson quotes them.
    return f'"{text}"' if text[-1] in "Ny" else text


_CONTROL = re.compile(r'[\x00-\x1f"\\]')


def document_text(value: object) -> str:
    """A JSON document as Debezium writes it to a text: as `json_text`, but for characters beyond
    the basic plane, which Jackson escapes in bytes and leaves as they are in texts."""
    return json_text(value, lambda text: '"' + _CONTROL.sub(_escape, text) + '"')


def json_text(value: object, quoted: Callable[[str], str] = quote) -> str:
    """A value without a schema, as Jackson writes it; `quoted` writes its texts.

    Raises TypeError for what is no JSON.
    """
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return quoted_unless_number(java_double(value))
        case str():
            return quoted(value)
        case Mapping():
            members = [
                f"{quoted(str(name))}:{json_text(item, quoted)}" for name, item in value.items()
            ]
            return "{" + ",".join(members) + "}"
        case list() | tuple():
            return "[" + ",".join(json_text(item, quoted) for item in value) + "]"
    raise TypeError
