"""The result of each type of Oracle, in every mode: schema, and the value of an image's text."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest

from headrace.connect.schema import Type
from headrace.connectors.oracle.types.source_type import OracleType
from headrace.relational.types.column_type import ColumnType
from headrace.relational.types.options import TypeOptions

DECIMAL = "org.apache.kafka.connect.data.Decimal"
VARIABLE = "io.debezium.data.VariableScaleDecimal"
MILLIS, MICROS, NANOS = (f"io.debezium.time.{name}Timestamp" for name in ("", "Micro", "Nano"))


def number(precision: int | None, scale: int | None) -> OracleType:
    """A NUMBER as the catalogue describes it."""
    return OracleType.of("NUMBER", 22, precision, scale)


def resolved(declared: OracleType, **modes: str) -> ColumnType:
    """A column of a type that accepts null."""
    column_type = declared.resolve(TypeOptions(**modes))
    assert column_type is not None
    return column_type


@pytest.mark.parametrize(
    ("declared", "schema", "name", "text", "value"),
    [
        (number(2, 0), Type.INT8, None, b"99", 99),
        (number(1, -1), Type.INT8, None, b"90", 90),
        (number(4, 0), Type.INT16, None, b"-9999", -9999),
        (number(2, -2), Type.INT16, None, b"9900", 9900),
        (number(9, 0), Type.INT32, None, b"999999999", 999999999),
        (number(10, 0), Type.INT64, None, b"9999999999", 9999999999),
        (number(18, 0), Type.INT64, None, b"1", 1),
        (number(19, 0), Type.BYTES, DECIMAL, b"1", Decimal(1)),
        (number(36, -2), Type.BYTES, DECIMAL, b"9900", Decimal("99E2")),
        (number(None, 0), Type.BYTES, DECIMAL, b"1", Decimal(1)),
        (number(10, 6), Type.BYTES, DECIMAL, b"4.4444", Decimal("4.444400")),
        (number(None, None), Type.STRUCT, VARIABLE, b"3.33", {"scale": 2, "value": b"\x01M"}),
        (
            OracleType.of("FLOAT", 22, 126),
            Type.STRUCT,
            VARIABLE,
            b"77.323",
            {"scale": 3, "value": b"\x01.\x0b"},
        ),
        (OracleType.of("BINARY_FLOAT", 4), Type.FLOAT32, None, b"0.5", 0.5),
        (OracleType.of("BINARY_DOUBLE", 8), Type.FLOAT64, None, b"-Infinity", -math.inf),
        (OracleType.of("CHAR", 4), Type.STRING, None, b"ab  ", "ab  "),
        (OracleType.of("NVARCHAR2", 4), Type.STRING, None, "äß".encode(), "äß"),
        (OracleType.of("LONG"), Type.STRING, None, b"ab", "ab"),
        (OracleType.of("LONG RAW"), Type.BYTES, None, rb"\x01", b"\x01"),
        (OracleType.of("RAW", 16), Type.BYTES, None, rb"\x01ff", b"\x01\xff"),
        (OracleType.of("ROWID", 10), Type.STRING, None, b"AAASgj", "AAASgj"),
        (OracleType.of("UROWID", 10), Type.STRING, None, b"AAASgj", "AAASgj"),
        (OracleType.of("CLOB", 4000), Type.STRING, None, b"ab", "ab"),
        (OracleType.of("BLOB", 4000), Type.BYTES, None, rb"\x", b""),
        (OracleType.of("XMLTYPE", 2000), Type.STRING, "io.debezium.data.Xml", b"<a/>", "<a/>"),
        (OracleType.of("BOOLEAN", 1), Type.BOOLEAN, None, b"t", True),
        (OracleType.of("MY_OBJECT", 1), Type.STRING, None, b"a", "a"),
    ],
    ids=str,
)
def test_a_type_has_its_schema_and_reads_its_texts(
    declared: OracleType, schema: Type, name: str | None, text: bytes, value: object
) -> None:
    column_type = resolved(declared)
    assert (column_type.schema.type, column_type.schema.name) == (schema, name)
    assert column_type.decode(text) == value


@pytest.mark.parametrize("name", ["BFILE", "VECTOR", "JSON"])
def test_types_that_events_do_not_show_are_left_out(name: str) -> None:
    assert OracleType.of(name).resolve() is None


@pytest.mark.parametrize(
    ("declared", "double", "string"),
    [
        (number(9, 0), Type.FLOAT64, "77"),
        (number(38, 0), Type.FLOAT64, "77"),
        (number(10, 4), Type.FLOAT64, "77.0000"),
        (number(None, None), Type.FLOAT64, "77"),
    ],
    ids=str,
)
def test_numbers_as_doubles_and_texts(declared: OracleType, double: Type, string: str) -> None:
    assert resolved(declared, decimal_handling_mode="double").schema.type is double
    assert resolved(declared, decimal_handling_mode="double").decode(b"77") == 77.0
    assert resolved(declared, decimal_handling_mode="string").decode(b"77") == string


def test_rounded_numbers_stay_integers_in_every_mode() -> None:
    for mode in ("precise", "double", "string"):
        column_type = resolved(number(2, -2), decimal_handling_mode=mode)
        assert (column_type.schema.type, column_type.decode(b"9900")) == (Type.INT16, 9900)


STAMP = b"2018-03-27 12:34:56.007891"


@pytest.mark.parametrize(
    ("name", "mode", "schema", "text", "value"),
    [
        ("DATE", "adaptive", MILLIS, b"2018-03-27 00:00:00", 1522108800000),
        ("DATE", "connect", "org.apache.kafka.connect.data.Timestamp", b"2018-03-27 00:00:00",
         1522108800000),
        ("DATE", "isostring", "io.debezium.time.IsoTimestamp", b"2018-03-27 00:00:00",
         "2018-03-27T00:00:00Z"),
        ("DATE", "microseconds", MICROS, b"2018-03-27 00:00:00", 1522108800000000),
        ("TIMESTAMP(3)", "adaptive", MILLIS, b"2018-03-27 12:34:56.13", 1522154096130),
        ("TIMESTAMP(3)", "isostring", "io.debezium.time.IsoTimestamp", b"2018-03-27 12:34:56.13",
         "2018-03-27T12:34:56.13Z"),
        ("TIMESTAMP(6)", "adaptive", MICROS, STAMP, 1522154096007891),
        ("TIMESTAMP", "adaptive_time_microseconds", MICROS, STAMP, 1522154096007891),
        ("TIMESTAMP(6)", "connect", "org.apache.kafka.connect.data.Timestamp", STAMP,
         1522154096007),
        ("TIMESTAMP(6)", "isostring", "io.debezium.time.IsoTimestamp", STAMP,
         "2018-03-27T12:34:56.007891Z"),
        ("TIMESTAMP(9)", "adaptive", NANOS, STAMP + b"234", 1522154096007891234),
        ("TIMESTAMP(9)", "isostring", "io.debezium.time.IsoTimestamp", STAMP + b"234",
         "2018-03-27T12:34:56.007891234Z"),
        ("TIMESTAMP(6) WITH TIME ZONE", "adaptive", "io.debezium.time.ZonedTimestamp",
         b"2018-03-27T01:34:56.007891-11:00", "2018-03-27T01:34:56.007891-11:00"),
        ("TIMESTAMP(6) WITH LOCAL TIME ZONE", "connect", "io.debezium.time.ZonedTimestamp",
         b"2018-03-27T01:34:56.007891Z", "2018-03-27T01:34:56.007891Z"),
    ],
)  # fmt: skip
def test_times(name: str, mode: str, schema: str, text: bytes, value: object) -> None:
    column_type = resolved(OracleType.of(name), time_precision_mode=mode)
    assert (column_type.schema.name, column_type.decode(text)) == (schema, value)


def test_a_timestamp_beyond_the_nanoseconds_of_64_bits_has_no_value() -> None:
    assert resolved(OracleType.of("TIMESTAMP(9)")).decode(b"2300-01-01 00:00:00") is None


@pytest.mark.parametrize(
    ("name", "text", "micros", "iso"),
    [
        ("INTERVAL YEAR(2) TO MONTH", b"-3 years -6 mons", -110451600000000, "P-3Y-6M0DT0H0M0S"),
        ("INTERVAL YEAR(2) TO MONTH", b"2 years", 63115200000000, "P2Y0M0DT0H0M0S"),
        ("INTERVAL YEAR(2) TO MONTH", b"-1 years", -31557600000000, "P-1Y0M0DT0H0M0S"),
        # Debezium makes 563.444333 seconds of 8.555444333 (docs/guides/differences.md).
        ("INTERVAL DAY(3) TO SECOND(9)", b"111 days 10:09:08.555444", 9626948555444,
         "P0Y0M111DT10H9M8.555444S"),
        ("INTERVAL DAY(2) TO SECOND(2)", b"-1 days -02:03:04.56", -93784560000,
         "P0Y0M-1DT-2H-3M-4.56S"),
    ],
)  # fmt: skip
def test_intervals(name: str, text: bytes, micros: int, iso: str) -> None:
    assert resolved(OracleType.of(name)).decode(text) == micros
    assert resolved(OracleType.of(name), interval_handling_mode="string").decode(text) == iso


@pytest.mark.parametrize(
    ("name", "digits"),
    [
        ("TIMESTAMP(6) WITH TIME ZONE", 6),
        ("TIMESTAMP WITH LOCAL TIME ZONE", 6),
        ("TIMESTAMP(0)", 0),
        ("INTERVAL DAY(9) TO SECOND(3)", 3),
        ("INTERVAL DAY(3) TO SECOND", 6),
        ("INTERVAL YEAR(4) TO MONTH", None),
        ("DATE", None),
    ],
)
def test_fraction_digits_stand_in_the_name(name: str, digits: int | None) -> None:
    assert OracleType.of(name).digits == digits


def test_values_that_the_log_may_hold_apart_have_a_placeholder() -> None:
    for name, length in (("CLOB", 4000), ("XMLTYPE", 2000), ("VARCHAR2", 32767), ("NCLOB", 1)):
        declared = OracleType.of(name, length)
        assert declared.is_apart
        assert resolved(declared).unavailable == "__debezium_unavailable_value"
    assert resolved(OracleType.of("BLOB")).unavailable == b"__debezium_unavailable_value"
    assert not OracleType.of("VARCHAR2", 4000).is_apart
