"""Defaults of columns, as their schemas show them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from headrace.connectors.db2.types.source_type import Db2Type


@pytest.mark.parametrize(
    ("kind", "expression", "value"),
    [
        (Db2Type("INTEGER"), "42", 42),
        (Db2Type("BIGINT"), "-7", -7),
        (Db2Type("SMALLINT"), "+7", 7),
        (Db2Type("INTEGER"), "1.5", None),
        (Db2Type("DECIMAL", 5, 2), "-.5", Decimal("-0.50")),
        (Db2Type("DECIMAL", 5, 2), "3", Decimal("3.00")),
        (Db2Type("DECFLOAT", 34), "3", None),
        (Db2Type("DOUBLE"), "1.5E2", 150.0),
        (Db2Type("BOOLEAN"), "TRUE", True),
        (Db2Type("VARCHAR", 10), "'it''s'", "it's"),
        (Db2Type("VARCHAR", 10), "''", ""),
        (Db2Type("CHAR", 4), "'ab'", "ab  "),
        (Db2Type("VARCHAR", 10), "USER", None),
        (Db2Type("VARCHAR", 10), "NULL", None),
        (Db2Type("DATE"), "'2017-09-15'", 17424),
        (Db2Type("DATE"), "'15.09.2017'", 17424),
        (Db2Type("DATE"), "'09/15/2017'", 17424),
        (Db2Type("DATE"), "DATE('2017-09-15')", 17424),
        (Db2Type("TIME"), "'04.05.11'", 14711000),
        (Db2Type("TIME"), "'4:05 PM'", 57900000),
        (Db2Type("TIMESTAMP", 26, 6), "'2018-06-20-15.13.16.945104'", 1529507596945104),
        (Db2Type("TIMESTAMP", 26, 6), "'2018-06-20 15:13:16'", 1529507596000000),
        (Db2Type("TIMESTAMP", 26, 6), "'2018-06-20'", 1529452800000000),
        (Db2Type("TIMESTAMP", 26, 6), "CURRENT TIMESTAMP", 0),
        (Db2Type("DATE"), "CURRENT DATE", 0),
        (Db2Type("TIME"), "CURRENT_TIME", 0),
        (Db2Type("VARCHAR FOR BIT DATA", 4), "X'00FF'", None),
        (Db2Type("DATE"), "'2017-02-30'", None),
    ],
)
def test_a_literal_is_the_default_and_now_is_1970(
    kind: Db2Type, expression: str, value: object
) -> None:
    column_type = kind.resolve(optional=False, default=expression)
    assert column_type is not None
    assert column_type.schema.default == value


def test_now_is_no_default_where_null_is_accepted() -> None:
    column_type = Db2Type("TIMESTAMP", 26, 6).resolve(optional=True, default="CURRENT TIMESTAMP")
    assert column_type is not None
    assert column_type.schema.default is None
