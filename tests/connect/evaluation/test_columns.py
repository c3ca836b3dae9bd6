"""Values that became columns, read back."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.connect.evaluation.arrow import arrow_array
from headrace.connect.evaluation.columns import column_of, with_values
from headrace.connect.evaluation.values import connect_values, values
from headrace.connect.records import Records, Shape
from headrace.connect.rows import ROW, TRANSACTION, RowTable
from headrace.connect.schema import DECIMAL, Field, Schema, Type
from headrace.errors import HeadraceError


def integers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
POINT = Schema(
    Type.STRUCT,
    optional=True,
    fields=(Field("x", Schema(Type.FLOAT64)), Field("y", Schema(Type.BYTES, optional=True))),
)
FINITE = st.floats(allow_nan=False)
VALUES: list[tuple[Schema, st.SearchStrategy[object]]] = [
    (Schema(Type.INT8), integers(8)),
    (Schema(Type.INT16), integers(16)),
    (Schema(Type.INT32), integers(32)),
    (Schema(Type.INT64), integers(64)),
    (Schema(Type.FLOAT32), st.floats(width=32, allow_nan=False)),
    (Schema(Type.FLOAT64), FINITE),
    (Schema(Type.BOOLEAN), st.booleans()),
    (Schema(Type.STRING), TEXTS),
    (Schema(Type.BYTES), st.binary(max_size=20)),
    (
        Schema(Type.BYTES, name=DECIMAL, version=1, parameters=(("scale", "2"),)),
        st.decimals(-(10**30), 10**30, places=2),
    ),
    (Schema(Type.ARRAY, values=Schema(Type.INT32, optional=True)), st.lists(integers(32))),
    (
        Schema(Type.MAP, keys=Schema(Type.INT32), values=Schema(Type.STRING)),
        st.dictionaries(integers(32), TEXTS),
    ),
    (POINT, st.fixed_dictionaries({"x": FINITE, "y": st.none() | st.binary()})),
]


def some_records(count: int, chosen: np.ndarray) -> Records:
    table = RowTable(np.zeros(count, ROW), np.zeros(1, TRANSACTION))
    return Records(Shape("t", None, None), table, chosen, chosen)


@pytest.mark.parametrize(("schema", "drawn"), VALUES, ids=lambda v: getattr(v, "type", ""))
@pytest.mark.parametrize("as_arrow", [False, True])
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_the_values_of_a_column_are_those_it_was_made_of(
    schema: Schema, drawn: st.SearchStrategy[object], as_arrow: bool, data: st.DataObject
) -> None:
    drawn_values = data.draw(st.lists(st.none() | drawn, max_size=8))
    chosen = np.array(sorted(data.draw(st.permutations(range(12)))[: len(drawn_values)]), np.int64)
    column = column_of(schema)
    given_values = arrow_array(schema, drawn_values) if as_arrow else drawn_values
    if as_arrow and drawn_values and data.draw(st.booleans()):
        given_values = pa.concat_arrays([given_values, given_values]).slice(len(drawn_values))
    records = with_values(some_records(12, chosen), column, given_values)
    assert connect_values(records, column) == drawn_values
    assert values(records, column).equals(arrow_array(schema, drawn_values))
    every_other = records.with_rows(np.arange(len(drawn_values)) % 2 == 0)
    assert connect_values(every_other, column) == drawn_values[::2]


def test_a_decimal_keeps_its_digits() -> None:
    schema = Schema(Type.BYTES, name=DECIMAL, version=1, parameters=(("scale", "3"),))
    column = column_of(schema)
    number = Decimal("-12345678901234567890123456789012345678901234567890.125")
    records = with_values(some_records(1, np.arange(1)), column, [number])
    assert connect_values(records, column) == [number]


def test_not_a_number_stays_none() -> None:
    column = column_of(Schema(Type.FLOAT64))
    records = with_values(some_records(1, np.arange(1)), column, pa.array([math.nan]))
    (value,) = connect_values(records, column)
    assert isinstance(value, float)
    assert math.isnan(value)


@pytest.mark.parametrize(
    ("schema", "wrong"),
    [
        (Schema(Type.INT8), pa.array([300])),
        (Schema(Type.INT8), [300]),
        (Schema(Type.INT64), pa.array(["a"])),
        (Schema(Type.BOOLEAN), pa.array(["maybe"])),
    ],
)
def test_values_of_another_type_are_an_error(schema: Schema, wrong: object) -> None:
    with pytest.raises(HeadraceError) as raised:
        with_values(some_records(1, np.arange(1)), column_of(schema), wrong)  # type: ignore[arg-type]
    assert raised.value.code == "connect.values_of_another_type"
