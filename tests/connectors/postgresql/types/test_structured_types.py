"""time.precision.mode=structured."""

# ruff: noqa: DTZ001 - timestamps without zone are the subject

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.postgresql.types.options import PostgresTypeOptions as TypeOptions
from headrace.connectors.postgresql.types.type_facts import TypeFacts
from headrace.converters.json.values import render_cell
from headrace.errors import HeadraceError
from headrace.relational.types.column_type import ColumnType
from tests.connectors.postgresql.facts import resolve

STRUCTURED = TypeOptions(time_precision_mode="structured")
NAMES = ("date", "time", "timetz", "timestamp", "timestamptz", "interval")


def made(name: str, typmod: int = -1, *, optional: bool = True) -> ColumnType:
    column_type = resolve(TypeFacts(1, name), typmod, options=STRUCTURED, optional=optional)
    assert column_type is not None
    return column_type


def shown(name: str, text: str, typmod: int = -1) -> dict[str, object]:
    value = json.loads(render_cell(made(name, typmod), text.encode()))
    return {key: part for key, part in value.items() if part is not None}


@pytest.mark.parametrize(
    ("name", "text", "typmod", "expected"),
    [
        ("date", "2017-09-15", -1, "2017 9 15"),
        ("date", "0044-03-15 BC", -1, "-43 3 15"),
        ("date", "infinity", -1, "POSITIVE_INFINITY"),
        ("time", "24:00:00", -1, "24 0 0 0 6"),
        ("time", "04:05:11.789", 3, "4 5 11 789000000 3"),
        ("timetz", "04:05:11.5+02:30", -1, "4 5 11 500000000 9000 6"),
        ("timetz", "24:00:00-08", 0, "24 0 0 0 -28800 0"),
        ("timestamp", "2019-07-09 02:28:57.123456", -1, "2019 7 9 2 28 57 123456000 6"),
        ("timestamp", "-infinity", 3, "NEGATIVE_INFINITY 3"),
        ("timestamptz", "2019-07-09 02:28:57.1+02", 1, "2019 7 9 0 28 57 100000000 0 1"),
        ("timestamptz", "infinity", -1, "POSITIVE_INFINITY 6"),
        ("interval", "1 year 2 mons -3 days -04:05:06.78", -1, "1 2 -3 -4 -5 -6 -780000000 6"),
    ],
)
def test_the_parts_are_shown(name: str, text: str, typmod: int, expected: str) -> None:
    assert " ".join(map(str, shown(name, text, typmod).values())) == expected


def test_every_field_is_optional_and_the_schemas_have_debeziums_names() -> None:
    for name in NAMES:
        schema = made(name).schema
        assert str(schema.name).startswith("io.debezium.time.Structured")
        assert schema.version == 1
        assert all(field.schema.optional for field in schema.fields)


def test_a_required_column_has_the_epoch_as_its_zero() -> None:
    assert made("date").fallback is None
    zero = made("timestamptz", optional=False).fallback
    assert isinstance(zero, dict)
    assert (zero["year"], zero["month"], zero["day"], zero["offsetSeconds"]) == (1970, 1, 1, 0)


@given(st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31)))
def test_the_parts_of_any_timestamp_are_those_of_its_text(moment: datetime) -> None:
    timestamp_parts = shown("timestamp", moment.isoformat(" "))
    parts = (timestamp_parts[part] for part in ("year", "month", "day", "hour", "minute", "second"))
    assert datetime(*map(int, parts), int(str(timestamp_parts["nanos"])) // 1000) == moment  # type: ignore[arg-type,call-overload,misc]


@given(st.datetimes(min_value=datetime(2, 1, 1)), st.integers(-15 * 60, 15 * 60))
def test_a_zoned_timestamp_is_in_utc(moment: datetime, minutes: int) -> None:
    if moment.year == 9999:
        moment = moment.replace(year=9998)
    zoned = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    timestamp_parts = shown("timestamptz", zoned.isoformat(" "))
    utc = zoned.astimezone(UTC)
    assert (timestamp_parts["day"], timestamp_parts["hour"], timestamp_parts["minute"]) == (
        utc.day,
        utc.hour,
        utc.minute,
    )
    assert timestamp_parts["offsetSeconds"] == 0


@given(
    st.sampled_from(NAMES),
    st.binary(max_size=40) | st.text("0123456789-+:. BCinfty").map(str.encode),
)
def test_any_bytes_give_a_value_or_a_headrace_error(name: str, text: bytes) -> None:
    with contextlib.suppress(HeadraceError):
        render_cell(made(name), text)
