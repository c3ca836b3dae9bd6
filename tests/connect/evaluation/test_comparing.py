"""Cells that are compared without being read."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.encoding import Encoding
from headrace.connect.evaluation.columns import column_of, with_distinct
from headrace.connect.evaluation.comparing import same_cells
from headrace.connect.evaluation.values import connect_values
from headrace.connect.images import ABSENT, make_image
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import Cell, Image, Records, Shape
from headrace.connect.rows import ROW, TRANSACTION, RowTable
from headrace.connect.schema import Schema, Type

COLUMNS = 3
TEXT = Schema(Type.STRING, optional=True)
texts = st.one_of(st.none(), st.sampled_from(["", "a", "b", "a longer text of bytes"]))
rows_of_texts = st.lists(st.lists(texts, min_size=COLUMNS, max_size=COLUMNS), min_size=1)


def cell(image: Image, column: int) -> Cell:
    return Cell(TEXT, image, column, Encoding.STRING, 0, bytes.decode)


def records_of(before: list[bytes], after: list[bytes]) -> Records:
    """A record for each pair of images."""
    images = [*before, *after]
    memory = np.frombuffer(b"".join(images) + bytes(PADDING), np.uint8)
    lengths = np.array([len(image) for image in images], np.int64)
    places = address_of(memory) + np.cumsum(lengths) - lengths
    table = np.zeros(len(before), ROW)
    table["old"], table["new"] = places[: len(before)], places[len(before) :]
    rows = np.arange(len(before))
    row_table = RowTable(table, np.zeros(1, TRANSACTION), (memory,))
    return Records(Shape("t", None, None), row_table, rows, rows)


@given(rows_of_texts, st.data())
def test_cells_are_the_same_where_their_texts_are(
    before: list[list[str | None]], data: st.DataObject
) -> None:
    after = data.draw(
        st.lists(
            st.lists(texts, min_size=COLUMNS, max_size=COLUMNS),
            min_size=len(before),
            max_size=len(before),
        )
    )
    records = records_of([make_image(row) for row in before], [make_image(row) for row in after])
    pairs = [(cell(Image.OLD, place), cell(Image.NEW, place)) for place in range(COLUMNS)]
    expected = [
        [left == other for left, other in zip(*row, strict=True)]
        for row in zip(before, after, strict=True)
    ]
    assert same_cells(records, pairs).tolist() == expected


def test_what_the_log_does_not_carry_is_as_before() -> None:
    records = records_of([make_image(["a"])] * 2, [make_image([ABSENT]), make_image([None])])
    pairs = [(cell(Image.OLD, 0), cell(Image.NEW, 0))]
    assert same_cells(records, pairs).tolist() == [[True], [False]]


@given(st.lists(st.integers(0, 2), min_size=1))
def test_records_have_the_value_that_they_choose(index: list[int]) -> None:
    column = column_of(Schema(Type.ARRAY, values=TEXT))
    records = records_of([make_image([])] * len(index), [make_image([])] * len(index))
    distinct = [[], ["a"], ["b", None]]
    chosen_records = with_distinct(records, column, distinct, np.array(index))
    assert connect_values(chosen_records, column) == [distinct[each] for each in index]
