"""Sizes of records in Java's memory, by Debezium's estimate (`ApproximateStructSizeCalculator`):
the sum of the sizes of their parts, headers 100 bytes each.

Debezium also counts 100 bytes for each entry of a record's source partition and offset. Records
have neither here, as in Debezium's own tests of its transform.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.evaluation.values import carries, connect_values, nulls, values_of
from headrace.connect.java_numbers import unscaled_bytes
from headrace.connect.records import (
    Cell,
    Column,
    Constant,
    Guarded,
    Image,
    Node,
    Records,
    Shape,
    Struct,
)
from headrace.connect.schema import DECIMAL, Schema, Type
from headrace.connect.trees import guarded
from headrace.errors import HeadraceError
from headrace.transforms.transform import PerShape

_RECORD, _HEADER, _REFERENCE = 8, 100, 8
_STRUCT, _TEXT, _ARRAY, _MAP = 56, 56, 64, 88
_NUMBER, _BYTES = 24, 24
_NUMBERS = (
    Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64, Type.BOOLEAN,
)  # fmt: skip
_PRESENT = Constant(Schema(Type.BOOLEAN, optional=True), value=True)
_Guards = tuple[tuple[Image | None, Cell | Column | None], ...]


@dataclass
class _Parts:
    """The parts of a shape's records: bytes that all records have, structs that may be null with
    their size, and values of varying size."""

    fixed: int = 0
    structs: list[tuple[Node, int]] = field(default_factory=list)
    varying: list[Node] = field(default_factory=list)

    @staticmethod
    def of(shape: Shape) -> _Parts:
        parts = _Parts(_RECORD + len(shape.topic.encode()))
        for node in (shape.key, shape.value):
            if node is not None:
                parts.add(node, ())
        return parts

    def add(self, node: Node, guards: _Guards) -> None:
        """Count a node that is null wherever its guards are null."""
        match node:
            case Guarded():
                self.add(node.node, (*guards, (node.image, node.presence)))
            case Struct():
                if node.image is not None or node.presence is not None:
                    guards = (*guards, (node.image, node.presence))
                size = _STRUCT
                for member in node.members:
                    fixed = _fixed_size(member)
                    size += _REFERENCE + (fixed or 0)
                    if fixed is None:
                        self.add(member, guards)
                if guards:
                    self.structs.append((_lifted(_PRESENT, guards), size))
                else:
                    self.fixed += size
            case _ if node.schema.type is not Type.ANY:
                self.varying.append(_lifted(node, guards))


class RecordSizes:
    """Estimates sizes of records. Each shape is analyzed once."""

    def __init__(self) -> None:
        self._parts = PerShape(_Parts.of)

    def of(self, records: Records) -> np.ndarray:
        """The bytes of each record (int64). A key that is not a struct counts like a field; a value
        without a schema does not count."""
        return self.measured(records).sizes

    def measured(self, records: Records) -> MeasuredRecords:
        """Return the sizes, with the values that were read for them."""
        parts = self._parts(records.shape)
        sizes = np.full(len(records), parts.fixed, np.int64)
        for header in records.shape.headers:
            sizes += _HEADER * carries(records, header)
        for marker, size in parts.structs:
            sizes += size * ~nulls(records, marker)
        try:
            arrays = values_of(records, parts.varying)
        except HeadraceError as error:
            if error.code != "connect.value_not_in_arrow":
                raise
            for node in parts.varying:
                objects = connect_values(records, node)
                sizes += [size_of(node.schema, value) for value in objects]
            return MeasuredRecords(sizes, {})
        for node, array in zip(parts.varying, arrays, strict=True):  # a node may occur twice
            sizes += sizes_in(node.schema, array)
        return MeasuredRecords(sizes, dict(zip(parts.varying, arrays, strict=True)))


class MeasuredRecords(NamedTuple):
    """The bytes of each record (int64), and the values that were read, by nodes of their shape."""

    sizes: np.ndarray
    arrays: Mapping[Node, pa.Array]


def _lifted(node: Node, guards: _Guards) -> Node:
    for image, presence in reversed(guards):
        node = guarded(node, image, presence)
    return node


def _fixed_size(node: Node) -> int | None:
    """The bytes of a field if they are the same in every struct, otherwise None."""
    if node.schema.type in _NUMBERS:
        return _NUMBER
    return size_of(node.schema, node.value) if isinstance(node, Constant) else None


def size_of(schema: Schema, value: object) -> int:
    """The bytes of one Connect value."""
    if schema.type in _NUMBERS:
        return _NUMBER
    match value:
        case str():
            return _TEXT + len(value.encode(errors="replace"))
        case Decimal():
            return _BYTES + len(unscaled_bytes(value))
        case bytes():
            return _BYTES + len(value)
        case list() if (items := schema.values) is not None:
            return _ARRAY + sum(_REFERENCE + size_of(items, item) for item in value)
        case Mapping() if schema.type is Type.STRUCT:
            return _STRUCT + sum(
                _REFERENCE + size_of(member.schema, value.get(member.name))
                for member in schema.fields
            )
        case Mapping() if schema.keys is not None and schema.values is not None:
            keys, items = schema.keys, schema.values
            return _MAP + sum(
                2 * _REFERENCE + size_of(keys, key) + size_of(items, item)
                for key, item in value.items()
            )
    return 0


def sizes_in(schema: Schema, array: pa.Array) -> np.ndarray:
    """The bytes of each value (int64) of an array of the schema's type."""
    if schema.type in _NUMBERS:
        return np.full(len(array), _NUMBER, np.int64)
    match schema.type:
        case Type.STRING:
            sizes = _TEXT + _lengths(array)
        case Type.BYTES:
            of_decimal = schema.name == DECIMAL
            sizes = _BYTES + (_unscaled_lengths(array) if of_decimal else _lengths(array))
        case Type.STRUCT:
            sizes = np.full(len(array), _STRUCT, np.int64)
            for number, member in enumerate(schema.fields):
                sizes += _REFERENCE + sizes_in(member.schema, array.field(number))
        case Type.ARRAY:
            assert schema.values is not None
            sizes = _ARRAY + _sums(array, _REFERENCE + sizes_in(schema.values, array.values))
        case _:
            assert schema.keys is not None
            assert schema.values is not None
            entries = sizes_in(schema.keys, array.keys) + sizes_in(schema.values, array.items)
            sizes = _MAP + _sums(array, 2 * _REFERENCE + entries)
    return np.where(np.asarray(array.is_valid()), sizes, 0)


def _lengths(array: pa.Array) -> np.ndarray:
    """Bytes of texts or bytes; 0 for null."""
    return np.asarray(pc.fill_null(pc.binary_length(array), 0)).astype(np.int64)


def _sums(array: pa.Array, sizes: np.ndarray) -> np.ndarray:
    """The sums of sizes of items, of each list or map of an array."""
    ends = np.asarray(array.offsets)
    until = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    return np.asarray(until[ends[1:]] - until[ends[:-1]])


def _unscaled_lengths(array: pa.Array) -> np.ndarray:
    """Bytes of the unscaled values of 256-bit decimals, in two's complement."""
    if not len(array):
        return np.zeros(0, np.int64)
    width = 32
    data = np.frombuffer(array.buffers()[1], np.uint8)
    digits = data[width * array.offset : width * (array.offset + len(array))].reshape(-1, width)
    magnitude = np.where(digits[:, -1:] >= 0x80, ~digits, digits)
    top = width - 1 - np.argmax(magnitude[:, ::-1] != 0, axis=1)
    top[~magnitude.any(axis=1)] = 0
    needs_sign = magnitude[np.arange(len(array)), top] >= 0x80
    return np.asarray(top + 1 + needs_sign, np.int64)
