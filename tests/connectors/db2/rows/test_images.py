"""Values that the driver gives and that are not of their columns' types."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.db2 import sql
from headrace.connectors.db2.rows.images import images_at
from headrace.connectors.db2.rows.texts import texts_of
from headrace.connectors.db2.types.source_type import Db2Type
from headrace.errors import HeadraceError
from headrace.relational.table import Column

_SECRET = "s3cret-word"


def refusal(kind: str, value: object) -> HeadraceError:
    columns = [Column("ID", Db2Type("INTEGER"), True), Column("V", Db2Type(kind), False)]
    images = images_at("INV.THINGS", columns)
    with pytest.raises(HeadraceError) as caught:
        images.block([(1, None), (2, value)])
    return caught.value


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("BOOLEAN", _SECRET),
        ("INTEGER", b"s3cret-word"),
        ("INTEGER", 1 << 70),
        ("BIGINT", dt.date.fromisoformat("2020-01-02")),
        ("DOUBLE", b"s3cret-word"),
        ("DECFLOAT", _SECRET),
        ("DECIMAL", b"s3cret-word"),
        ("VARCHAR", 12345),
        ("VARCHAR FOR BIT DATA", _SECRET),
        ("DATE", 12345),
        ("TIME", 12345),
        ("TIMESTAMP", 12345),
    ],
)
def test_a_value_that_is_not_of_its_type_is_reported_by_table_and_column(
    kind: str, value: object
) -> None:
    error = refusal(kind, value)
    assert error.code == "db2.value_not_understood"
    assert f"The column V of INV.THINGS has a value that is not of its type, {kind}" in str(error)
    assert "12345" not in str(error)
    assert "s3cret" not in str(error)
    assert error.__cause__ is None
    assert "column.exclude.list" in error.remedy


@given(st.text(st.characters(categories=["L"], min_codepoint=0x100), min_size=4))
def test_no_value_is_ever_shown(value: str) -> None:
    assert value not in str(refusal("DECFLOAT", value))


@pytest.mark.parametrize("kind", ["TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH TIMEZONE"])
def test_timestamps_with_zones_are_read_as_texts_by_both_of_their_names(kind: str) -> None:
    column = Column("V", Db2Type(kind), False)
    assert sql.readable(column) == 'CAST("V" AS VARCHAR(48)) AS "V"'


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("DECFLOAT", "1,5", "1.5"),
        ("DECFLOAT", "-1,25E+3", "-1250"),
        ("DECFLOAT", "1.5", "1.5"),
        ("DECIMAL", "12,34", "12.34"),
        ("DECIMAL", ",5", "0.5"),
    ],
)
def test_a_number_with_the_comma_of_the_clients_locale_is_one(
    kind: str, value: str, expected: str
) -> None:
    assert texts_of(kind, [value]).to_pylist() == [expected]
