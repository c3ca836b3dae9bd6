"""Literals as LogMiner writes them, and defaults as the catalogue has them."""

from __future__ import annotations

import struct
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headrace.connectors.oracle.types import literals
from headrace.connectors.oracle.types.source_type import OracleType
from headrace.relational.types import durations


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        ("2018-03-27 00:00:00", "2018-03-27 00:00:00"),
        ("2018-03-27 12:34:56.007890000", "2018-03-27 12:34:56.00789"),
        ("2018-03-27 12:34:56.", "2018-03-27 12:34:56"),
        ("27-MAR-18 12.34.56.007 AM", "2018-03-27 00:34:56.007"),
        ("27-mar-18 12.34.56 PM", "2018-03-27 12:34:56"),
        ("0000-03-27 12:34:56", "0001-03-27 12:34:56 BC"),
        ("2018-02-30 00:00:00", None),
        ("2018-03-27", None),
        ("27-XXX-18 12.34.56 PM", None),
    ],
)
def test_timestamps(literal: str, text: str | None) -> None:
    assert literals.timestamp(literal) == text


@pytest.mark.parametrize(
    ("literal", "digits", "text"),
    [
        ("2018-03-27 01:34:56.00789 -11:00", 6, "2018-03-27T01:34:56.007890-11:00"),
        ("2018-03-27 01:34:56.007891234 +05:30", 9, "2018-03-27T01:34:56.007891234+05:30"),
        ("2018-03-27 01:34:56. +00:00", 0, "2018-03-27T01:34:56Z"),
        ("2018-03-27 01:34:56.5", 3, "2018-03-27T01:34:56.500Z"),
        ("2018-03-27 01:34:56 +19:00", 6, None),
    ],
)
def test_timestamps_with_time_zone(literal: str, digits: int, text: str | None) -> None:
    assert literals.zoned_timestamp(literal, digits) == text


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        (".5", "0.5"),
        ("-.50", "-0.50"),
        ("007", "7"),
        ("-0", "0"),
        ("+1.", "1"),
        ("1.5E+3", "1500"),
        ("1E-2", "0.01"),
        (".", None),
        ("1,5", None),
        ("", None),
    ],
)
def test_numbers(literal: str, text: str | None) -> None:
    assert literals.number(literal) == text


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**40), max_value=10**40))
def test_a_number_keeps_its_value(value: Decimal) -> None:
    text = literals.number(str(value))
    assert text is not None
    assert Decimal(text) == value


@given(st.floats(width=32))
def test_a_binary_float_is_the_same_number(value: float) -> None:
    text = literals.binary_float(f"{value:.8E}", double=False)
    assert text is not None
    assert struct.pack("f", float(text)) == struct.pack("f", value) or value != value


def test_floats_that_are_no_numbers() -> None:
    assert [literals.binary_float(text, double=True) for text in ("Nan", "Inf", "-Inf", "x")] == [
        "NaN",
        "Infinity",
        "-Infinity",
        None,
    ]


@given(st.integers(-(10**8), 10**8), st.integers(0, 86_399_999_999))
@example(0, 163_717_721)
def test_an_interval_of_days_keeps_its_parts(days: int, micros: int) -> None:
    seconds, fraction = divmod(micros, 1_000_000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:06}"
    text = literals.days_to_seconds(f"{days:+04} {clock}")
    assert text is not None
    expected = abs(days) * 86_400_000_000 + micros
    interval_micros = durations.duration_micros(text.encode())
    assert interval_micros is not None
    # Debezium adds the parts up in doubles, and cuts off what is less than a microsecond.
    assert interval_micros == pytest.approx(-expected if days < 0 else expected, rel=1e-12, abs=1)


def test_unistr_joins_the_halves_of_pairs() -> None:
    assert literals.unistr(r"a\00E4\\\D83D\DE00") == "aä\\😀"
    assert literals.joined([literals.unistr(r"a\D83D"), literals.unistr(r"\DE00b")]) == "a😀b"
    assert literals.joined([literals.unistr(r"\D83D"), "x"]) == "\ufffdx"


@pytest.mark.parametrize(
    ("declared", "expression", "value"),
    [
        (OracleType.of("VARCHAR2", 10), "'x'", "x"),
        (OracleType.of("VARCHAR2", 10), "'it''s' ", "it''s"),
        (OracleType.of("CHAR", 4), "'x'", "x   "),
        (OracleType.of("NUMBER", 22, 9, 0), "42 ", 42),
        (OracleType.of("NUMBER", 22, 9, 0), "(42)", 42),
        (OracleType.of("NUMBER", 22, 9, 0), "seq.nextval", None),
        (OracleType.of("NUMBER", 22), "42", None),
        (OracleType.of("NUMBER", 22, 4, 2), "1.5", Decimal("1.50")),
        (OracleType.of("BINARY_DOUBLE"), "2.5", 2.5),
        (OracleType.of("DATE"), "TO_DATE('2018-03-27 00:00:00', 'YYYY-MM-DD HH24:MI:SS')",
         1522108800000),
        (OracleType.of("DATE"), "TO_DATE('2018-03-27', 'YYYY-MM-DD')", None),
        (OracleType.of("DATE"), "SYSDATE", 0),
        (OracleType.of("TIMESTAMP(6) WITH TIME ZONE"), "SYSTIMESTAMP", "1970-01-01T00:00:00Z"),
        (OracleType.of("INTERVAL YEAR(2) TO MONTH"), "'-3-6'", -110451600000000),
        (OracleType.of("INTERVAL DAY(2) TO SECOND(6)"), "'-1 02:03:04.56'", -93784560000),
        (OracleType.of("VARCHAR2", 10), "NULL", None),
        (OracleType.of("CLOB"), "EMPTY_CLOB()", ""),
    ],
)  # fmt: skip
def test_defaults_of_columns_that_are_not_null(
    declared: OracleType, expression: str, value: object
) -> None:
    column_type = declared.resolve(optional=False, default=expression)
    assert column_type is not None
    assert column_type.schema.default == value


def test_sysdate_is_no_default_of_a_column_that_accepts_null() -> None:
    column_type = OracleType.of("DATE").resolve(default="SYSDATE")
    assert column_type is not None
    assert column_type.schema.default is None
