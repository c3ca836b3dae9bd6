"""EnforceRecordSize: long texts and bytes of rows cut, so that records are not too large."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.config.configuration import Configuration
from headrace.config.kinds import integer, number_above
from headrace.config.property import REQUIRED, Group, Property
from headrace.connect.evaluation.columns import column_of, with_values
from headrace.connect.evaluation.units import first_bytes, first_units, unit_lengths
from headrace.connect.evaluation.values import tombstones, values
from headrace.connect.records import Column, Node, Records, Shape
from headrace.connect.schema import DECIMAL, Schema, Type
from headrace.connect.trees import as_struct, fields, member, with_defaults, with_fields
from headrace.transforms.debezium.record_sizes import RecordSizes
from headrace.transforms.example import Example
from headrace.transforms.transform import Declaration, Ordering, PerShape

_IMAGES = ("before", "after")
_WHOLE = np.iinfo(np.int64).max
_MOST_INT, _MOST_LONG = float(2**31 - 1), float(2**63 - 1024)  # doubles that an integer holds


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
        "The estimate is multiplied by it.",
    )
    min_field_size = Property(
        "min.field.size",
        integer(),
        "25000",
        Group.CONVERTERS,
        "Texts of at most so many characters, and as many bytes, are never cut.",
    )


class _Cut(NamedTuple):
    """A shape whose long fields are columns of their own: these, and what they are cut from."""

    shape: Shape
    columns: dict[str, tuple[tuple[Column, Node], ...]]
    """By image."""


class _Measured(NamedTuple):
    """The values of a field, those that may be cut with their defaults, and how long these are
    (int64): 0 where they are short enough for `min.field.size`."""

    column: Column
    stored: pa.Array
    held: pa.Array
    lengths: np.ndarray


class EnforceRecordSize:
    """See DECLARATION. Numbers, lists, structs and fields in them stay whole, so a record may stay
    too large."""

    ordering = Ordering.KEEPS_KEY

    def __init__(self, options: EnforceRecordSizeOptions) -> None:
        self._most = options.max_bytes
        self._ratio = options.compression_ratio
        self._least = options.min_field_size
        self._sizes = RecordSizes()
        self._cuts = PerShape(_cut)

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform."""
        cut = self._cuts(records.shape)
        if not any(cut.columns.values()):
            return [records]
        estimates = np.ceil(self._sizes.of(records) * self._ratio)
        beyond = np.minimum(estimates, _MOST_LONG).astype(np.int64) - self._most
        large = (beyond > 0) & ~tombstones(records)
        if not large.any():
            return [records]
        return self._shortened(records, large, beyond[large], cut)

    def _shortened(
        self, records: Records, large: np.ndarray, beyond: np.ndarray, cut: _Cut
    ) -> Iterator[Records]:
        """The records, the large ones with what is `beyond` (bytes) taken from their fields."""
        yield records.with_rows(~large)
        part = records.with_rows(large)
        measured = {
            image: [self._measured(part, *column) for column in columns]
            for image, columns in cut.columns.items()
        }
        totals = {
            image: _sum([each.lengths for each in columns])
            for image, columns in measured.items()
            if columns
        }
        total = _sum(list(totals.values()))
        yield part.with_rows(total == 0)
        made = part
        for image, of_image in totals.items():
            taken = _share(of_image, total, beyond, _MOST_LONG)
            for each in measured[image]:
                away = _share(each.lengths, of_image, taken, _MOST_INT)
                left = np.where(away > 0, np.maximum(each.lengths - away, 0), _WHOLE)
                made = with_values(made, each.column, _first(each, left))
        yield made.with_rows(total > 0).with_shape(cut.shape)

    def _measured(self, records: Records, column: Column, node: Node) -> _Measured:
        stored = values(records, node)
        held = stored if node.schema.default is None else values(records, with_defaults(node))
        if node.schema.type is Type.STRING:
            lengths = unit_lengths(held)
        else:
            lengths = np.asarray(pc.fill_null(pc.binary_length(held), 0)).astype(np.int64)
        return _Measured(column, stored, held, np.where(lengths > self._least, lengths, 0))


def _sum(lengths: list[np.ndarray]) -> np.ndarray:
    return np.asarray(np.sum(lengths, axis=0, dtype=np.int64))


def _share(part: np.ndarray, total: np.ndarray, taken: np.ndarray, most: float) -> np.ndarray:
    """`part` of `total` as a share of what is taken, rounded up as Java does; 0 of nothing."""
    ratio = part / np.maximum(total, 1).astype(np.float64)
    return np.asarray(np.minimum(np.ceil(ratio * taken), most).astype(np.int64))


def _first(measured: _Measured, left: np.ndarray) -> pa.Array:
    """The values, cut where less is `left` of them than all."""
    cut = first_units if measured.column.schema.type is Type.STRING else first_bytes
    shorter = cut(measured.held, left)
    if measured.held is measured.stored:
        return shorter
    return pc.if_else(pa.array(left < _WHOLE), shorter, measured.stored)


def _cut(shape: Shape) -> _Cut:
    value = as_struct(shape.value)
    members = fields(value)
    columns: dict[str, tuple[tuple[Column, Node], ...]] = {}
    for image in _IMAGES:
        row = as_struct(members.get(image))
        if row is None:
            continue
        made = {name: column_of(node.schema) for name, node in fields(row).items() if _is_cut(node)}
        columns[image] = tuple((column, member(row, name)) for name, column in made.items())
        members[image] = with_fields(row, fields(row) | made)
    if value is None or not any(columns.values()):
        return _Cut(shape, {})
    return _Cut(replace(shape, value=with_fields(value, members)), columns)


def _is_cut(node: Node) -> bool:
    schema: Schema = node.schema
    return schema.type is Type.STRING or (schema.type is Type.BYTES and schema.name != DECIMAL)


DECLARATION = Declaration(
    "EnforceRecordSize",
    "Cuts the texts and bytes of rows before and after a change, each in proportion to its "
    "length, where a record is too large.",
    EnforceRecordSizeOptions,
    EnforceRecordSize,
    example=Example(
        {"before": None, "after": {"id": 1, "note": "all day long " * 4}, "op": "c"},
        {"max.bytes": "420", "min.field.size": "20"},
        key={"id": 1},
        topic="s.orders",
        names={"value": "s.orders.Envelope"},
    ),
)
