"""Values that the log carries, without the placeholders of converters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings

from headrace.connect.evaluation.values import connect_values
from headrace.connect.images import UNAVAILABLE
from headrace.connect.records import Cell, Column, Image, Records, Shape
from headrace.converters.typed.evaluation import CarriedValues, typed_values
from tests.converters.node_trees import Sources, cells, sources, struct

_MARK = object()


def records_of(given_: Sources) -> Records:
    rows = np.arange(len(given_.table))[::-1].copy()
    return Records(Shape("t", None, None), given_.table, rows, rows, given_.columns)


def lacks(records: Records, node: Cell | Column) -> list[bool]:
    """Whether a cell of the node is unavailable, for each record."""
    if isinstance(node, Column):
        kinds = records.columns[node.identity].table[records.rows, 0]
        return [kind == UNAVAILABLE for kind in kinds.tolist()]
    marked = replace(node, null=None, unavailable=_MARK)
    return [value is _MARK for value in connect_values(records, marked)]


@settings(max_examples=200)
@given(sources(), cells())
def test_values_that_are_not_carried_are_null_and_known(
    given_: Sources, node: Cell | Column
) -> None:
    records = records_of(given_)
    carried = CarriedValues(records, [node])
    plain = replace(node, null=None)
    if isinstance(plain, Cell):
        plain = replace(plain, unavailable=None)
    array = carried.array(node)
    assert array.type == typed_values(records, plain).type
    assert array.to_pylist() == typed_values(records, plain).to_pylist()
    assert carried.unavailable(node).tolist() == lacks(records, node)


@settings(max_examples=100)
@given(sources(), cells(), cells())
def test_a_struct_lacks_what_its_members_lack_where_it_is_there(
    given_: Sources, one: Cell | Column, other: Cell | Column
) -> None:
    records = records_of(given_)
    node = struct(Image.NEW, [one, other])
    is_there = (records.table.rows["new"][records.rows] != 0).tolist()
    either = zip(lacks(records, one), lacks(records, other), is_there, strict=True)
    unavailable = CarriedValues(records, [node]).unavailable(node).tolist()
    assert unavailable == [is_present and (a or b) for a, b, is_present in either]
