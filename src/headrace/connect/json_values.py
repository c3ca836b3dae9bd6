"""Connect's schemas and values in the JSON of Kafka Connect's JsonConverter, read and written as
objects of Python's `json`.

Values follow the converter with the decimal format BASE64: bytes and decimals are base64, maps are
objects if their keys are texts that are never null, and lists of pairs otherwise.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from binascii import b2a_base64
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial

import numpy as np

from headrace.connect.java_numbers import (
    at_scale,
    decimal_of,
    java_double,
    java_float,
    parse_double,
    unscaled_bytes,
)
from headrace.connect.schema import DECIMAL, SCHEMALESS, Field, Schema, Type, decimal_scale
from headrace.connect.values.float_texts import java_texts
from headrace.connect.values.many_values import ManyValues
from headrace.errors import HeadraceError

BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}


MAX_CELLS = 1_000_000
"""The most values of a record, unless `headrace.record.max.cells` is set."""
_MAX_DIGITS, MAX_BYTES = 150_000, 62_500
"""The most digits and bytes of a decimal; those of databases have at most 147,455 digits."""
_MAX_ADDED = 1_000
"""The most digits that a decimal gets from an exponent or its schema's scale, beyond its text."""
_DIGITS_PER_BYTE = 10


class Allowance:
    """The limit for the values of one part of a record: `cells` of them, and as many digits as its
    `size` in bytes allows."""

    def __init__(self, cells: int, size: int) -> None:
        self.most_cells = self._cells = cells
        self._digits = _MAX_ADDED + _DIGITS_PER_BYTE * size

    def take(self, cells: int) -> None:
        """Count values. Raises HeadraceError("connect.too_many_cells")."""
        self._cells -= cells
        if self._cells < 0:
            raise too_many_cells(self.most_cells)

    def take_value(self, schema: Schema, value: object) -> None:
        """Count the values in a value of a schema; a struct counts all its fields, also missing
        ones. Raises HeadraceError as `take`."""
        if isinstance(value, Mapping) and schema.type is Type.STRUCT:
            self.take(len(schema.fields))
            parts = {n: part for n, part in value.items() if isinstance(part, list | Mapping)}
            if parts:
                for member in schema.fields:
                    self.take_value(member.schema, parts.get(member.name))
        elif isinstance(value, list) and schema.values is not None:
            self.take(len(value))
            for element in value:
                self.take_value(schema.values, element)

    def add_digits(self, count: int, times: int = 1) -> None:
        """Count digits that the text does not have, for each of `times` numbers. Raises
        ValueError."""
        self._digits -= count * times
        if count > _MAX_ADDED or self._digits < 0:
            raise ValueError


def too_many_cells(most: int) -> HeadraceError:
    """Return the error of a record that is small, but has too many values once it is parsed."""
    return HeadraceError(
        "connect.too_many_cells",
        f"a record has more than {most:,} values",
        "Leave the large array or document out, or set headrace.record.max.cells.",
    )


_DEEPEST_SCHEMA = 100
"""The deepest nesting of schemas; recursive functions walk them."""


def load_schema(described: object, depth: int = 0) -> Schema:
    """Read a schema from its JSON object, inside of `depth` others; null is SCHEMALESS.

    Raises HeadraceError("connect.schema_not_understood").
    """
    if described is None:
        return SCHEMALESS
    if depth > _DEEPEST_SCHEMA:
        raise _not_a_schema(f"schemas nested too deep: more than {_DEEPEST_SCHEMA}")
    if not isinstance(described, Mapping):
        raise _not_a_schema(f"a {type(described).__name__} instead of an object")
    try:
        kind = Type(described["type"])
    except (KeyError, ValueError):
        raise _not_a_schema("a type that is not one of Connect's") from None
    fields: tuple[Field, ...] = ()
    keys = values = None
    if kind is Type.STRUCT:
        fields = _fields(described.get("fields"), depth + 1)
    elif kind is Type.ARRAY:
        values = load_schema(described.get("items"), depth + 1)
    elif kind is Type.MAP:
        keys, values = (load_schema(described.get(name), depth + 1) for name in ("keys", "values"))
    schema = Schema(
        kind,
        optional=described.get("optional") is True,
        name=_text(described, "name"),
        version=_version(described),
        doc=_text(described, "doc"),
        parameters=_parameters(described.get("parameters")),
        fields=fields,
        keys=keys,
        values=values,
    )
    check_decimal(schema)
    default = described.get("default")
    if default is None:
        return schema
    value = load_value(schema, default)
    if _holds_half_character(default):
        raise _not_a_schema("an unpaired surrogate")
    return schema.with_default(value)


def check_decimal(schema: Schema) -> None:
    """Check a schema. Raises HeadraceError("connect.schema_not_understood") for a Decimal whose
    scale or precision is not a whole number within the limits."""
    if (schema.name or "").lower() != DECIMAL.lower():
        return
    precision = dict(schema.parameters).get("connect.decimal.precision", "0")
    try:
        decimal_scale(schema)
        if not re.fullmatch("[0-9]{1,9}", precision):
            raise ValueError(f"the precision {precision[:40]!r}")
    except ValueError as error:
        raise _not_a_schema(f"{error} of a decimal") from None


def _fields(entries: object, depth: int) -> tuple[Field, ...]:
    if not isinstance(entries, list):
        raise _not_a_schema("a struct without fields")
    fields = tuple(Field(_name_of(entry), load_schema(entry, depth)) for entry in entries)
    if len({field.name for field in fields}) < len(fields):
        raise _not_a_schema("two fields of one name")
    return fields


def _name_of(entry: object) -> str:
    name = _text(entry, "field") if isinstance(entry, Mapping) else None
    if name is None:
        raise _not_a_schema("a field without a name")
    return name


def _text(described: Mapping[str, object], member: str) -> str | None:
    text = described.get(member)
    if text is None:
        return None
    if not isinstance(text, str):
        raise _not_a_schema(f"a {type(text).__name__} instead of a text as its {member}")
    return _whole_text(text)


def _whole_text(text: str) -> str:
    if _holds_half_character(text):
        raise _not_a_schema("an unpaired surrogate")
    return text


HALF_CHARACTER = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair. JSON can contain it as an escape; UTF-8 cannot."""


def _holds_half_character(value: object) -> bool:
    """Return whether a text in a value of JSON contains half of a surrogate pair."""
    if isinstance(value, str):
        return not value.isascii() and HALF_CHARACTER.search(value) is not None
    if isinstance(value, Mapping):
        return any(map(_holds_half_character, (*value, *value.values())))
    return isinstance(value, list) and any(map(_holds_half_character, value))


def _version(described: Mapping[str, object]) -> int | None:
    version = described.get("version")
    if version is not None and (type(version) is not int or not -(1 << 31) <= version < 1 << 31):
        raise _not_a_schema("a version that is not a whole number of 32 bits")
    return version


def _parameters(described: object) -> tuple[tuple[str, str], ...]:
    if described is None:
        return ()
    if not isinstance(described, Mapping):
        raise _not_a_schema(f"a {type(described).__name__} instead of an object as its parameters")
    if not all(isinstance(text, str) for text in described.values()):
        raise _not_a_schema("parameters that are not texts")
    return tuple((_whole_text(name), _whole_text(text)) for name, text in described.items())


def _not_a_schema(problem: str) -> HeadraceError:
    return HeadraceError(
        "connect.schema_not_understood",
        f"a schema has {problem}",
        "Write schemas as Kafka Connect's JsonConverter does.",
    )


def load_value(schema: Schema, payload: object, allowance: Allowance | None = None) -> object:
    """Return the Connect value of a payload; null stays null, whatever the schema's default. A
    decimal has the scale of its schema.

    Raises HeadraceError("connect.value_not_understood") if it is not of the schema's type, and
    ("connect.too_many_cells") if it exceeds the `allowance`; None: MAX_CELLS.
    """
    if payload is None:
        return None
    try:
        return _loaded(schema, payload, allowance or Allowance(MAX_CELLS, MAX_CELLS))
    except (TypeError, ValueError, ArithmeticError, binascii.Error):
        raise HeadraceError(
            "connect.value_not_understood",
            f"a payload is not a valid {schema.type.value}"
            + (f" ({schema.name})" if schema.name else ""),
            "Write values as Kafka Connect's JsonConverter does.",
        ) from None


def _loaded(schema: Schema, payload: object, allowance: Allowance) -> object:
    match schema.type:
        case Type.ANY:
            return payload
        case Type.STRING if isinstance(payload, str):
            return payload
        case Type.BOOLEAN if isinstance(payload, bool):
            return payload
        case Type.INT8 | Type.INT16 | Type.INT32 | Type.INT64 if type(payload) is int:
            bits = BITS[schema.type]
            if -(1 << bits - 1) <= payload < 1 << bits - 1:
                return payload
        case Type.FLOAT32 | Type.FLOAT64 if isinstance(payload, str):
            return parse_double(payload)
        case Type.FLOAT32 | Type.FLOAT64 if isinstance(payload, int | float | Decimal):
            return float(payload)
        case Type.BYTES if schema.name == DECIMAL:
            if isinstance(payload, int | float | Decimal) and not isinstance(payload, bool):
                return _scaled(payload, decimal_scale(schema), allowance)
            raw = base64.b64decode(str(payload), validate=True)
            if len(raw) > MAX_BYTES:
                raise ValueError
            return decimal_of(int.from_bytes(raw, "big", signed=True), decimal_scale(schema))
        case Type.BYTES if isinstance(payload, str):
            return base64.b64decode(payload, validate=True)
        case Type.ARRAY if isinstance(payload, list) and schema.values is not None:
            allowance.take(len(payload))
            return _loading(allowance).of(schema.values, payload)
        case Type.MAP if schema.keys is not None and schema.values is not None:
            pairs = list(payload.items()) if isinstance(payload, Mapping) else payload
            if not isinstance(pairs, list):
                raise TypeError
            allowance.take(2 * len(pairs))
            return {
                load_value(schema.keys, key, allowance): load_value(schema.values, item, allowance)
                for key, item in pairs
            }
        case Type.STRUCT if isinstance(payload, Mapping):
            allowance.take(len(schema.fields))
            loaded: dict[str, object] = dict.fromkeys(schema.places)
            for name in payload.keys() & loaded.keys():
                field = schema.fields[schema.places[name]]
                loaded[name] = load_value(field.schema, payload[name], allowance)
            return loaded
    raise TypeError


def _struct_of(schema: Schema) -> Callable[[Sequence[object]], object]:
    names = tuple(schema.places)
    return lambda row: dict(zip(names, row, strict=True))


def _loading(allowance: Allowance) -> ManyValues[object]:
    """Return the `load_value` of many payloads."""
    return ManyValues(
        one=lambda schema, payload: load_value(schema, payload, allowance),
        array=lambda _schema, items: items,
        struct=_struct_of,
        map=lambda _schema, pairs: dict(pairs),
        several=partial(_loaded_leaves, allowance),
        count=allowance.take,
    )


def _loaded_leaves(
    allowance: Allowance, schema: Schema, kind: type, payloads: Sequence[object]
) -> list[object] | None:
    """Return the values of payloads of one type that match their schema; None: to be read one by
    one."""
    match schema.type:
        case Type.INT8 | Type.INT16 | Type.INT32 | Type.INT64 if kind is int:
            least, most = -(1 << BITS[schema.type] - 1), (1 << BITS[schema.type] - 1) - 1
            if least <= min(payloads) and max(payloads) <= most:  # type: ignore[type-var,operator]
                return list(payloads)
        case Type.STRING if kind is str:
            return list(payloads)
        case Type.BOOLEAN if kind is bool:
            return list(payloads)
        case Type.FLOAT32 | Type.FLOAT64 if kind is float or kind is Decimal:
            return [float(payload) for payload in payloads]  # type: ignore[arg-type]
        case Type.BYTES if schema.name == DECIMAL and kind is str:
            return _decimals(decimal_scale(schema), payloads)  # type: ignore[arg-type]
        case Type.BYTES if schema.name == DECIMAL and kind is int:
            scale = decimal_scale(schema)
            decimals = {
                number: _scaled(number, scale, allowance, times)  # type: ignore[arg-type]
                for number, times in Counter(payloads).items()
            }
            return [decimals[number] for number in payloads]
    return None


def _decimals(scale: int, texts: Sequence[str]) -> list[object] | None:
    """Return decimals of base64 texts; None if a text is not base64."""
    try:
        raw = {text: base64.b64decode(text, validate=True) for text in set(texts)}
    except ValueError:
        return None
    if max(map(len, raw.values())) > MAX_BYTES:
        return None
    decimals = {
        text: decimal_of(int.from_bytes(unscaled_bytes_of, "big", signed=True), scale)
        for text, unscaled_bytes_of in raw.items()
    }
    return [decimals[text] for text in texts]


def _scaled(number: float | Decimal, scale: int, allowance: Allowance, times: int = 1) -> Decimal:
    """Return a number, which occurs `times` in the record, with `scale` digits after its point.
    Raises ValueError if that would drop digits, or if too many digits are added."""
    exact = number if isinstance(number, Decimal) else Decimal(str(number))
    _, digits, exponent = exact.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError
    if not exact:
        return decimal_of(0, scale)
    allowance.add_digits(max(0, exponent + scale), times)
    scaled = at_scale(exact, scale) if len(digits) <= _MAX_DIGITS else None
    if scaled is None:
        raise ValueError
    return scaled


def dump_value(schema: Schema, value: object) -> object:
    """Return the payload of a Connect value, which `load_value` reads back."""
    if value is None:
        return None
    match schema.type:
        case Type.FLOAT32 | Type.FLOAT64:
            number = float(value)  # type: ignore[arg-type]
            if not math.isfinite(number):
                return java_double(number)
            # The fewest digits that identify the number.
            return float(java_float(number)) if schema.type is Type.FLOAT32 else number
        case Type.BYTES if schema.name == DECIMAL:
            assert isinstance(value, Decimal)
            return base64.b64encode(unscaled_bytes(value)).decode()
        case Type.BYTES:
            return base64.b64encode(bytes(value)).decode()  # type: ignore[call-overload]
        case Type.ARRAY if schema.values is not None:
            return _DUMPING.of(schema.values, list(value))  # type: ignore[call-overload]
        case Type.MAP if schema.keys is not None and schema.values is not None:
            return _DUMPING.of(schema, [dict(value)])[0]  # type: ignore[call-overload]
        case Type.STRUCT:
            assert isinstance(value, Mapping)
            return {f.name: dump_value(f.schema, value.get(f.name)) for f in schema.fields}
    return value


def _dumped_leaves(schema: Schema, kind: type, values: Sequence[object]) -> list[object] | None:
    """Return the payloads of values of one type; None: to be made one by one."""
    match schema.type:
        case Type.FLOAT64 if kind is float and all(map(math.isfinite, values)):  # type: ignore[arg-type]
            return list(values)
        case Type.FLOAT32 if kind is float:
            with np.errstate(over="ignore"):
                texts = java_texts(np.array(values, np.float32))
            return [text if text[-1] in "Ny" else float(text) for text in texts]
        case Type.BYTES if schema.name == DECIMAL and kind is Decimal:
            distinct = {id(value): value for value in values}
            texts_by_id = {
                at: b2a_base64(unscaled_bytes(value), newline=False).decode()  # type: ignore[arg-type]
                for at, value in distinct.items()
            }
            return [texts_by_id[id(value)] for value in values]
        case Type.FLOAT32 | Type.FLOAT64 | Type.BYTES | Type.MAP | Type.ARRAY | Type.STRUCT:
            return None
    return list(values)


def _dumped_map(schema: Schema, pairs: Sequence[tuple[object, object]]) -> object:
    """Return the payload of a map: an object if its keys are texts."""
    assert schema.keys is not None
    if schema.keys.type is Type.STRING and not schema.keys.optional:
        return {str(key): item for key, item in pairs}
    return [list(pair) for pair in pairs]


_DUMPING: ManyValues[object] = ManyValues(
    one=dump_value,
    array=lambda _schema, items: items,
    struct=_struct_of,
    map=_dumped_map,
    several=_dumped_leaves,
)

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
    """Return a JSON string as Jackson writes it: short escapes, other controls as \\u00XX in upper
    case, characters beyond the basic plane as two escapes, all others unchanged."""
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def _escape(match: re.Match[str]) -> str:
    point = ord(match[0])
    if point < 0x10000:
        return _ESCAPES[point]
    offset = point - 0x10000
    return f"\\u{0xD800 + (offset >> 10):04X}\\u{0xDC00 + (offset & 0x3FF):04X}"


def quoted_unless_number(text: str) -> str:
    """Return Java's text of a floating-point number as JSON."""
    # JSON has no NaN and no infinities; Jackson quotes them.
    return f'"{text}"' if text[-1] in "Ny" else text


_CONTROL = re.compile(r'[\x00-\x1f"\\]')


def document_text(value: object) -> str:
    """Return a JSON document as Debezium writes it to a text: as `json_text`, except for characters
    beyond the basic plane, which Jackson escapes in bytes and does not escape in texts."""
    return json_text(value, lambda text: '"' + _CONTROL.sub(_escape, text) + '"')


def json_text(value: object, quoted: Callable[[str], str] = quote) -> str:
    """Return a value without a schema as JSON, as Jackson writes it; `quoted` writes its texts.

    Raises TypeError for values that JSON does not have.
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
