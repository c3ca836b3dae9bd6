"""Documents as columns of declared types: exact, or a conflict; the compiled passes against plain
Python."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import bson
import pytest
from bson import Decimal128, Int64, ObjectId
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.schema import Schema
from headrace.documents.bson import DOCUMENT, Kind
from headrace.documents.target_schema.ddl import declared
from headrace.documents.target_schema.policies import (
    ConflictPolicy,
    Conflicts,
    UnknownFields,
    rest_document,
)
from headrace.documents.values import elements_of
from headrace.errors import HeadraceError
from tests.documents.plain_bson import encode
from tests.documents.target_schema.columns import rows
from tests.documents.target_schema.plain_conversion import PlainConversion
from tests.documents.values import documents, scalars

NUMBERS = st.one_of(
    st.integers(-300, 300),
    st.integers(-(2**31), 2**31 - 1),
    st.integers(-(2**63), 2**63 - 1).map(Int64),
    st.floats(),
    st.floats(width=32),
    st.integers(-(2**40), 2**40).map(float),
    st.integers(-(10**6), 10**6).map(lambda n: n / 100),
    st.builds(
        lambda digits, exponent: Decimal128(f"{digits}E{exponent}"),
        st.integers(-(10**12), 10**12),
        st.integers(-8, 8),
    ),
    st.builds(
        lambda digits, exponent: Decimal128(f"{digits}E{exponent}"),
        st.integers(-(10**34) + 1, 10**34 - 1),
        st.integers(-40, 6000),
    ),
    st.sampled_from([Decimal128("NaN"), Decimal128("-Infinity"), Decimal128("-0.00"), -0.0]),
)
MOMENTS = st.one_of(
    st.integers(-200_000, 200_000).map(lambda day: bson.DatetimeMS(day * 86_400_000)),
    st.integers(0, 40_000).map(lambda day: bson.Timestamp(day * 86_400, 0)),
    st.builds(bson.Timestamp, st.integers(0, 2**32 - 1), st.integers(0, 1)),
)
SCALARS = st.one_of(NUMBERS, MOMENTS, scalars)
SCALAR_TYPES = st.sampled_from(
    ["BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "VARIANT",
     "BINARY", "TIMESTAMP", "TIMESTAMP_NTZ", "DATE", "DECIMAL(1,0)", "DECIMAL(10,2)",
     "DECIMAL(18,0)", "DECIMAL(38,0)", "DECIMAL(38,10)", "DECIMAL(38,38)", "DECIMAL(5,5)"]
)  # fmt: skip
NAMES = st.sampled_from(["a", "b", "Łódź", "two words", "long name of a field", "x.y"])
TYPES = st.recursive(
    SCALAR_TYPES,
    lambda inner: st.one_of(
        inner.map(lambda kind: f"ARRAY<{kind}>"),
        inner.map(lambda kind: f"MAP<STRING, {kind}>"),
        st.dictionaries(NAMES, inner, min_size=1, max_size=3).map(
            lambda fields: f"STRUCT<{listed(fields)}>"
        ),
    ),
    max_leaves=6,
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=8,
)


def listed(fields: dict[str, str]) -> str:
    return ", ".join(f"`{name}` {kind}" for name, kind in fields.items())


def same(first: Any, second: Any) -> bool:
    """Equal, where NaN is NaN."""
    if isinstance(first, dict) and isinstance(second, dict):
        return list(first) == list(second) and all(
            same(first[name], second[name]) for name in first
        )
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, float) and isinstance(second, float) and math.isnan(first):
        return math.isnan(second)
    return type(first) is type(second) and bool(first == second)


def compare(raws: list[bytes], schema: Schema) -> None:
    plain = PlainConversion()
    expected = [plain.value(DOCUMENT, raw, schema) for raw in raws]
    conflicts = Conflicts(ConflictPolicy.REST)
    converted_rows = rows(raws, schema, conflicts)
    assert same(converted_rows, expected), (converted_rows, expected)
    paths = sorted(each.path for each in conflicts.remainders)
    assert paths == sorted([*plain.conflicts, *plain.unknown])
    assert same(rows(raws, schema, Conflicts(ConflictPolicy.NULL)), expected)


@given(st.lists(SCALARS, min_size=1, max_size=12), SCALAR_TYPES)
def test_columns_of_scalars_are_what_plain_python_makes_of_them(
    values: list[object], kind: str
) -> None:
    compare([encode({"f": value}) for value in values], declared(f"f {kind}"))


@given(
    st.lists(st.dictionaries(NAMES, VALUES, max_size=6), min_size=1, max_size=5),
    st.dictionaries(NAMES, TYPES, min_size=1, max_size=5),
)
def test_columns_with_parts_are_what_plain_python_makes_of_them(
    raw_documents: list[dict[str, object]], fields: dict[str, str]
) -> None:
    compare([encode(document) for document in raw_documents], declared(listed(fields)))


@given(st.lists(documents, min_size=1, max_size=4), st.dictionaries(NAMES, TYPES, min_size=1))
def test_any_documents_are_what_plain_python_makes_of_them(
    raw_documents: list[dict[str, object]], fields: dict[str, str]
) -> None:
    compare([encode(document) for document in raw_documents], declared(listed(fields)))


def convert(document: dict[str, object], schema: str, conflicts: Conflicts | None = None) -> Any:
    (row,) = rows([encode(document)], declared(schema), conflicts)
    return row


@pytest.mark.parametrize(
    ("value", "kind", "made"),
    [
        (Int64(5), "INT", 5),
        (5.0, "INT", 5),
        (5, "DOUBLE", 5.0),
        (1.5, "DECIMAL(4,2)", Decimal("1.50")),
        (Decimal128("15E1"), "DECIMAL(4,1)", Decimal("150.0")),
        (Decimal128("-0.10"), "DECIMAL(2,1)", Decimal("-0.1")),
        (ObjectId("596e275826f08b2730779e1f"), "STRING", "596e275826f08b2730779e1f"),
        (bson.DatetimeMS(1714521600250), "STRING", "2024-05-01T00:00:00.25Z"),
        (bson.DatetimeMS(1714521600250), "TIMESTAMP", 1714521600250),
        (bson.DatetimeMS(86_400_000), "DATE", 1),
        (b"abc", "STRING", "YWJj"),
        (b"abc", "BINARY", b"abc"),
        (True, "STRING", "true"),
        ({"x": Int64(1)}, "STRING", '{"x": 1}'),
        ("x", "VARIANT", '"x"'),
        ([1, None], "ARRAY<BIGINT>", [1, None]),
        ({"x": 1, "y": 2}, "MAP<STRING, INT>", {"x": 1, "y": 2}),
        ({"x": 1, "y": 2}, "STRUCT<y: INT, z: INT>", {"y": 2, "z": None}),
        (None, "INT", None),
    ],
)
def test_a_value_is_brought_to_its_type(value: object, kind: str, made: object) -> None:
    assert convert({"f": value}, f"f {kind}") == {"f": made}


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (2**31, "INT"), (1.5, "BIGINT"), (Int64(2**53 + 1), "DOUBLE"), ("5", "INT"), (1, "BOOLEAN"),
        (Decimal128("1.25"), "DECIMAL(4,1)"), (Decimal128("1E+30"), "DECIMAL(10,0)"),
        (Decimal128("Infinity"), "DECIMAL(10,0)"), (Decimal128("1E-6000"), "DECIMAL(10,2)"),
        (bson.DatetimeMS(5), "DATE"), (5, "TIMESTAMP"), ("x", "BINARY"), ([1], "INT"),
        ({"x": 1}, "ARRAY<INT>"), (5, "STRUCT<x: INT>"), (math.nan, "INT"), (math.inf, "BIGINT"),
        ([1], "MAP<STRING, INT>"),
    ],
)  # fmt: skip
def test_a_conflict_is_an_error_or_null_as_the_policy_says(value: object, kind: str) -> None:
    document = {"before": 1, "f": Int64(value) if value == 2**31 else value}
    with pytest.raises(HeadraceError, match="the field f holds") as caught:
        convert(document, f"before INT, f {kind}")
    assert caught.value.code == "documents.value_not_of_schema"
    null = Conflicts(ConflictPolicy.NULL)
    assert convert(document, f"before INT, f {kind}", null) == {"before": 1, "f": None}
    rest = Conflicts(ConflictPolicy.REST)
    assert convert(document, f"before INT, f {kind}", rest) == {"before": 1, "f": None}
    assert [each.path for each in rest.remainders] == ["f"]


def test_what_the_schema_does_not_hold_is_in_the_rest_under_its_path() -> None:
    conflicts = Conflicts(ConflictPolicy.REST)
    document = {
        "a": 1.5,
        "b": {"x": 1, "more": [True]},
        "lines": [{"sku": "s", "n": 2}, {"sku": 7, "n": "many"}],
        "m": {"k": "x"},
        "other": None,
    }
    schema = (
        "a INT, b STRUCT<x: INT>, lines ARRAY<STRUCT<sku: STRING, n: INT>>, m MAP<STRING, DATE>"
    )
    assert convert(document, schema, conflicts) == {
        "a": None,
        "b": {"x": 1},
        "lines": [{"sku": "s", "n": 2}, {"sku": "7", "n": None}],
        "m": {"k": None},
    }
    rest = rest_document(conflicts.remainders)
    assert {name: Kind(kind).name for kind, name, _ in elements_of(rest)} == {
        "a": "DOUBLE",
        "b.more": "ARRAY",
        "lines.1.n": "STRING",
        "m.k": "STRING",
        "other": "NULL",
    }
    assert bson.decode(rest)["b.more"] == [True]


def test_a_field_that_the_schema_lacks_is_an_error_where_that_is_asked_for() -> None:
    assert convert({"a": 1, "b": {"c": 1}}, "a INT, b STRUCT<d: INT>") == {"a": 1, "b": {"d": None}}
    conflicts = Conflicts(unknown=UnknownFields.FAIL)
    with pytest.raises(HeadraceError, match=r"no field b\.c") as caught:
        convert({"a": 1, "b": {"c": 1}}, "a INT, b STRUCT<d: INT>", conflicts)
    assert caught.value.code == "documents.field_not_of_schema"


def test_what_is_no_document_is_refused() -> None:
    with pytest.raises(HeadraceError) as caught:
        rows([encode({"a": "text"})[:-3] + b"\0\0\1"], declared("a STRING"))
    assert caught.value.code == "documents.value_not_understood"
