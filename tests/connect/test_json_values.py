"""Connect values to and from the payloads of Kafka Connect's JSON form."""

from __future__ import annotations

from decimal import Context, Decimal

from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.json_values import dump_value, load_value
from headrace.connect.schema import DECIMAL, Schema, Type


@given(st.integers(-(10**120), 10**120), st.integers(-20, 80))
def test_a_decimal_keeps_all_its_digits(unscaled: int, scale: int) -> None:
    schema = Schema(Type.BYTES, name=DECIMAL, parameters=(("scale", str(scale)),))
    value = Context(prec=200).create_decimal(unscaled).scaleb(-scale, Context(prec=200))
    read = load_value(schema, dump_value(schema, value))
    assert isinstance(read, Decimal)
    assert read.as_tuple() == value.as_tuple()
