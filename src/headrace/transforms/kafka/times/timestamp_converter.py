"""TimestampConverter: converts a time to another form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from headrace.config.kinds import TEXT, TRIMMED_TEXT, ValueKind
from headrace.config.property import REQUIRED, Group, Property
from headrace.connect.evaluation.columns import column_of, with_values
from headrace.connect.evaluation.values import connect_values, values
from headrace.connect.records import Column, Constant, Node, Records, Shape, Struct
from headrace.connect.schema import SCHEMALESS, Schema, Type
from headrace.connect.trees import as_struct, fields, member, with_defaults
from headrace.errors import HeadraceError
from headrace.transforms.example import Example
from headrace.transforms.kafka.nulls import NullsOptions
from headrace.transforms.kafka.schemas import rebuilt
from headrace.transforms.kafka.times.date_format import DateFormat
from headrace.transforms.kafka.times.timestamp_router import date_format
from headrace.transforms.parts import RecordPart
from headrace.transforms.transform import Declaration, Ordering, PerShape, WrongOption

_PACKAGE = "org.apache.kafka.connect.data."
_DAY = 86_400_000
_DATE = Schema(Type.INT32, name=f"{_PACKAGE}Date", version=1)
_TIME = Schema(Type.INT32, name=f"{_PACKAGE}Time", version=1)
_TIMESTAMP = Schema(Type.INT64, name=f"{_PACKAGE}Timestamp", version=1)
_TARGETS = {
    "string": Schema(Type.STRING),
    "unix": Schema(Type.INT64),
    "Date": _DATE,
    "Time": _TIME,
    "Timestamp": _TIMESTAMP,
}
_PRECISIONS = {"seconds": (1000, 1), "milliseconds": (1, 1), "microseconds": (1, 1000),
               "nanoseconds": (1, 1_000_000)}  # fmt: skip
"""The factor from a unit to milliseconds, and the number of units in a millisecond."""


def _exactly(*texts: str) -> ValueKind[str]:
    def parse(text: str) -> str:
        if text not in texts:
            raise ValueError
        return text

    return ValueKind("one of " + ", ".join(texts), parse, texts)


class TimestampConverterOptions(NullsOptions):
    """Options of TimestampConverter."""

    field = Property(
        "field",
        TEXT,
        None,
        Group.CONVERTERS,
        "The field with the time; if it is empty, the whole key or value is the time.",
    )
    target_type = Property(
        "target.type",
        _exactly(*_TARGETS),
        REQUIRED,
        Group.CONVERTERS,
        "The new type: a text, a number since 1970, or Connect's Date, Time or Timestamp.",
    )
    format = Property(
        "format",
        TRIMMED_TEXT,
        None,
        Group.CONVERTERS,
        "The format of texts: a pattern of Java's SimpleDateFormat; in UTC.",
    )
    unix_precision = Property(
        "unix.precision",
        _exactly(*_PRECISIONS),
        "milliseconds",
        Group.CONVERTERS,
        "The unit of numbers.",
    )


class _Converted(NamedTuple):
    """A shape with the column of converted times, and the node that is converted."""

    shape: Shape
    source: Node | None
    column: Column | None


class TimestampConverter:
    """See OF_VALUE."""

    def __init__(self, options: TimestampConverterOptions, part: RecordPart) -> None:
        self._options = options
        self._part = part
        self._format: DateFormat | None = None
        if options.format:
            self._format = date_format("format", options.format)
        elif options.target_type == "string":
            raise WrongOption(
                "transforms.no_date_format",
                "format",
                " is missing (target.type is string)",
                "Set format to a pattern of Java's SimpleDateFormat.",
            )
        self._shapes = PerShape(self._converted)
        self._schemaless = PerShape(lambda shape: part.in_shape(shape, column_of(SCHEMALESS)))

    @property
    def ordering(self) -> Ordering:
        """Times in keys may become equal."""
        return Ordering.NONE if self._part is RecordPart.KEY else Ordering.KEEPS_KEY

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform. Raises HeadraceError("transforms.not_a_time"),
        ("transforms.time_not_understood") and ("transforms.time_out_of_range")."""
        node = self._part.node(records.shape)
        if node is None:
            return [records]
        has_members = records.shape.null_has_schema and _struct_of(node) is not None
        if self._options.field and not has_members and self._part.absent(records).all():
            return [records]
        if node.schema.type is Type.ANY:
            return self._maps(records, node)
        return self._times(records)

    def _times(self, records: Records) -> Iterator[Records]:
        shape, source, column = self._shapes(records.shape)
        if source is not None and column is not None:
            times = values(records, source)
            millis = self._millis(source.schema, times)
            records = with_values(records, column, self._target(millis))
        yield records.with_shape(shape)

    def _converted(self, shape: Shape) -> _Converted:
        node = self._part.node(shape)
        assert node is not None
        name = self._options.field
        target = _TARGETS[self._options.target_type]
        if not name:
            _source_of(node.schema)
            column = column_of(target.as_optional(node.schema.optional))
            return _Converted(self._part.in_shape(shape, column), node, column)
        struct = _struct_of(node)
        if struct is None:
            raise _not_a_time(node.schema, "structs, when field is set")
        members = dict(fields(struct))
        if self._options.replace_null_with_default:
            members = {key: with_defaults(member_node) for key, member_node in members.items()}
        if name not in members:
            converted = _in_place_of(node, _with_members(struct, members))
            return _Converted(self._part.in_shape(shape, converted), None, None)
        source = member(struct, name)
        if self._options.replace_null_with_default:
            source = with_defaults(source)
        _source_of(source.schema)
        column = column_of(target.as_optional(source.schema.optional))
        converted = _in_place_of(node, _with_members(struct, {**members, name: column}))
        shape = self._part.in_shape(shape, converted)
        return (
            _Converted(shape, None, None) if _is_null(node) else _Converted(shape, source, column)
        )

    def _millis(self, schema: Schema, times: pa.Array) -> pa.Array:
        """Return the milliseconds since 1970 of times in their original form."""
        kind = _source_of(schema)
        if kind == "string":
            encoded = times.dictionary_encode()
            read = [self._read(text) for text in encoded.dictionary.to_pylist()]
            return pa.array(read, pa.int64()).take(encoded.indices)
        if kind == "Date":
            return _mapped(times, lambda days: days * _DAY)
        if kind == "unix":
            factor, divisor = _PRECISIONS[self._options.unix_precision]
            return _mapped(times, lambda numbers: _truncated(_times(numbers, factor), divisor))
        return times.cast(pa.int64())

    def _read(self, text: str) -> int:
        at = self._format.parse(text) if self._format is not None else None
        if at is None:
            pattern = self._options.format or "no format"
            raise HeadraceError(
                "transforms.time_not_understood",
                f"a text does not match {pattern}",
                "Set format to the pattern of the texts.",
            )
        return at

    def _target(self, millis: pa.Array) -> pa.Array:
        match self._options.target_type:
            case "string":
                assert self._format is not None
                written = self._format.format(_filled(millis))
                return _nulled(written, millis)
            case "unix":
                divisor, factor = _PRECISIONS[self._options.unix_precision]
                return _mapped(millis, lambda times: _truncated(_times(times, factor), divisor))
            case "Date":
                return _mapped(millis, lambda times: times // _DAY)
            case "Time":
                return _mapped(millis, lambda times: times % _DAY)
        return millis

    def _maps(self, records: Records, node: Node) -> Iterator[Records]:
        converted = [self._value(value) for value in connect_values(records, node)]
        shape = self._schemaless(records.shape)
        whole = self._part.node(shape)
        yield with_values(records, whole, converted).with_shape(shape)  # type: ignore[arg-type]

    def _value(self, value: object) -> object:
        name = self._options.field
        if not name:
            return self._free(value)
        if not isinstance(value, Mapping):
            raise _not_a_time(SCHEMALESS, "maps, when field is set")
        return {**value, name: self._free(value.get(name))}

    def _free(self, value: object) -> object:
        """Convert a time without a schema: a number or a text."""
        if value is None:
            return None
        schema = Schema(Type.INT64 if type(value) is int else Type.STRING)
        if not isinstance(value, str) and type(value) is not int:
            raise _not_a_time(SCHEMALESS, "whole numbers and texts")
        kind = pa.int64() if schema.type is Type.INT64 else pa.large_string()
        return self._target(self._millis(schema, pa.array([value], kind)))[0].as_py()


def _is_null(node: Node) -> bool:
    return isinstance(node, Constant) and node.value is None


def _struct_of(node: Node) -> Struct | None:
    """Return `node` as a struct of nodes, also a null with the schema of a struct; None if it is
    not a struct."""
    if _is_null(node) and node.schema.type is Type.STRUCT:
        names = (field.name for field in node.schema.fields)
        return Struct(node.schema, tuple(member(node, name) for name in names))
    return as_struct(node)


def _in_place_of(node: Node, struct: Struct) -> Node:
    """Return the struct, or null with its schema where `node` is null in every record."""
    return Constant(struct.schema, None) if _is_null(node) else struct


def _with_members(struct: Struct, members: Mapping[str, Node]) -> Struct:
    """Return the struct with these members; it stays optional if it is optional."""
    result = rebuilt(struct, list(members.items()))
    return replace(result, schema=result.schema.as_optional(optional=struct.schema.optional))


def _source_of(schema: Schema) -> str:
    """Return the form of times of this schema."""
    for name in ("Date", "Time", "Timestamp"):
        if schema.name == f"{_PACKAGE}{name}":
            return name
    if schema.type is Type.INT64:
        return "unix"
    if schema.type is Type.STRING:
        return "string"
    raise _not_a_time(schema, "whole numbers of 64 bits, texts and Connect's times")


def _not_a_time(schema: Schema, types: str) -> HeadraceError:
    return HeadraceError(
        "transforms.not_a_time",
        f"a {schema.name or schema.type.value} is not a time; TimestampConverter accepts {types}",
        "Name the field with the time, or give the transform a predicate.",
    )


def _filled(array: pa.Array) -> np.ndarray:
    return np.asarray(array.cast(pa.int64()).fill_null(0))


def _nulled(array: pa.Array, like: pa.Array) -> pa.Array:
    if not like.null_count:
        return array
    index = np.arange(len(array), dtype=np.int64)
    return array.take(pa.array(index, mask=np.asarray(like.is_null())))


def _mapped(array: pa.Array, change: Callable[[np.ndarray], np.ndarray]) -> pa.Array:
    numbers = change(_filled(array))
    return pa.array(numbers, mask=np.asarray(array.is_null()))


def _times(numbers: np.ndarray, factor: int) -> np.ndarray:
    if factor == 1:
        return numbers
    if len(numbers) and max(int(numbers.max()), -int(numbers.min())) > (1 << 63) // factor - 1:
        raise HeadraceError(
            "transforms.time_out_of_range",
            "a time does not fit into 64 bits in another unit",
            "Set unix.precision to a coarser unit.",
        )
    return numbers * factor


def _truncated(numbers: np.ndarray, divisor: int) -> np.ndarray:
    """Quotients rounded towards zero, as in Java's TimeUnit."""
    return numbers if divisor == 1 else np.sign(numbers) * (np.abs(numbers) // divisor)


_MEANING = "Converts a time to a text, a number, or Connect's Date, Time or Timestamp."
OF_KEY = Declaration(
    "TimestampConverter$Key",
    _MEANING,
    TimestampConverterOptions,
    partial(TimestampConverter, part=RecordPart.KEY),
)
OF_VALUE = Declaration(
    "TimestampConverter$Value",
    _MEANING,
    TimestampConverterOptions,
    partial(TimestampConverter, part=RecordPart.VALUE),
    example=Example(
        {"id": 1, "at": 1700000000123},
        {"field": "at", "target.type": "string", "format": "yyyy-MM-dd HH:mm:ss"},
    ),
)
