"""Values of nodes over random rows, against the plain renderer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from unittest import mock

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.connect.evaluation.arrow import arrow_array
from headrace.connect.evaluation.values import connect_values, nulls, values
from headrace.connect.json_values import dump_value
from headrace.connect.records import (
    Cell,
    Cells,
    Column,
    ColumnIdentity,
    Guarded,
    Image,
    Node,
    Records,
    RowField,
    Shape,
    Struct,
    struct_of,
)
from headrace.connect.rows import RowTable
from headrace.connect.schema import Schema, Type
from headrace.connect.trees import fields, select
from headrace.converters.json.values import JsonOptions
from tests.connectors.postgresql.replication.pgoutput import cell, image
from tests.converters.node_trees import TREES, Memory, Sources, cells, sources, text_cell
from tests.converters.plain_renderer import PlainRenderer
from tests.converters.plain_values import NOW
from tests.examples import examples

PLAIN = JsonOptions(replace_null_with_default=False)


def of_all(
    table: RowTable,
    node: Node,
    rows: np.ndarray | None = None,
    columns: Mapping[ColumnIdentity, Cells] | None = None,
) -> Records:
    chosen = np.arange(len(table)) if rows is None else rows
    return Records(Shape("t", None, node), table, chosen, chosen, columns or {})


@settings(max_examples=examples(300), deadline=None)
@given(sources(), TREES, st.randoms(use_true_random=False))
def test_any_tree_over_any_rows_has_the_values_that_are_rendered(
    given_: Sources, node: Node, random: object
) -> None:
    table, columns = given_
    rows = np.array(random.sample(range(len(table)), len(table)))  # type: ignore[attr-defined]
    records = of_all(table, node, rows, columns)
    plain = PlainRenderer(table, PLAIN, columns)
    with mock.patch("headrace.connect.evaluation.values.time.time_ns", return_value=NOW):
        tree_values = connect_values(records, node)
        array = values(records, node)
    expected = [json.loads(plain.node(node, int(row))) for row in rows]
    assert [dump_value(node.schema, value) for value in tree_values] == expected
    assert array.equals(arrow_array(node.schema, tree_values))
    assert nulls(records, node).tolist() == [value is None for value in tree_values]


@settings(max_examples=examples(200), deadline=None)
@given(sources(), TREES, st.sampled_from([None, *Image]), st.none() | cells())
def test_a_lifted_node_is_null_where_its_struct_is(
    given_: Sources, node: Node, guard: Image | None, presence: Cell | Column | None
) -> None:
    struct = struct_of("outer", {"a": RowField(Schema(Type.INT64), "ordinal"), "b.c": node})
    outer = Struct(struct.schema.as_optional(), struct.members, guard, presence)
    records = of_all(given_.table, outer, None, given_.columns)
    with mock.patch("headrace.connect.evaluation.values.time.time_ns", return_value=NOW):
        wholes = connect_values(records, outer)
        for path in ("a", "b.c"):
            lifted = select(outer, path)
            assert lifted is not None
            expected = [None if whole is None else whole[path] for whole in wholes]  # type: ignore[index]
            assert connect_values(records, lifted) == expected


def test_a_struct_is_null_where_its_presence_is() -> None:
    memory = Memory()
    memory.row(new=memory.place(image(cell(b"yes"), cell(b"1"))), operation=ord("c"))
    memory.row(new=memory.place(image(cell(None), cell(b"2"))), operation=ord("c"))
    inner = struct_of("inner", {"n": text_cell(1)})
    struct = Struct(inner.schema.as_optional(), inner.members, presence=text_cell(0))
    records = of_all(memory.table(), struct)
    assert connect_values(records, struct) == [{"n": "1"}, None]
    assert values(records, struct).to_pylist() == [{"n": "1"}, None]
    lifted = select(struct, "n")
    assert isinstance(lifted, Guarded)
    assert connect_values(records, lifted) == ["1", None]
    assert nulls(records, lifted).tolist() == [False, True]


def test_a_path_takes_the_longest_name_that_there_is() -> None:
    nested, dotted = text_cell(0), text_cell(1)
    tree = struct_of("t", {"a": struct_of("a", {"b": nested}), "a.b": dotted})
    assert select(tree, "a.b") is dotted
    assert select(fields(tree)["a"], "b") is nested
    assert select(tree, "a.c") is None


def test_a_field_of_a_cell_that_holds_a_struct_can_be_selected() -> None:
    schema = struct_of("point", {"x": text_cell(0)}).schema.as_optional()
    memory = Memory()
    memory.row(new=memory.place(image(cell(b'{"x":"1"}'))), operation=ord("c"))
    memory.row(new=memory.place(image(cell(None))), operation=ord("c"))
    from headrace.connect.encoding import Encoding

    node = Cell(schema, Image.NEW, 0, Encoding.JSON, 0, json.loads)
    lifted = select(node, "x")
    assert lifted is not None
    assert values(of_all(memory.table(), node), lifted).to_pylist() == ["1", None]
    assert values(of_all(memory.table(), node), lifted).type == pa.large_string()
