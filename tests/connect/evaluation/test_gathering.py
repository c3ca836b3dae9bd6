"""Cells gathered alone and together."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.encoding import Encoding
from headrace.connect.evaluation.gathering import KIND, gather, has_values
from headrace.connect.records import Cell, Image, Records, Shape
from headrace.connect.rows import RowTable
from headrace.connect.schema import Schema, Type
from tests.converters.node_trees import tables

_TEXT = Schema(Type.STRING, optional=True)


@given(tables(), st.sampled_from(list(Image)), st.integers(0, 9))
def test_a_cell_gathered_alone_is_the_one_gathered_with_others(
    table: RowTable, image: Image, column: int
) -> None:
    place = np.arange(len(table))
    records = Records(Shape("t", None, None), table, place, place)
    cell, other = (
        Cell(_TEXT, image, number, Encoding.STRING, 0, bytes.decode) for number in (column, 0)
    )
    alone, together = gather(records, [cell])[cell], gather(records, [cell, other])[cell]
    assert alone[:, KIND].tolist() == together[:, KIND].tolist()
    has_value = has_values(together)
    assert alone[has_value].tolist() == together[has_value].tolist()
