"""The driver's values as headrace's texts: whole columns at once say what the literals' plain
functions say one by one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.oracle.rows.images import images_of, key_texts
from headrace.connectors.oracle.rows.texts import texts_of
from headrace.connectors.oracle.types import literals
from headrace.connectors.oracle.types.source_type import OracleType
from headrace.errors import HeadraceError
from headrace.relational.table import Column

DIGITS = st.integers(0, 999_999_999).map("{:09d}".format)
STAMPS = st.builds(
    "{:%Y-%m-%d %H:%M:%S}.{}".format, st.datetimes().map(lambda at: at.replace(year=2000)), DIGITS
)
ZONES = st.sampled_from(["", " +00:00", " -00:00", " +05:30", " -11:00", " +17:59"])


def texts(declared: str, values: list[Any], **more: Any) -> list[str | None]:
    converted: list[str | None] = texts_of(OracleType.of(declared, **more), values).to_pylist()
    return converted


@pytest.mark.parametrize(
    ("declared", "value", "text"),
    [
        ("NUMBER", "-0.5", "-0.5"),
        ("NUMBER", "-.5", "-0.5"),
        ("NUMBER", "123456789012345678901234567890.5", "123456789012345678901234567890.5"),
        ("NUMBER", 7, "7"),
        ("FLOAT", "1E+3", "1000"),
        ("BINARY_FLOAT", 3.14, "3.14"),
        ("BINARY_DOUBLE", float("-inf"), "-Infinity"),
        ("BINARY_DOUBLE", float("nan"), "NaN"),
        ("VARCHAR2", "it's", "it's"),
        ("RAW", b"\x0a\xff", "\\x0aff"),
        ("BOOLEAN", True, "t"),
        ("DATE", "2018-03-27 12:34:56", "2018-03-27 12:34:56"),
        ("TIMESTAMP(9)", "2018-03-27 12:34:56.007891000", "2018-03-27 12:34:56.007891"),
        ("TIMESTAMP(0)", "2018-03-27 12:34:50.000000000", "2018-03-27 12:34:50"),
        (
            "TIMESTAMP(6) WITH TIME ZONE",
            "2018-03-27 01:34:56.007891000 -11:00",
            "2018-03-27T01:34:56.007891-11:00",
        ),
        (
            "TIMESTAMP(6) WITH LOCAL TIME ZONE",
            "2018-03-27 01:34:56.007891000",
            "2018-03-27T01:34:56.007891Z",
        ),
        ("DATE", " 2018-03-27 12:34:56", "2018-03-27 12:34:56"),
        ("DATE", "-4712-01-01 00:00:00", "4712-01-01 00:00:00 BC"),
        ("TIMESTAMP(6)", " 2018-03-27 12:34:56.500000000", "2018-03-27 12:34:56.5"),
        ("TIMESTAMP(6)", "-0044-03-15 12:00:00.500000000", "0044-03-15 12:00:00.5 BC"),
        ("TIMESTAMP(0)", "-0044-03-15 12:00:00.000000000", "0044-03-15 12:00:00 BC"),
        (
            "TIMESTAMP(6) WITH TIME ZONE",
            "-4712-02-29 01:34:56.007891000 -11:00",
            "-4711-02-29T01:34:56.007891-11:00",
        ),
        (
            "TIMESTAMP(3) WITH LOCAL TIME ZONE",
            "-0001-03-27 01:34:56.007000000",
            "0000-03-27T01:34:56.007Z",
        ),
        (
            "TIMESTAMP(3) WITH LOCAL TIME ZONE",
            " 2018-03-27 01:34:56.007000000",
            "2018-03-27T01:34:56.007Z",
        ),
        ("INTERVAL YEAR(2) TO MONTH", "-03-06", "-3 years -6 mons"),
        ("INTERVAL DAY(2) TO SECOND(6)", "-01 02:03:04.560000", "-1 days -02:03:04.56"),
        ("XMLTYPE", "<a/>", "<a/>"),
    ],
)
def test_a_value_has_the_text_that_the_redo_would_give_it(
    declared: str, value: object, text: str
) -> None:
    assert texts(declared, [None, value, None]) == [None, text, None]
    assert texts(declared, [None]) == [None]


@given(st.lists(st.none() | st.builds("{}{}".format, STAMPS, ZONES), max_size=5), st.integers(0, 9))
def test_times_with_zones_are_as_their_plain_function_makes_them(
    values: list[str | None], digits: int
) -> None:
    plain = [None if v is None else literals.zoned_timestamp(v, digits) for v in values]
    assert texts(f"TIMESTAMP({digits}) WITH TIME ZONE", values) == plain


@given(st.lists(st.none() | STAMPS, max_size=5))
def test_times_are_as_their_plain_function_makes_them(values: list[str | None]) -> None:
    plain = [None if value is None else literals.timestamp(value) for value in values]
    assert texts("TIMESTAMP(9)", values) == plain


@given(st.lists(st.none() | st.decimals(allow_nan=False, allow_infinity=False), max_size=5))
def test_numbers_are_as_their_plain_function_makes_them(values: list[Any]) -> None:
    number_texts = [None if value is None else format(value, "f") for value in values]
    assert texts("NUMBER", number_texts) == [
        None if value is None else literals.number(value) for value in number_texts
    ]


def test_a_text_that_is_not_of_its_type_is_refused() -> None:
    for declared in ("NUMBER", "TIMESTAMP(6) WITH TIME ZONE", "INTERVAL YEAR(2) TO MONTH"):
        with pytest.raises(ValueError, match="does not have its column's type"):
            texts(declared, ["no such value e"])


def test_columns_are_found_by_their_names_and_missing_ones_are_null() -> None:
    columns = [
        Column(name, OracleType.of("VARCHAR2", 9), not_null=False) for name in ("A", "B", "C")
    ]
    block = images_of("INV.THINGS", columns, ["C", "A"]).block([("c", "a"), (None, "x")])
    assert len(block.offsets) == 3
    assert images_of("INV.THINGS", columns, ["C", "A"]).texts([("c", "a"), (None, "x")]) == [
        ("a", None, "c"), ("x", None, None),
    ]  # fmt: skip
    assert key_texts([("1", "b")], columns[:2]) == [("1", "b")]


def test_a_value_that_is_not_of_its_type_is_reported_by_table_and_column() -> None:
    columns = [
        Column("ID", OracleType.of("NUMBER", 9), not_null=True),
        Column("V", OracleType.of("TIMESTAMP(6) WITH TIME ZONE"), not_null=False),
    ]
    with pytest.raises(HeadraceError) as caught:
        images_of("INV.THINGS", columns, ["V", "ID"]).block([(None, "1"), ("s3cret", "2")])
    assert caught.value.code == "oracle.value_not_understood"
    assert "The column V of INV.THINGS has a value that is not of its type" in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None
