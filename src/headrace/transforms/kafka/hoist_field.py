"""HoistField: wraps the key or value as the single field of a struct."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from headrace.config.configuration import Configuration
from headrace.config.kinds import TEXT
from headrace.config.property import REQUIRED, Group, Property
from headrace.connect.evaluation.columns import column_of, with_values
from headrace.connect.evaluation.values import connect_values
from headrace.connect.records import Node, Records, Shape, struct_of
from headrace.connect.schema import SCHEMALESS, Type
from headrace.transforms.example import Example
from headrace.transforms.parts import RecordPart
from headrace.transforms.transform import Declaration, Ordering, PerShape


class HoistFieldOptions(Configuration):
    """Options of HoistField."""

    field = Property("field", TEXT, REQUIRED, Group.CONVERTERS, "The name of the only field.")


class HoistField:
    """Puts the whole key or value into one field of a struct."""

    ordering = Ordering.KEEPS_KEY

    def __init__(self, options: HoistFieldOptions, part: RecordPart) -> None:
        self._field = options.field
        self._part = part
        self._shapes = PerShape(self._hoisted)
        self._schemaless = PerShape(lambda shape: part.in_shape(shape, column_of(SCHEMALESS)))

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform. A tombstone stays a tombstone."""
        node = self._part.node(records.shape)
        if node is None:
            return [records]
        return self._hoist_present(records, node)

    def _hoist_present(self, records: Records, node: Node) -> Iterator[Records]:
        """Yield absent keys or values unchanged, and the others hoisted."""
        if node.schema.type is Type.ANY or not records.shape.null_has_schema:
            absent = self._part.absent(records)
            if absent.any():
                yield records.with_rows(absent)
                records = records.with_rows(~absent)
        if not len(records):
            return
        if node.schema.type is not Type.ANY:
            yield records.with_shape(self._shapes(records.shape))
            return
        shape = self._schemaless(records.shape)
        structs = [{self._field: value} for value in connect_values(records, node)]
        yield with_values(records, self._part.node(shape), structs).with_shape(shape)  # type: ignore[arg-type]

    def _hoisted(self, shape: Shape) -> Shape:
        node = self._part.node(shape)
        assert node is not None
        return self._part.in_shape(shape, struct_of(None, {self._field: node}))


_MEANING = "Puts the whole key or value into one field of a struct."
OF_KEY = Declaration(
    "HoistField$Key", _MEANING, HoistFieldOptions, partial(HoistField, part=RecordPart.KEY)
)
OF_VALUE = Declaration(
    "HoistField$Value",
    _MEANING,
    HoistFieldOptions,
    partial(HoistField, part=RecordPart.VALUE),
    example=Example({"id": 1}, {"field": "order"}),
)
