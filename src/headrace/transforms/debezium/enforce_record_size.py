"""EnforceRecordSize: truncates long texts and bytes of rows, so that records are not too large."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.config.configuration import Configuration
from headrace.config.kinds import integer, number_above
from headrace.config.property import REQUIRED, Group, Property
from headrace.connect.evaluation.columns import column_of, with_values
from headrace.connect.evaluation.units import first_bytes, first_units, unit_lengths
from headrace.connect.evaluation.values import tombstones, values, values_of
from headrace.connect.records import Column, Node, Records, Shape
from headrace.connect.schema import DECIMAL, Schema, Type
from headrace.connect.trees import as_struct, fields, member, with_defaults, with_fields
from headrace.transforms.debezium.record_sizes import RecordSizes
from headrace.transforms.example import Example
from headrace.transforms.transform import Declaration, Ordering, PerShape

_IMAGES = ("before", "after")
_WHOLE = np.iinfo(np.int64).max
_MAX_INT, _MAX_LONG = float(2**31 - 1), float(2**63 - 1024)  # largest doubles of int and long


class EnforceRecordSizeOptions(Configuration):
    """Options of EnforceRecordSize."""

    max_bytes = Property(
        "max.bytes",
        integer(1),
        REQUIRED,
        Group.CONVERTERS,
        "The most bytes that a record may have by Debezium's estimate of its size in Java's "
        "memory, which is larger than its size in a topic. Debezium counts 100 bytes more for each "
        "entry of a record's source partition and offset; records have neither here.",
    )
    compression_ratio = Property(
        "compression.ratio",
        number_above(0),
        "1.0",
        Group.CONVERTERS,
        "A factor for the estimated size.",
    )
    min_field_size = Property(
        "min.field.size",
        integer(),
        "25000",
        Group.CONVERTERS,
        "Texts of at most this number of characters, and binary values of at most this number of "
        "bytes, are never cut.",
    )


class _Field(NamedTuple):
    """A field of an image (before, after) that may be truncated, and the column for the rest."""

    image: str
    name: str
    node: Node
    column: Column


@dataclass(frozen=True, eq=False)
class _Cut:
    """The fields of a shape that may be truncated. `cut` are those that were truncated so far: in
    the shapes of `shapes` these are columns, the other fields are unchanged."""

    fields: tuple[_Field, ...]
    cut: set[_Field] = field(default_factory=set)
    shapes: dict[int, Shape] = field(default_factory=dict)
    """Shapes by the number of truncated fields."""

    @staticmethod
    def of(shape: Shape) -> _Cut:
        members = fields(as_struct(shape.value))
        cut_fields = []
        for image in _IMAGES:
            row = as_struct(members.get(image))
            if row is not None:
                cut_fields += [
                    _Field(image, name, member(row, name), column_of(node.schema))
                    for name, node in fields(row).items()
                    if _is_cut(node)
                ]
        return _Cut(tuple(cut_fields))

    def shape(self, shape: Shape) -> Shape:
        """The shape of records with truncated fields."""
        number = len(self.cut)
        if number not in self.shapes:
            value = as_struct(shape.value)
            assert value is not None
            members = fields(value)
            for image in _IMAGES:
                row = as_struct(members.get(image))
                columns = {
                    cut_field.name: cut_field.column
                    for cut_field in self.cut
                    if cut_field.image == image
                }
                if row is not None and columns:
                    members[image] = with_fields(row, fields(row) | columns)
            self.shapes[number] = replace(shape, value=with_fields(value, members))
        return self.shapes[number]


class _Measured(NamedTuple):
    """The stored values of a field, the values with defaults, which may be truncated, and their
    lengths (int64): 0 for values up to `min.field.size`."""

    field: _Field
    stored: pa.Array
    held: pa.Array
    lengths: np.ndarray


class EnforceRecordSize:
    """See DECLARATION. Numbers, lists, structs and fields in them are never truncated, so a record
    may stay too large."""

    ordering = Ordering.KEEPS_KEY

    def __init__(self, options: EnforceRecordSizeOptions) -> None:
        self._most = options.max_bytes
        self._ratio = options.compression_ratio
        self._least = options.min_field_size
        self._sizes = RecordSizes()
        self._cuts = PerShape(_Cut.of)

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform."""
        cut = self._cuts(records.shape)
        if not cut.fields:
            return [records]
        sizes, arrays = self._sizes.measured(records)
        estimates = np.ceil(sizes * self._ratio)
        beyond = np.minimum(estimates, _MAX_LONG).astype(np.int64) - self._most
        large = (beyond > 0) & ~tombstones(records)
        if not large.any():
            return [records]
        return self._shortened(records, large, beyond[large], cut, arrays)

    def _shortened(
        self,
        records: Records,
        large: np.ndarray,
        beyond: np.ndarray,
        cut: _Cut,
        arrays: Mapping[Node, pa.Array],
    ) -> Iterator[Records]:
        """Yield the records, the large ones with their fields truncated by `beyond` bytes."""
        yield records.with_rows(~large)
        part = records.with_rows(large)
        if not large.all():
            mask = pa.array(large)
            arrays = {
                cut_field.node: arrays[cut_field.node].filter(mask)
                for cut_field in cut.fields
                if cut_field.node in arrays
            }
        measured = self._measured(part, cut, arrays)
        totals = {
            image: _sum([size.lengths for size in measured if size.field.image == image])
            for image in dict.fromkeys(size.field.image for size in measured)
        }
        total = _sum(list(totals.values()))
        yield part.with_rows(total == 0)
        shortened: dict[_Field, pa.Array] = {}
        removed = {
            image: _share(of_image, total, beyond, _MAX_LONG) for image, of_image in totals.items()
        }
        for size in measured:
            image = size.field.image
            away = _share(size.lengths, totals[image], removed[image], _MAX_INT)
            if (away > 0).any():
                left = np.where(away > 0, np.maximum(size.lengths - away, 0), _WHOLE)
                shortened[size.field] = _first(size, left)
        cut.cut.update(shortened)
        truncated = part
        for size in measured:
            if size.field in cut.cut:
                array = shortened.get(size.field, size.stored)
                truncated = with_values(truncated, size.field.column, array)
        yield truncated.with_rows(total > 0).with_shape(cut.shape(part.shape))

    def _measured(
        self, records: Records, cut: _Cut, arrays: Mapping[Node, pa.Array]
    ) -> list[_Measured]:
        """Measure the fields that may be truncated; `arrays` are values of the records that were
        already read."""
        unread = [cut_field.node for cut_field in cut.fields if cut_field.node not in arrays]
        arrays = {**arrays, **dict(zip(unread, values_of(records, unread), strict=True))}
        measured = []
        for cut_field in cut.fields:
            stored = filled = arrays[cut_field.node]
            if cut_field.node.schema.default is not None:
                filled = values(records, with_defaults(cut_field.node))
            measured.append(_Measured(cut_field, stored, filled, self._lengths(filled)))
        return measured

    def _lengths(self, array: pa.Array) -> np.ndarray:
        if pa.types.is_large_string(array.type):
            lengths = unit_lengths(array)
        else:
            lengths = np.asarray(pc.fill_null(pc.binary_length(array), 0)).astype(np.int64)
        return np.where(lengths > self._least, lengths, 0)


def _sum(lengths: list[np.ndarray]) -> np.ndarray:
    return np.asarray(np.sum(lengths, axis=0, dtype=np.int64))


def _share(part: np.ndarray, total: np.ndarray, removed: np.ndarray, most: float) -> np.ndarray:
    """Return the share of `removed` that `part` has in `total`, rounded up as in Java; 0 if `total`
    is 0."""
    ratio = part / np.maximum(total, 1).astype(np.float64)
    return np.asarray(np.minimum(np.ceil(ratio * removed), most).astype(np.int64))


def _first(measured: _Measured, left: np.ndarray) -> pa.Array:
    """Return the values, truncated to `left` where that is less than their length."""
    cut = first_units if measured.field.column.schema.type is Type.STRING else first_bytes
    shorter = cut(measured.held, left)
    if measured.held is measured.stored:
        return shorter
    return pc.if_else(pa.array(left < _WHOLE), shorter, measured.stored)


def _is_cut(node: Node) -> bool:
    schema: Schema = node.schema
    return schema.type is Type.STRING or (schema.type is Type.BYTES and schema.name != DECIMAL)


DECLARATION = Declaration(
    "EnforceRecordSize",
    "Cuts the texts and bytes of rows before and after a change, each in proportion to its "
    "length, if a record is too large.",
    EnforceRecordSizeOptions,
    EnforceRecordSize,
    example=Example(
        {"before": None, "after": {"id": 1, "note": "all day long " * 4}, "op": "c"},
        {"max.bytes": "420", "min.field.size": "20"},
        key={"id": 1},
        topic="s.orders",
        names={"value": "s.orders.Envelope"},
    ),
    kernels=("headrace.connect.evaluation.units",),
)
