"""Connect schemas as Avro schemas, as Confluent's AvroData makes them.

The text of a schema is the one that Java's `Schema.toString` gives: a registry that compares texts
finds the schemas that Kafka Connect registered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from headrace.connect.java_numbers import at_scale, java_double, java_float, unscaled_bytes
from headrace.connect.json_values import quote
from headrace.connect.schema import DECIMAL, Schema, Type, decimal_scale
from headrace.errors import HeadraceError

ENUM = "io.confluent.connect.avro.Enum"
"""Name of the parameter that makes a string an enum, with `enhanced.avro.schema.support`."""
_NAMESPACE, _NAME = "io.confluent.connect.avro", "ConnectDefault"
_MAP_ENTRY = "MapEntry"
_INTERNAL_TYPE = "connect.internal.type"
_RECORD_DOC = "io.confluent.connect.avro.record.doc"
_FIELD_DOC = "io.confluent.connect.avro.field.doc."
_FIELD_DEFAULT = "io.confluent.connect.avro.field.default"
_PRECISION, _DEFAULT_PRECISION = "connect.decimal.precision", 64
_PRIMITIVES = {
    Type.INT8: "int", Type.INT16: "int", Type.INT32: "int", Type.INT64: "long",
    Type.FLOAT32: "float", Type.FLOAT64: "double", Type.BOOLEAN: "boolean",
    Type.STRING: "string", Type.BYTES: "bytes",
}  # fmt: skip
_LOGICAL = {
    "org.apache.kafka.connect.data.Time": "time-millis",
    "org.apache.kafka.connect.data.Timestamp": "timestamp-millis",
    "org.apache.kafka.connect.data.Date": "date",
}


@dataclass(frozen=True)
class AvroOptions:
    """AvroDataConfig: `connect.meta.data` and `enhanced.avro.schema.support`."""

    connect_metadata: bool = True
    enhanced: bool = False


def avro_text(schema: Schema, options: AvroOptions) -> str:
    """The Avro schema of a Connect schema.

    Raises HeadraceError `avro.name` when a name is not valid in Avro, `avro.redefined` when two
    different structs have one name.
    """
    return _Writer(options).schema(schema, None)


def full_name(schema: Schema) -> str | None:
    """The full name of the record that a schema becomes; None if it becomes no record."""
    if schema.type is not Type.STRUCT:
        return None
    namespace, name = _split(schema.name)
    return f"{namespace}.{name}" if namespace else name


def is_pairs(schema: Schema) -> bool:
    """Whether Avro represents a map as an array of keys and values: the keys of an Avro map are
    always strings."""
    assert schema.keys is not None
    return schema.keys.type is not Type.STRING or schema.keys.optional


def symbols_of(schema: Schema, options: AvroOptions) -> tuple[str, ...] | None:
    """The symbols of a string schema that is an enum; None if it is not one."""
    parameters = dict(schema.parameters)
    if not options.enhanced or schema.type is not Type.STRING or ENUM not in parameters:
        return None
    return tuple(text for name, text in schema.parameters if name.startswith(f"{ENUM}."))


def _split(name: str | None) -> tuple[str | None, str]:
    if name is None:
        return _NAMESPACE, _NAME
    namespace, dot, last = name.rpartition(".")
    return (namespace if dot else None), last


class _Writer:
    def __init__(self, options: AvroOptions) -> None:
        self.options = options
        self.defined: dict[str, Schema] = {}

    def schema(self, schema: Schema, space: str | None) -> str:
        """The text of a schema in a record of namespace `space`."""
        if schema.type is Type.STRUCT:
            record = self.record(replace(schema, optional=False), space)
            return f'["null",{record}]' if schema.optional else record
        base = self.base(schema, space)
        if not schema.optional:
            return base
        return f'[{base},"null"]' if schema.default is not None else f'["null",{base}]'

    def base(self, schema: Schema, space: str | None) -> str:
        if schema.type is Type.ANY:
            raise HeadraceError(
                "avro.no_schema",
                "a value without a schema cannot be written as Avro",
                "Remove the transform that drops the schema, or use json.",
            )
        members: list[tuple[str, str]]
        symbols = symbols_of(schema, self.options)
        if symbols is not None:
            return self.enum(schema, symbols, space)
        if schema.type is Type.ARRAY:
            assert schema.values is not None
            members = [("type", '"array"'), ("items", self.schema(schema.values, space))]
        elif schema.type is Type.MAP:
            assert schema.values is not None
            if is_pairs(schema):
                members = [("type", '"array"'), ("items", self.entry(schema, space))]
            else:
                members = [("type", '"map"'), ("values", self.schema(schema.values, space))]
        else:
            members = [("type", f'"{_PRIMITIVES[schema.type]}"')]
        properties = self.properties(schema)
        if len(members) == 1 and not properties:
            return members[0][1]
        return _object(members + properties)

    def named(
        self, name: str | None, schema: Schema, space: str | None
    ) -> tuple[str | None, list[tuple[str, str]] | str]:
        """The namespace, and name and namespace as members; a str instead of members is the
        reference to a name that is already defined."""
        namespace, last = _split(name)
        # Java checks only the last part.
        if not _is_name(last):
            raise HeadraceError(
                "avro.name",
                f"the schema name {name} ends in {last!r}, which is not a valid name in Avro",
                "Set schema.name.adjustment.mode=avro, and field.name.adjustment.mode=avro for "
                "names of fields.",
            )
        full = f"{namespace}.{last}" if namespace else last
        if full in self.defined:
            if self.defined[full] != schema:
                raise HeadraceError(
                    "avro.redefined",
                    f"two different structs of one record have the name {full}, and Avro allows "
                    "one",
                    "Give one of them another name (SetSchemaMetadata), or leave it out.",
                )
            return namespace, f'"{last if namespace == space else full}"'
        self.defined[full] = schema
        members = [("name", f'"{last}"')]
        if namespace != space:
            members.append(("namespace", f'"{namespace or ""}"'))
        return namespace, members

    def record(self, schema: Schema, space: str | None) -> str:
        namespace, named = self.named(schema.name, schema, space)
        if isinstance(named, str):
            return named
        parameters = dict(schema.parameters)
        members = [("type", '"record"'), *named]
        if _RECORD_DOC in parameters:
            members.append(("doc", quote(parameters[_RECORD_DOC])))
        fields = [
            self.field(f.name, f.schema, parameters.get(_FIELD_DOC + f.name), namespace)
            for f in schema.fields
        ]
        members.append(("fields", "[" + ",".join(fields) + "]"))
        return _object(members + self.properties(schema))

    def field(self, name: str, schema: Schema, doc: str | None, space: str | None) -> str:
        if not _is_name(name):
            raise HeadraceError(
                "avro.name",
                f"the field name {name!r} is not a valid name in Avro",
                "Set field.name.adjustment.mode=avro.",
            )
        members = [("name", f'"{name}"'), ("type", self.schema(schema, space))]
        if doc is not None:
            members.append(("doc", quote(doc)))
        if schema.default is not None:
            # Java prints a float as the double that it is equal to.
            wide = schema.default
            if schema.type is Type.FLOAT32:
                wide, schema = float(np.float32(wide)), Schema(Type.FLOAT64)  # type: ignore[arg-type]
            members.append(("default", _default(schema, wide)))
        elif schema.optional:
            members.append(("default", "null"))
        return _object(members)

    def entry(self, schema: Schema, space: str | None) -> str:
        assert schema.keys is not None
        assert schema.values is not None
        name = f"{_NAMESPACE}.{_MAP_ENTRY}" if schema.name is None else schema.name
        namespace, named = self.named(name, schema, space)
        if isinstance(named, str):
            return named
        fields = [
            self.field(name, member, None, namespace)
            for name, member in (("key", schema.keys), ("value", schema.values))
        ]
        members = [("type", '"record"'), *named, ("fields", "[" + ",".join(fields) + "]")]
        if schema.name is not None:
            members.append((_INTERNAL_TYPE, f'"{_MAP_ENTRY}"'))
        return _object(members)

    def enum(self, schema: Schema, symbols: tuple[str, ...], space: str | None) -> str:
        parameters = dict(schema.parameters)
        _, named = self.named(parameters[ENUM], schema, space)
        if isinstance(named, str):
            return named
        listed = "[" + ",".join(map(quote, symbols)) + "]"
        members = [("type", '"enum"'), *named, ("symbols", listed)]
        return _object(members + self.properties(schema))

    def properties(self, schema: Schema) -> list[tuple[str, str]]:
        """The attributes of a schema besides its type, in Java's order."""
        parameters = dict(schema.parameters)
        is_decimal = (schema.name or "").lower() == DECIMAL.lower()
        members: list[tuple[str, str]] = []
        if is_decimal:
            scale = decimal_scale(schema)
            precision = int(parameters.get(_PRECISION, _DEFAULT_PRECISION))
            members += [("scale", str(scale)), ("precision", str(precision))]
        if self.options.connect_metadata:
            members += self.metadata(schema)
        if is_decimal:
            if 0 <= scale <= precision or _PRECISION in parameters:
                members.append(("logicalType", '"decimal"'))
        elif schema.name in _LOGICAL:
            members.append(("logicalType", f'"{_LOGICAL[schema.name]}"'))
        members += [(n, quote(text)) for n, text in schema.parameters if n.startswith("avro")]
        return members

    def metadata(self, schema: Schema) -> list[tuple[str, str]]:
        members: list[tuple[str, str]] = []
        if schema.doc is not None:
            members.append(("connect.doc", quote(schema.doc)))
        if schema.version is not None:
            members.append(("connect.version", str(schema.version)))
        parameters = [(n, quote(text)) for n, text in schema.parameters if n != _FIELD_DEFAULT]
        if parameters:
            members.append(("connect.parameters", _object(parameters)))
        if schema.default is not None and _FIELD_DEFAULT not in dict(schema.parameters):
            members.append(("connect.default", _default(schema, schema.default)))
        if schema.name is not None:
            members.append(("connect.name", quote(schema.name)))
        if schema.type in (Type.INT8, Type.INT16):
            members.append(("connect.type", f'"{schema.type.value}"'))
        return members


def _is_name(text: str) -> bool:
    """Whether a text is a name in Avro: letters, digits and _, as defined by Java's
    Character.isLetter."""
    return bool(text) and (text[0].isalpha() or text[0] == "_") and all(
        c.isalnum() or c == "_" for c in text
    )  # fmt: skip


def _object(members: list[tuple[str, str]]) -> str:
    return "{" + ",".join(f"{quote(name)}:{text}" for name, text in members) + "}"


def _default(schema: Schema, value: object) -> str:
    """A default value in the JSON of Avro's schemas."""
    if value is None:
        return "null"
    match schema.type:
        case Type.INT8 | Type.INT16 | Type.INT32 | Type.INT64:
            return str(int(value))  # type: ignore[call-overload]
        case Type.FLOAT32:
            return java_float(float(value))  # type: ignore[arg-type]
        case Type.FLOAT64:
            return java_double(float(value))  # type: ignore[arg-type]
        case Type.BOOLEAN:
            return "true" if value else "false"
        case Type.STRING:
            return quote(str(value))
        case Type.BYTES:
            if isinstance(value, Decimal):
                scaled = at_scale(value, decimal_scale(schema))
                value = unscaled_bytes(value if scaled is None else scaled)
            assert isinstance(value, (bytes, bytearray))
            return quote(value.decode("latin-1"))
        case Type.ARRAY:
            assert isinstance(value, (list, tuple))
            assert schema.values is not None
            return "[" + ",".join([_default(schema.values, item) for item in value]) + "]"
        case Type.MAP:
            assert isinstance(value, Mapping)
            assert schema.values is not None
            assert schema.keys is not None
            keys, values = schema.keys, schema.values
            if is_pairs(schema):
                pairs = (f"[{_default(keys, k)},{_default(values, v)}]" for k, v in value.items())
                return "[" + ",".join(pairs) + "]"
            return _object([(str(k), _default(values, v)) for k, v in value.items()])
        case Type.STRUCT:
            assert isinstance(value, Mapping)
            return _object([(f.name, _default(f.schema, value.get(f.name)))
                            for f in schema.fields])  # fmt: skip
    raise AssertionError(schema.type)
