"""The result of each type of Db2, in every mode: schema, and the value of a text."""

from __future__ import annotations

from decimal import Decimal

import pytest

from headrace.connect.schema import Type
from headrace.connectors.db2.types.source_type import Db2Type
from headrace.relational.types.column_type import ColumnType
from headrace.relational.types.options import TypeOptions

DECIMAL = "org.apache.kafka.connect.data.Decimal"


def resolved(kind: Db2Type, **modes: str) -> ColumnType:
    """A column of a type that accepts null."""
    column_type = kind.resolve(TypeOptions(**modes))
    assert column_type is not None
    return column_type


@pytest.mark.parametrize(
    ("kind", "schema", "text", "value"),
    [
        (Db2Type("BOOLEAN"), Type.BOOLEAN, b"t", True),
        (Db2Type("SMALLINT"), Type.INT16, b"-32768", -32768),
        (Db2Type("INTEGER"), Type.INT32, b"2147483647", 2147483647),
        (Db2Type("BIGINT"), Type.INT64, b"-9223372036854775808", -(2**63)),
        (Db2Type("REAL"), Type.FLOAT32, b"0.5", 0.5),
        (Db2Type("DOUBLE"), Type.FLOAT64, b"1e+20", 1e20),
        (Db2Type("FLOAT"), Type.FLOAT64, b"-1.5e-7", -1.5e-7),
        (Db2Type("CHAR", 4), Type.STRING, b"ab  ", "ab  "),
        (Db2Type("VARCHAR", 10), Type.STRING, "äß".encode(), "äß"),
        (Db2Type("GRAPHIC", 4), Type.STRING, b"ab", "ab"),
        (Db2Type("VARGRAPHIC", 4), Type.STRING, b"ab", "ab"),
        (Db2Type("LONG VARCHAR"), Type.STRING, b"ab", "ab"),
        (Db2Type("CLOB"), Type.STRING, b"ab", "ab"),
        (Db2Type("DBCLOB"), Type.STRING, b"ab", "ab"),
        (Db2Type("CHAR FOR BIT DATA", 2), Type.BYTES, rb"\x00ff", b"\x00\xff"),
        (Db2Type("VARCHAR FOR BIT DATA", 2), Type.BYTES, rb"\x", b""),
        (Db2Type("VARBINARY", 2), Type.BYTES, rb"\x01", b"\x01"),
        (Db2Type("BLOB"), Type.BYTES, rb"\x01", b"\x01"),
        (Db2Type("ROWID"), Type.BYTES, rb"\x01", b"\x01"),
    ],
)
def test_a_type_has_one_schema_in_all_modes(
    kind: Db2Type, schema: Type, text: bytes, value: object
) -> None:
    column_type = resolved(kind)
    assert (column_type.schema.type, column_type.schema.name) == (schema, None)
    assert column_type.decode(text) == value


def test_xml_is_a_text_of_its_own_name() -> None:
    column_type = resolved(Db2Type("XML"))
    assert (column_type.schema.type, column_type.schema.name) == (
        Type.STRING,
        "io.debezium.data.Xml",
    )


@pytest.mark.parametrize(
    ("mode", "name", "schema", "value"),
    [
        ("precise", DECIMAL, Type.BYTES, Decimal("12.50")),
        ("double", None, Type.FLOAT64, 12.5),
        ("string", None, Type.STRING, "12.50"),
    ],
)
def test_decimals(mode: str, name: str | None, schema: Type, value: object) -> None:
    column_type = resolved(Db2Type("DECIMAL", 10, 2), decimal_handling_mode=mode)
    assert (column_type.schema.name, column_type.schema.type) == (name, schema)
    assert column_type.decode(b"12.50") == value
    if name:
        assert dict(column_type.schema.parameters) == {
            "scale": "2",
            "connect.decimal.precision": "10",
        }


@pytest.mark.parametrize(
    ("mode", "text", "value"),
    [
        ("precise", b"1", {"scale": 0, "value": b"\x01"}),
        ("precise", b"3.330", {"scale": 2, "value": b"\x01\x4d"}),
        ("precise", b"77.323", {"scale": 3, "value": b"\x01\x2e\x0b"}),
        ("precise", b"1000", {"scale": 0, "value": b"\x03\xe8"}),
        ("double", b"3.33", 3.33),
        ("string", b"3.33", "3.33"),
    ],
)
def test_decimal_floats_have_the_scale_of_each_value(mode: str, text: bytes, value: object) -> None:
    column_type = resolved(Db2Type("DECFLOAT", 34), decimal_handling_mode=mode)
    if mode == "precise":
        assert column_type.schema.name == "io.debezium.data.VariableScaleDecimal"
    assert column_type.decode(text) == value


DATES = {
    "adaptive": ("io.debezium.time.Date", 17424),
    "adaptive_time_microseconds": ("io.debezium.time.Date", 17424),
    "microseconds": ("io.debezium.time.Date", 17424),
    "nanoseconds": ("io.debezium.time.Date", 17424),
    "connect": ("org.apache.kafka.connect.data.Date", 17424),
    "isostring": ("io.debezium.time.IsoDate", "2017-09-15Z"),
}
TIMES = {
    "adaptive": ("io.debezium.time.Time", 14711000),
    "adaptive_time_microseconds": ("io.debezium.time.MicroTime", 14711000000),
    "microseconds": ("io.debezium.time.MicroTime", 14711000000),
    "nanoseconds": ("io.debezium.time.NanoTime", 14711000000000),
    "connect": ("org.apache.kafka.connect.data.Time", 14711000),
    "isostring": ("io.debezium.time.IsoTime", "04:05:11Z"),
}


@pytest.mark.parametrize("mode", DATES)
def test_dates(mode: str) -> None:
    column_type = resolved(Db2Type("DATE", 10), time_precision_mode=mode)
    assert (column_type.schema.name, column_type.decode(b"2017-09-15")) == DATES[mode]


@pytest.mark.parametrize("mode", TIMES)
def test_times_have_whole_seconds(mode: str) -> None:
    column_type = resolved(Db2Type("TIME", 8, 0), time_precision_mode=mode)
    assert (column_type.schema.name, column_type.decode(b"04:05:11")) == TIMES[mode]


@pytest.mark.parametrize(
    ("digits", "mode", "name", "value"),
    [
        (0, "adaptive", "Timestamp", 1529507596000),
        (3, "adaptive", "Timestamp", 1529507596945),
        (6, "adaptive", "MicroTimestamp", 1529507596945104),
        (None, "adaptive", "MicroTimestamp", 1529507596945104),
        (6, "adaptive_time_microseconds", "MicroTimestamp", 1529507596945104),
        (9, "adaptive", "NanoTimestamp", 1529507596945104123),
        (12, "adaptive", "NanoTimestamp", 1529507596945104123),
        (3, "microseconds", "MicroTimestamp", 1529507596945000),
        (9, "microseconds", "MicroTimestamp", 1529507596945104),
        (6, "nanoseconds", "NanoTimestamp", 1529507596945104000),
        (9, "nanoseconds", "NanoTimestamp", 1529507596945104123),
        (6, "isostring", "IsoTimestamp", "2018-06-20T15:13:16.945104Z"),
        (9, "isostring", "IsoTimestamp", "2018-06-20T15:13:16.945104123Z"),
    ],
)
def test_timestamps(digits: int | None, mode: str, name: str, value: object) -> None:
    column_type = resolved(Db2Type("TIMESTAMP", 26, digits), time_precision_mode=mode)
    text = b"2018-06-20 15:13:16"
    shown_digits = min(6 if digits is None else digits, 9)
    text += b".945104123"[: shown_digits + 1] if shown_digits else b""
    assert (column_type.schema.name, column_type.decode(text)) == (
        f"io.debezium.time.{name}",
        value,
    )


def test_connect_timestamps_are_milliseconds() -> None:
    column_type = resolved(Db2Type("TIMESTAMP", 26, 9), time_precision_mode="connect")
    assert column_type.schema.name == "org.apache.kafka.connect.data.Timestamp"
    assert column_type.decode(b"2018-06-20 15:13:16.945104123") == 1529507596945


@pytest.mark.parametrize(
    ("kind", "name", "text", "value"),
    [
        (
            Db2Type("DATE"),
            "io.debezium.time.StructuredDate",
            b"2017-09-15",
            {"year": 2017, "month": 9, "day": 15, "specialValue": None},
        ),
        (
            Db2Type("TIME"),
            "io.debezium.time.StructuredTime",
            b"04:05:11",
            {"hour": 4, "minute": 5, "second": 11, "nanos": 0, "precision": 0},
        ),
    ],
)
def test_structured_dates_and_times_have_their_parts(
    kind: Db2Type, name: str, text: bytes, value: object
) -> None:
    column_type = resolved(kind, time_precision_mode="structured")
    assert (column_type.schema.name, column_type.schema.type) == (name, Type.STRUCT)
    assert column_type.decode(text) == value


def test_structured_timestamps_keep_nanoseconds() -> None:
    column_type = resolved(Db2Type("TIMESTAMP", 26, 9), time_precision_mode="structured")
    value = column_type.decode(b"2018-06-20 15:13:16.945104123")
    assert isinstance(value, dict)
    assert value["nanos"] == 945104123


def test_timestamps_with_zone_are_texts_in_utc() -> None:
    column_type = resolved(Db2Type("TIMESTAMP WITH TIME ZONE"))
    assert column_type.schema.name == "io.debezium.time.ZonedTimestamp"
    assert column_type.decode(b"2018-06-20 15:13:16.5+02:00") == "2018-06-20T13:13:16.5Z"


def test_a_type_that_is_not_known_is_left_out() -> None:
    assert Db2Type("SYSPROC.SOMETHING").resolve() is None


@pytest.mark.parametrize(
    ("described", "kind"),
    [
        (("VARCHAR () FOR BIT DATA", 16, None), Db2Type("VARCHAR FOR BIT DATA", 16)),
        (("CHAR() FOR BIT DATA", 4, None), Db2Type("CHAR FOR BIT DATA", 4)),
        (("decimal", 31, 5), Db2Type("DECIMAL", 31, 5)),
        (("TIMESTAMP", 26, 6), Db2Type("TIMESTAMP", 26, 6)),
        (("INTEGER", None, None), Db2Type("INTEGER")),
    ],
)
def test_the_drivers_names_of_types(described: tuple[str, int, int], kind: Db2Type) -> None:
    assert Db2Type.of(*described) == kind


def test_masks_apply_to_texts_only() -> None:
    assert Db2Type("VARCHAR", 5).is_character
    assert not Db2Type("VARCHAR FOR BIT DATA", 5).is_character


def test_events_name_bit_data_as_the_driver_does() -> None:
    assert Db2Type("CHAR FOR BIT DATA", 5).name == "CHAR () FOR BIT DATA"
    assert Db2Type("CHAR", 5).name == "CHAR"
