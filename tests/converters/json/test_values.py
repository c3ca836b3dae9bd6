"""JSON texts of Connect values, as JsonConverter and Jackson write them."""

from __future__ import annotations

import json
import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.json_values import quote
from headrace.connect.schema import Field, Schema, Type
from headrace.converters.json.values import JsonOptions, java_double, java_float, render
from headrace.debezium.decimals import decimal_schema
from headrace.errors import HeadraceError


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (0.001, "0.001"),
        (0.00099, "9.9E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (123456789.0, "1.23456789E8"),
        (-1.5e-10, "-1.5E-10"),
        (5e-324, "4.9E-324"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
    ],
)
def test_doubles_are_written_as_java_does(value: float, text: str) -> None:
    assert java_double(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.1, "0.1"), (16777216.0, "1.6777216E7"), (1e-45, "1.4E-45"), (3.4e38, "3.4E38")],
)
def test_floats_are_written_as_java_does(value: float, text: str) -> None:
    assert java_float(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_is_read_back(value: float) -> None:
    assert float(java_double(value)) == value


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_float_is_read_back(value: float) -> None:
    assert np.float32(java_float(value)) == np.float32(value)


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_a_string_is_valid_json(text: str) -> None:
    assert json.loads(quote(text)) == text


def test_strings_are_escaped_as_jackson_does() -> None:
    assert quote('\b\t\n\f\r"\\/\x1f\x7fé') == '"\\b\\t\\n\\f\\r\\"\\\\/\\u001F\x7fé"'


def test_null_becomes_the_default_unless_configured_otherwise() -> None:
    schema = Schema(Type.INT32, optional=True, default=7)
    assert render(schema, None) == "7"
    assert render(schema, None, JsonOptions(replace_null_with_default=False)) == "null"


def test_null_in_a_required_field_is_an_error() -> None:
    with pytest.raises(HeadraceError) as raised:
        render(Schema(Type.INT32), None)
    assert raised.value.code == "converters.null_not_allowed"


def test_a_value_of_another_type_is_an_error_without_the_value() -> None:
    with pytest.raises(HeadraceError, match="a str cannot be written as int32") as raised:
        render(Schema(Type.INT32), "secret")
    assert "secret" not in str(raised.value)


def test_structs_maps_and_arrays_are_nested() -> None:
    optional = Schema(Type.STRING, optional=True)
    schema = Schema(
        Type.STRUCT,
        fields=(
            Field("list", Schema(Type.ARRAY, values=optional)),
            Field("words", Schema(Type.MAP, keys=Schema(Type.STRING), values=optional)),
            Field("pairs", Schema(Type.MAP, keys=Schema(Type.INT16), values=optional)),
            Field("absent", optional),
        ),
    )
    value = {"list": ["a", None], "words": {"k": None}, "pairs": {1: "x"}}
    assert render(schema, value) == (
        '{"list":["a",null],"words":{"k":null},"pairs":[[1,"x"]],"absent":null}'
    )


@pytest.mark.parametrize(
    ("value", "scale", "base64", "number"),
    [
        ("12.34", 2, '"BNI="', "12.34"),
        ("-0.01", 2, '"/w=="', "-0.01"),
        ("0", 10, '"AA=="', "0E-10"),
        ("1.5", 3, '"Bdw="', "1.500"),
    ],
)
def test_decimals_have_two_formats(value: str, scale: int, base64: str, number: str) -> None:
    schema = decimal_schema(scale, None)
    assert render(schema, Decimal(value)) == base64
    assert render(schema, Decimal(value), JsonOptions(decimal_numeric=True)) == number
