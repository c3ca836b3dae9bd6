"""Random node trees over random rows as columns of Spark's types, against plain Python."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
from hypothesis import given, settings

from headrace.connect.records import Node, Records, Shape
from headrace.connect.schema import Schema, Type
from headrace.converters.typed.converters import ColumnConverter, RowConverter, VariantConverter
from headrace.converters.typed.types import typed
from tests.converters.node_trees import TREES, Sources, sources, struct
from tests.converters.plain_values import NOW, PlainValues
from tests.converters.typed.plain_variant import read


def shown(converter: ColumnConverter, given_: Sources, node: Node, rows: np.ndarray) -> list[Any]:
    """The keys that a converter makes of these rows of the table."""
    records = Records(Shape("t", node, None), given_.table, rows, rows, given_.columns)
    with mock.patch("headrace.connect.evaluation.values.time.time_ns", return_value=NOW):
        array = converter.column_of(records)
    array.validate(full=True)
    assert array.type == converter.column
    return array.to_pylist()  # type: ignore[no-any-return]


def in_spark(schema: Schema, value: Any, *, of_variant: bool = False) -> Any:
    """A Connect value as Arrow's Python values have it: structs with all their fields, and maps as
    pairs, or as objects in a VARIANT."""
    if value is None:
        return None
    match schema.type:
        case Type.STRUCT:
            return {
                each.name: in_spark(each.schema, value.get(each.name), of_variant=of_variant)
                for each in schema.fields
            }
        case Type.MAP:
            assert schema.values is not None
            pairs = [
                (key, in_spark(schema.values, item, of_variant=of_variant))
                for key, item in value.items()
            ]
            return dict(pairs) if of_variant else pairs
    return value


@settings(max_examples=80, deadline=None)
@given(sources(), TREES)
def test_any_tree_over_any_rows_is_a_row_of_its_values(given_: Sources, tree: Node) -> None:
    root = struct(None, [tree])
    kind = typed(root.schema)
    assert isinstance(kind, pa.StructType)
    rows = np.arange(len(given_.table))[::-1].copy()
    plain = PlainValues(*given_)
    expected = [in_spark(root.schema, plain.value(root, row)) for row in rows.tolist()]
    assert shown(RowConverter("key", kind), given_, root, rows) == expected


@settings(max_examples=80, deadline=None)
@given(sources(), TREES)
def test_any_tree_over_any_rows_is_a_variant_of_its_values(given_: Sources, tree: Node) -> None:
    rows = np.arange(len(given_.table))[::-1].copy()
    plain = PlainValues(*given_)
    variants = shown(VariantConverter("key"), given_, tree, rows)
    for variant, row in zip(variants, rows.tolist(), strict=True):
        expected = in_spark(tree.schema, plain.value(tree, row), of_variant=True)
        value = None if variant is None else read(variant["value"], variant["metadata"])
        assert value == expected
