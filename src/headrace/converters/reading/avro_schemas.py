"""Avro schemas as Connect schemas, as Confluent's AvroData makes them, and decoding of their values
in plain Python, which is exact for all of them, but slow."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from struct import error as StructError
from struct import unpack_from

from headrace.connect.java_numbers import decimal_of
from headrace.connect.json_values import BITS, MAX_BYTES, MAX_CELLS, Allowance, check_decimal
from headrace.connect.schema import DECIMAL, Field, Schema, Type, decimal_scale
from headrace.converters.avro.schemas import ENUM
from headrace.converters.reading.fields import NO_UNION, UnionShape
from headrace.errors import HeadraceError

_NAMESPACE = "io.confluent.connect.avro"
_DEFAULT_NAME, _MAP_ENTRY = f"{_NAMESPACE}.ConnectDefault", f"{_NAMESPACE}.MapEntry"
_PRECISION, _DEFAULT_PRECISION = "connect.decimal.precision", 64
_PRIMITIVES = {
    "int": Type.INT32, "long": Type.INT64, "float": Type.FLOAT32, "double": Type.FLOAT64,
    "boolean": Type.BOOLEAN, "string": Type.STRING, "bytes": Type.BYTES,
}  # fmt: skip
_SMALL = {"int8": Type.INT8, "int16": Type.INT16}
_LOGICAL = {
    ("int", "date"): "org.apache.kafka.connect.data.Date",
    ("int", "time-millis"): "org.apache.kafka.connect.data.Time",
    ("long", "timestamp-millis"): "org.apache.kafka.connect.data.Timestamp",
}
Read = Callable[[bytes, int, "_ValueReading"], tuple[object, int]]


@dataclass(frozen=True, eq=False)
class AvroType:
    """A type of an Avro schema, and the Connect schema of its values.

    `kind` is Avro's name of the type, `pairs` for an array that holds a map. `null` is the branch
    of null in the union around the type, or NO_UNION. `inner` are the types of a record's fields,
    or of items, or of keys and values.
    """

    kind: str
    schema: Schema
    null: int = NO_UNION
    inner: tuple[AvroType, ...] = ()
    symbols: tuple[str, ...] = ()
    size: int = 0

    @property
    def unions(self) -> UnionShape:
        """The schema's unions, and those of a record's fields."""
        members = tuple(member.unions for member in self.inner) if self.kind == "record" else ()
        return UnionShape(self.null, members)

    @cached_property
    def read(self) -> Read:
        """Reads a value of the type at an index of bytes; returns it, and the index after it."""
        return _reader(self)


def load_avro(text: str) -> AvroType:
    """Return the type of an Avro schema.

    Raises HeadraceError("reading.avro_schema") for unions of several types, types that contain
    themselves, and texts that are not a schema.
    """
    try:
        described = json.loads(text)
        text.encode()
        json.dumps(described, ensure_ascii=False).encode()
        return _Loader().type(described, "")
    except (
        KeyError, TypeError, ValueError, RecursionError, AttributeError, AssertionError,
        OverflowError,
    ):  # fmt: skip
        raise _refused("a schema that is not a valid Avro schema") from None


def _refused(problem: str) -> HeadraceError:
    return HeadraceError(
        "reading.avro_schema",
        f"the records have {problem}",
        "Leave these topics out, or read them with another tool.",
    )


@dataclass
class _Loader:
    named: dict[str, AvroType | None] = field(default_factory=dict)

    def type(self, described: object, space: str, default: object = None) -> AvroType:
        """The type that JSON describes in the namespace `space`; `default` is a field's."""
        if isinstance(described, list):
            return self.union(described, space, default)
        if isinstance(described, str):
            if described in _PRIMITIVES:
                return self.type({"type": described}, space, default)
            return self.reference(described, space)
        if not isinstance(described, Mapping):
            raise TypeError
        kind = described["type"]
        if not isinstance(kind, str) or (kind not in _PRIMITIVES and kind not in _MADE_OF_PARTS):
            return self.type(kind, space, default)
        if kind in ("record", "enum", "fixed"):
            return self.of_name(kind, described, space, default)
        avro_type = self.unnamed(kind, described, space)
        return replace(avro_type, schema=_with_metadata(avro_type.schema, described, None, default))

    def union(self, branches: list[object], space: str, default: object) -> AvroType:
        if len(branches) != 2 or "null" not in branches:
            raise _refused("a schema with a union of several types")
        null = branches.index("null")
        inner = self.type(branches[1 - null], space, default)
        return replace(inner, schema=inner.schema.as_optional(), null=null)

    def reference(self, name: str, space: str) -> AvroType:
        full = name if "." in name or not space else f"{space}.{name}"
        known = self.named.get(full, self.named.get(name))
        if known is None:
            raise _refused(f"a schema in which {name} is not known, or contains itself")
        return known

    def of_name(
        self, kind: str, described: Mapping[str, object], space: str, default: object
    ) -> AvroType:
        name = _text_of(described["name"])
        if "." not in name:
            space = str(described.get("namespace", space))
            name = f"{space}.{name}" if space else name
        else:
            space = name.rpartition(".")[0]
        self.named[name] = None
        schema_name = None if name == _DEFAULT_NAME else name
        if kind == "record":
            entries = described["fields"]
            assert isinstance(entries, list)
            inner = tuple(self.type(e["type"], space, e.get("default")) for e in entries)
            members = tuple(
                Field(_text_of(entry["name"]), member_type.schema)
                for entry, member_type in zip(entries, inner, strict=True)
            )
            if len({member.name for member in members}) < len(members):
                raise ValueError
            avro_type = AvroType(kind, Schema(Type.STRUCT, fields=members), inner=inner)
        elif kind == "enum":
            symbols = _symbols(described["symbols"])
            parameters = ((ENUM, name), *((f"{ENUM}.{symbol}", symbol) for symbol in symbols))
            avro_type = AvroType(kind, Schema(Type.STRING, parameters=parameters), symbols=symbols)
        else:
            size = described["size"]
            if type(size) is not int or not 0 <= size < 1 << 31:
                raise ValueError
            avro_type = AvroType(kind, _bytes_schema(described), size=size)
        avro_type = replace(
            avro_type, schema=_with_metadata(avro_type.schema, described, schema_name, default)
        )
        self.named[name] = avro_type
        return avro_type

    def unnamed(self, kind: str, described: Mapping[str, object], space: str) -> AvroType:
        if kind == "array":
            items = self.type(described["items"], space)
            if items.kind == "record" and _is_map_entry(items, described["items"]):
                key, value = items.inner
                schema = Schema(Type.MAP, keys=key.schema, values=value.schema)
                return AvroType("pairs", schema, inner=(key, value))
            return AvroType(kind, Schema(Type.ARRAY, values=items.schema), inner=(items,))
        if kind == "map":
            values = self.type(described["values"], space)
            schema = Schema(Type.MAP, keys=Schema(Type.STRING), values=values.schema)
            return AvroType(kind, schema, inner=(values,))
        if kind == "bytes":
            return AvroType(kind, _bytes_schema(described))
        small = _SMALL.get(str(described.get("connect.type")))
        name = _LOGICAL.get((kind, str(described.get("logicalType"))))
        version = 1 if name else None
        return AvroType(kind, Schema(small or _PRIMITIVES[kind], name=name, version=version))


def _text_of(value: object) -> str:
    """Return `value` if it is a str. Raises TypeError for other values."""
    if not isinstance(value, str):
        raise TypeError
    return value


def _symbols(described: object) -> tuple[str, ...]:
    """The symbols of an enum. Raises TypeError if it is not a list of texts."""
    if not isinstance(described, list):
        raise TypeError
    return tuple(map(_text_of, described))


_MADE_OF_PARTS = ("record", "enum", "fixed", "array", "map")


def _is_map_entry(items: AvroType, described: object) -> bool:
    is_marked = isinstance(described, Mapping) and described.get("connect.internal.type")
    names = [entry_field.name for entry_field in items.schema.fields]
    return names == ["key", "value"] and (
        is_marked == "MapEntry" or items.schema.name == _MAP_ENTRY
    )


def _bytes_schema(described: Mapping[str, object]) -> Schema:
    if str(described.get("logicalType", "")).lower() != "decimal":
        return Schema(Type.BYTES)
    parameters = [("scale", str(described.get("scale", 0)))]
    precision = described.get("precision", _DEFAULT_PRECISION)
    if precision != _DEFAULT_PRECISION:
        parameters.append((_PRECISION, str(precision)))
    return Schema(Type.BYTES, name=DECIMAL, version=1, parameters=tuple(parameters))


def _with_metadata(
    schema: Schema, described: Mapping[str, object], name: str | None, default: object
) -> Schema:
    """The schema with the Connect metadata of its `connect.*` properties."""
    parameters = dict(schema.parameters)
    stored_parameters = described.get("connect.parameters", {})
    if isinstance(stored_parameters, Mapping):
        parameters |= {str(key): str(text) for key, text in stored_parameters.items()}
    version = described.get("connect.version", schema.version)
    doc = described.get("connect.doc", schema.doc)
    schema_name = described.get("connect.name", name or schema.name)
    with_metadata = replace(
        schema,
        name=None if schema_name is None else str(schema_name),
        version=version if isinstance(version, int) else None,
        doc=None if doc is None else str(doc),
        parameters=tuple(parameters.items()),
    )
    value = described.get("connect.default", default)
    check_decimal(with_metadata)
    return (
        with_metadata
        if value is None
        else with_metadata.with_default(_default(with_metadata, value))
    )


def _default(schema: Schema, value: object) -> object:
    """A default of Avro's JSON as a Connect value. Raises ValueError for one of another type."""
    if value is None:
        return None
    match schema.type:
        case Type.BYTES if isinstance(value, str):
            raw = value.encode("latin-1")
            if schema.name != DECIMAL:
                return raw
            return decimal_of(int.from_bytes(raw, "big", signed=True), decimal_scale(schema))
        case Type.FLOAT32 | Type.FLOAT64 if isinstance(value, int | float | str):
            return float(value)
        case Type.ARRAY if isinstance(value, list) and schema.values is not None:
            return [_default(schema.values, element) for element in value]
        case Type.MAP if schema.keys is not None and schema.values is not None:
            pairs = value.items() if isinstance(value, Mapping) else value
            return {
                _default(schema.keys, key): _default(schema.values, item)
                for key, item in pairs  # type: ignore[attr-defined]
            }
        case Type.STRUCT if isinstance(value, Mapping):
            return {f.name: _default(f.schema, value.get(f.name)) for f in schema.fields}
        case Type.STRING if isinstance(value, str):
            return value
        case Type.BOOLEAN if isinstance(value, bool):
            return value
        case Type.INT8 | Type.INT16 | Type.INT32 | Type.INT64 if type(value) is int:
            if -(1 << BITS[schema.type] - 1) <= value < 1 << BITS[schema.type] - 1:
                return value
    raise ValueError


def read_value(kind: AvroType, raw: bytes, most_cells: int = MAX_CELLS) -> object:
    """Return the Connect value that all of `raw` encodes.

    Raises HeadraceError("reading.not_understood") and ("connect.too_many_cells").
    """
    try:
        value, end = kind.read(raw, 0, _ValueReading(most_cells, len(raw)))
    except (IndexError, ValueError, TypeError, StructError, RecursionError):
        end, value = -1, None
    if end != len(raw):
        raise HeadraceError(
            "reading.not_understood",
            "is not valid by the Avro schema that it names",
            "Write values as Confluent's AvroConverter does.",
        )
    return value


def read_long(raw: bytes, place: int) -> tuple[int, int]:
    """Return an int or long at an index, and the index after it. Raises IndexError, ValueError."""
    value = raw[place]
    if value < 0x80:
        return (value >> 1) ^ -(value & 1), place + 1
    value = shift = 0
    while True:
        byte = raw[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), place
        if shift > 63:
            raise ValueError


def _block(raw: bytes, place: int) -> tuple[bytes, int]:
    length, place = read_long(raw, place)
    if not 0 <= length <= len(raw) - place:
        raise ValueError
    return raw[place : place + length], place + length


class _ValueReading(Allowance):
    """State while one value is read. `decimals` are the decimals of the value, by scale and bytes:
    equal ones are one object, so that later steps convert it only once."""

    def __init__(self, cells: int, size: int) -> None:
        super().__init__(cells, size)
        self.decimals: dict[tuple[int, bytes], Decimal] = {}


def _reader(kind: AvroType) -> Read:
    """Return the reader of values of a type; the type is inspected once, not for each value."""
    read = _READERS[kind.kind](kind)
    if kind.null == NO_UNION:
        return read
    null, other = bytes([2 * kind.null]), bytes([2 - 2 * kind.null])

    def union(raw: bytes, place: int, reading: _ValueReading) -> tuple[object, int]:
        branch = raw[place : place + 1]
        if branch == null:
            return None, place + 1
        if branch == other:
            return read(raw, place + 1, reading)
        number, place = read_long(raw, place)
        if number not in (0, 1):
            raise ValueError
        return (None, place) if number == kind.null else read(raw, place, reading)

    return union


def _text(raw: bytes, place: int, _reading: _ValueReading) -> tuple[object, int]:
    text, place = _block(raw, place)
    return text.decode(), place


def _enum_reader(kind: AvroType) -> Read:
    def symbol(raw: bytes, place: int, _reading: _ValueReading) -> tuple[object, int]:
        index, place = read_long(raw, place)
        if index < 0:
            raise ValueError
        return kind.symbols[index], place

    return symbol


def _bytes_reader(kind: AvroType) -> Read:
    is_block, size = kind.kind == "bytes", kind.size

    def read_bytes(raw: bytes, place: int, _reading: _ValueReading) -> tuple[bytes, int]:
        if is_block:
            return _block(raw, place)
        return raw[place : place + size], place + size

    if kind.schema.name != DECIMAL:
        return read_bytes
    scale = decimal_scale(kind.schema)

    def decimal(raw: bytes, place: int, reading: _ValueReading) -> tuple[object, int]:
        value, place = read_bytes(raw, place, reading)
        number = reading.decimals.get((scale, value))
        if number is None:
            if len(value) > MAX_BYTES:
                raise ValueError
            number = decimal_of(int.from_bytes(value, "big", signed=True), scale)
            reading.decimals[scale, value] = number
        return number, place

    return decimal


def _record_reader(kind: AvroType) -> Read:
    count = len(kind.inner)
    members = [(n, inner.read) for n, inner in zip(kind.schema.places, kind.inner, strict=True)]

    def record(raw: bytes, place: int, reading: _ValueReading) -> tuple[object, int]:
        members_read: dict[str, object] = {}
        reading.take(count)
        for name, read in members:
            members_read[name], place = read(raw, place, reading)
        return members_read, place

    return record


def _items_reader(kind: AvroType) -> Read:
    """The reader of an array, a map, or a map as an array of pairs."""
    is_array = kind.kind == "array"
    of_key = _text if kind.kind == "map" else kind.inner[0].read
    of_value = kind.inner[-1].read

    def items(raw: bytes, place: int, reading: _ValueReading) -> tuple[object, int]:
        elements: list[object] = []
        pairs: dict[object, object] = {}
        while True:
            count, place = read_long(raw, place)
            if count == 0:
                return (elements if is_array else pairs), place
            if count < 0:
                count = -count
                _, place = read_long(raw, place)
            if count > len(raw):
                raise ValueError
            reading.take(count)
            if is_array:
                for _ in range(count):
                    item, place = of_value(raw, place, reading)
                    elements.append(item)
            else:
                for _ in range(count):
                    key, place = of_key(raw, place, reading)
                    pairs[key], place = of_value(raw, place, reading)

    return items


_READERS: Mapping[str, Callable[[AvroType], Read]] = {
    **dict.fromkeys(
        ("int", "long"), lambda _kind: lambda raw, place, _reading: read_long(raw, place)
    ),
    "float": lambda _kind: lambda raw, place, _: (unpack_from("<f", raw, place)[0], place + 4),
    "double": lambda _kind: lambda raw, place, _: (unpack_from("<d", raw, place)[0], place + 8),
    "boolean": lambda _kind: lambda raw, place, _reading: (bool(raw[place]), place + 1),
    "string": lambda _kind: _text,
    "enum": _enum_reader,
    **dict.fromkeys(("bytes", "fixed"), _bytes_reader),
    "record": _record_reader,
    **dict.fromkeys(("array", "map", "pairs"), _items_reader),
}
"""Factories of the reader of a type, by Avro's name of the type."""
