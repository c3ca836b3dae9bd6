"""MaskField: masks the values of fields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import NamedTuple

import numpy as np

from headrace.config.kinds import COMMA_LIST, TRIMMED_TEXT
from headrace.config.property import REQUIRED, Group, Property
from headrace.connect.evaluation.columns import column_of, with_values
from headrace.connect.evaluation.values import nulls
from headrace.connect.records import Cell, Column, Constant, Guarded, Node, Records, Shape, Struct
from headrace.connect.schema import DECIMAL, Schema, Type, decimal_scale
from headrace.connect.trees import as_struct, fields, with_defaults, with_fields
from headrace.errors import HeadraceError
from headrace.transforms.example import Example
from headrace.transforms.kafka.nulls import NullsOptions, require_part
from headrace.transforms.parts import PartTransform, RecordPart
from headrace.transforms.transform import Declaration, Ordering, PerShape, WrongOption

_EMPTY: dict[Type, object] = {
    Type.INT8: 0,
    Type.INT16: 0,
    Type.INT32: 0,
    Type.INT64: 0,
    Type.FLOAT32: 0.0,
    Type.FLOAT64: 0.0,
    Type.BOOLEAN: False,
    Type.STRING: "",
    Type.ARRAY: [],
    Type.MAP: {},
}
_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_TIMES = tuple(f"org.apache.kafka.connect.data.{name}" for name in ("Date", "Time", "Timestamp"))
_MAPS: tuple[tuple[type, Type], ...] = (
    (bool, Type.BOOLEAN),
    (int, Type.INT64),
    (float, Type.FLOAT64),
    (str, Type.STRING),
    (list, Type.ARRAY),
    (dict, Type.MAP),
)


class MaskFieldOptions(NullsOptions):
    """Options of MaskField."""

    fields = Property("fields", COMMA_LIST, REQUIRED, Group.CONVERTERS, "The fields to mask.")
    replacement = Property(
        "replacement",
        TRIMMED_TEXT,
        None,
        Group.CONVERTERS,
        "The replacement of numbers and texts; by default 0, an empty text, false, an empty "
        "list or map.",
    )


class _Masks(NamedTuple):
    """A shape with masked fields: columns to fill, each with the node whose nulls it keeps, and
    fields that cannot be masked unless they are null."""

    shape: Shape
    columns: tuple[tuple[Column, Node, object], ...]
    refused: tuple[tuple[str, Node], ...]


class MaskField:
    """See OF_VALUE."""

    def __init__(self, options: MaskFieldOptions, part: RecordPart) -> None:
        if options.replacement == "":
            raise WrongOption(
                "transforms.empty_replacement",
                "replacement",
                " is empty",
                "Leave it out: texts become empty then.",
            )
        self._fields = options.fields
        self._replacement = options.replacement
        self._defaults = options.replace_null_with_default
        self._part = PartTransform(part, "MaskField")
        self._made = PerShape(self._masked)

    @property
    def ordering(self) -> Ordering:
        """Masked keys may become equal."""
        return Ordering.NONE if self._part.part is RecordPart.KEY else Ordering.KEEPS_KEY

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform."""
        require_part(records, self._part.part, "MaskField")
        return self._part.apply(records, self._structs, self._maps)

    def _structs(self, records: Records, _struct: Struct) -> Iterator[Records]:
        masks = self._made(records.shape)
        for name, node in masks.refused:
            if not nulls(records, node).all():
                raise _not_masked(name, node.schema, self._replacement)
        for column, node, mask in masks.columns:
            absent = nulls(records, node).tolist()
            records = with_values(records, column, [None if a else mask for a in absent])
        yield records.with_shape(masks.shape)

    def _masked(self, shape: Shape) -> _Masks:
        struct = as_struct(self._part.part.node(shape))
        assert struct is not None
        members: dict[str, Node] = {}
        columns: list[tuple[Column, Node, object]] = []
        refused: list[tuple[str, Node]] = []
        for name, original in fields(struct).items():
            node = with_defaults(original) if self._defaults else original
            if name in self._fields:
                try:
                    mask = mask_of(node.schema, self._replacement)
                except ValueError:
                    refused.append((name, node))
                    mask = None
                masked = _masked_node(node, mask)
                if masked is None:
                    masked = column_of(node.schema)
                    columns.append((masked, node, mask))
                node = masked
            members[name] = node
        masked_shape = self._part.part.in_shape(shape, with_fields(struct, members))
        return _Masks(masked_shape, tuple(columns), tuple(refused))

    def _maps(self, _records: Records, maps: list[Mapping[str, object]]) -> list[object]:
        return [
            {
                **entries,
                **{name: self._masked_value(name, entries.get(name)) for name in self._fields},
            }
            for entries in maps
        ]

    def _masked_value(self, name: str, value: object) -> object:
        if value is None:
            return None
        schema = Schema(next(kind for python, kind in _MAPS if isinstance(value, python)))
        try:
            return mask_of(schema, self._replacement)
        except ValueError:
            raise _not_masked(name, schema, self._replacement) from None


def _masked_node(node: Node, mask: object) -> Node | None:
    """Return the mask wherever `node` is not null, without reading values; None if it needs a
    column."""
    match node:
        case Constant():
            return node if node.value is None else Constant(node.schema, mask)
        case Cell() | Column() if node.null is None:
            return Guarded(Constant(node.schema, mask), None, node)
        case Cell():
            return Guarded(Constant(node.schema, mask), node.image)
        case Column():
            return Constant(node.schema, mask)
        case Guarded():
            inner = _masked_node(node.node, mask)
            return None if inner is None else replace(node, node=inner)
    return None


def mask_of(schema: Schema, replacement: str | None) -> object:
    """Return the value that replaces values of `schema`.

    Raises ValueError for types that cannot be masked, and for a replacement of another type.
    """
    if schema.name == DECIMAL:
        scale = decimal_scale(schema)
        return _decimal(replacement or "0", scale)
    if replacement is None:
        if schema.type not in _EMPTY:
            raise ValueError(schema.type)
        return _EMPTY[schema.type]
    if schema.name in _TIMES:
        raise ValueError(schema.name)
    match schema.type:
        case Type.STRING:
            return replacement
        case Type.FLOAT32:
            return float(np.float32(replacement))
        case Type.FLOAT64:
            return float(replacement)
    bits = _BITS.get(schema.type)
    if bits is None or re.fullmatch("[+-]?[0-9]+", replacement) is None:
        raise ValueError(replacement)
    number = int(replacement)
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise ValueError(replacement)
    return number


def _decimal(text: str, scale: int) -> Decimal:
    try:
        number = Decimal(text)
        scaled = number.quantize(Decimal(1).scaleb(-scale))
    except InvalidOperation:
        raise ValueError(text) from None
    if scaled != number:
        raise ValueError(text)
    return scaled


def _not_masked(name: str, schema: Schema, replacement: str | None) -> HeadraceError:
    detail = "" if replacement is None else f" with {replacement!r}"
    return HeadraceError(
        "transforms.not_maskable",
        f"the field {name} is of type {schema.name or schema.type.value}, which MaskField does not "
        f"mask{detail}",
        "Leave the field out with ReplaceField, or mask it without a replacement.",
    )


_MEANING = "Hides values of fields: 0, an empty text, or a replacement."
OF_KEY = Declaration(
    "MaskField$Key", _MEANING, MaskFieldOptions, partial(MaskField, part=RecordPart.KEY)
)
OF_VALUE = Declaration(
    "MaskField$Value",
    _MEANING,
    MaskFieldOptions,
    partial(MaskField, part=RecordPart.VALUE),
    example=Example(
        {"id": 1, "card": "4556 7375", "limit": 500},
        {"fields": "card,limit"},
    ),
)
