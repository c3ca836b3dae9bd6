"""Decimals that no decimal of Spark holds are texts of their digits."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from headrace.connect.evaluation.arrow import arrow_array
from headrace.connect.schema import DECIMAL, Schema, Type
from headrace.converters.typed.types import typed, typed_array


def decimals(scale: int, precision: int) -> Schema:
    parameters = (("scale", str(scale)), ("connect.decimal.precision", str(precision)))
    return Schema(Type.BYTES, optional=True, name=DECIMAL, version=1, parameters=parameters)


@given(
    st.one_of(st.integers(-20, -1), st.integers(39, 60)),
    st.lists(st.one_of(st.none(), st.integers(-(10**38), 10**38)), max_size=5),
)
@example(-2, [123, None, 0, -5])
@example(40, [1000, -1])
def test_texts_have_no_exponent(scale: int, unscaled: list[int | None]) -> None:
    schema = decimals(scale, max(scale, 5))
    numbers = [None if number is None else Decimal(number).scaleb(-scale) for number in unscaled]
    assert typed(schema) == pa.large_string()
    texts = typed_array(schema, arrow_array(schema, numbers)).to_pylist()
    assert [None if text is None else Decimal(text) for text in texts] == numbers
    assert all(text is None or set(text) <= set("-.0123456789") for text in texts)
