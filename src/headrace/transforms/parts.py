"""The part of a record to which a transform applies: its key or its value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum

import numpy as np

from headrace.connect.evaluation.columns import column_of, with_values
from headrace.connect.evaluation.values import connect_values, nulls, tombstones
from headrace.connect.records import Node, Records, Shape, Struct
from headrace.connect.schema import SCHEMALESS, Type
from headrace.connect.trees import as_struct
from headrace.errors import HeadraceError
from headrace.transforms.transform import PerShape, passing

StructStep = Callable[[Records, Struct], Iterator[Records]]
"""Transforms records whose part is this struct."""
MapStep = Callable[[Records, list[Mapping[str, object]]], list[object]]
"""Transforms the maps that are the part of records without schemas."""


class RecordPart(StrEnum):
    """Part of a record."""

    KEY = "key"
    VALUE = "value"

    def node(self, shape: Shape) -> Node | None:
        """The part's node."""
        return shape.key if self is RecordPart.KEY else shape.value

    def in_shape(self, shape: Shape, node: Node | None) -> Shape:
        """Return the shape with another node as this part."""
        return replace(shape, key=node) if self is RecordPart.KEY else replace(shape, value=node)

    def absent(self, records: Records) -> np.ndarray:
        """Return which records lack the part (bool, one per record)."""
        return nulls(records, records.shape.key) if self is RecordPart.KEY else tombstones(records)


class PartTransform:
    """Applies a step to the structs of a part, and another to the maps of records without schemas.
    Records that lack the part pass unchanged."""

    def __init__(self, part: RecordPart, purpose: str) -> None:
        """`purpose` names the operation that needs structs, for errors."""
        self.part = part
        self._purpose = purpose
        self._schemaless = PerShape(lambda shape: part.in_shape(shape, column_of(SCHEMALESS)))

    def apply(self, records: Records, struct: StructStep, schemaless: MapStep) -> Iterator[Records]:
        """Yield the transformed records. Raises HeadraceError("transforms.not_a_struct")."""
        others = yield from passing(records, self.part.absent(records))
        if others is None:
            return
        records = others
        node = self.part.node(records.shape)
        assert node is not None
        if node.schema.type is Type.ANY:
            yield self._maps(records, node, schemaless)
            return
        inner = as_struct(node)
        if inner is None:
            raise self._no_struct(records, node.schema.type.value)
        yield from struct(records, inner)

    def _maps(self, records: Records, node: Node, step: MapStep) -> Records:
        maps: list[Mapping[str, object]] = []
        for value in connect_values(records, node):
            if not isinstance(value, Mapping):
                raise self._no_struct(records, f"{kind_of(value)} without a schema")
            maps.append(value)
        shape = self._schemaless(records.shape)
        column = self.part.node(shape)
        return with_values(records, column, step(records, maps)).with_shape(shape)  # type: ignore[arg-type]

    def _no_struct(self, records: Records, kind: str) -> HeadraceError:
        return not_a_struct(self.part, records.shape.topic, kind, self._purpose)


def kind_of(value: object) -> str:
    """Return the name that JSON has for the type of a value without a schema."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return type(value).__name__


def not_a_struct(part: RecordPart, topic: str, kind: str, purpose: str) -> HeadraceError:
    """The error of a part of another kind, or without schema; `purpose` is the operation that needs
    structs."""
    if kind == Type.ANY.value:
        return HeadraceError(
            "transforms.not_a_struct",
            f"the {part} of records of {topic} has no schema; {purpose} needs structs",
            f"Write the records with schemas ({part}.converter.schemas.enable=true, the "
            "default), or give the transform a predicate.",
        )
    return HeadraceError(
        "transforms.not_a_struct",
        f"the {part} of records of {topic} is a {kind}; {purpose} needs structs",
        "Give the transform a predicate, or put it where its records are structs.",
    )
