"""Schemas of documents: declared, and found out from samples."""

from __future__ import annotations

import math
from decimal import Decimal

import bson
import pytest
from bson import Decimal128, Int64, ObjectId
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.schema import Schema, Type
from headrace.documents.target_schema.ddl import ddl, declared
from headrace.documents.target_schema.sampling import SampleConflict, sampled
from headrace.errors import HeadraceError
from tests.documents.plain_bson import encode
from tests.documents.target_schema.columns import rows
from tests.documents.values import documents

field_names = st.sampled_from(["a", "b", "_id", "Łódź", "two words", "a`b", "x.y", "NOT"])
field_types = st.recursive(
    st.sampled_from(["BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING",
                     "VARIANT", "BINARY", "TIMESTAMP", "TIMESTAMP_NTZ", "DATE", "DECIMAL(10,2)",
                     "DECIMAL(38,38)"]),
    lambda inner: st.one_of(
        inner.map(lambda kind: f"ARRAY<{kind}>"),
        inner.map(lambda kind: f"MAP<STRING, {kind}>"),
        inner.map(lambda kind: f"STRUCT<`x y`: {kind}, b: INT>"),
    ),
    max_leaves=4,
)  # fmt: skip
scalars = st.one_of(
    st.integers(-(2**31), 2**31 - 1),
    st.integers(-(2**63), 2**63 - 1).map(Int64),
    st.floats(),
    st.integers(-(10**9), 10**9).map(lambda n: Decimal128(Decimal(n).scaleb(-2))),
)


def sample(*sampled_documents: dict[str, object], conflict: str = "string") -> str:
    return ddl(sampled(map(encode, sampled_documents), SampleConflict(conflict)))


def sorted_fields(schema: Schema) -> object:
    """The schema without the order of its fields."""
    if schema.type is Type.STRUCT:
        return sorted((f.name, repr(sorted_fields(f.schema))) for f in schema.fields)
    if schema.type is Type.ARRAY and schema.values is not None:
        return ["array", sorted_fields(schema.values)]
    return schema


@given(st.dictionaries(field_names, field_types, min_size=1))
def test_a_schema_is_read_as_it_is_written(fields: dict[str, str]) -> None:
    text = ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in fields.items())
    schema = declared(text)
    assert [field.name for field in schema.fields] == list(fields)
    assert declared(ddl(schema)) == schema


def test_the_json_of_a_struct_type_declares_the_same() -> None:
    text = (
        '{"type":"struct","fields":[{"name":"a","type":"integer","nullable":true,"metadata":{}},'
        '{"name":"d","type":"decimal(10,2)"},{"name":"l","type":{"type":"array","elementType":'
        '{"type":"struct","fields":[{"name":"x","type":"long"}]}}},'
        '{"name":"m","type":{"type":"map","keyType":"string","valueType":"timestamp"}}]}'
    )
    same = "a INT, d DECIMAL(10,2), l ARRAY<STRUCT<x: BIGINT>>, m MAP<STRING, TIMESTAMP>"
    assert declared(text) == declared(same)
    assert ddl(declared(text)) == same


@pytest.mark.parametrize(
    "text",
    ["", "a", "a INT,", "a INTERVAL", "a ARRAY<INT", "a INT, a INT", "a INT NOT NULL", "a INT b",
     "a DECIMAL(40,2)", "a DECIMAL(x)", "a MAP<INT, INT>", "a STRUCT<>", "'a' INT", "{", '{"a":1}',
     '{"type":"map","keyType":"long","valueType":"long"}', "a @", "ARRAY<" * 5000],
)  # fmt: skip
def test_an_invalid_schema_is_refused(text: str) -> None:
    with pytest.raises(HeadraceError) as caught:
        declared(text)
    assert caught.value.code == "documents.schema_not_understood"


@given(st.lists(documents, min_size=1, max_size=4))
def test_every_document_of_a_sample_fits_its_schema(
    sampled_documents: list[dict[str, object]],
) -> None:
    raws = [encode({"_": 1} | document) for document in sampled_documents]
    schema = sampled(raws)
    assert declared(ddl(schema)) == schema
    converted_rows = rows(raws, schema)
    assert [set(each) for each in converted_rows] == [{f.name for f in schema.fields}] * len(raws)


@given(st.lists(documents, min_size=1, max_size=4).flatmap(
    lambda drawn: st.tuples(st.just(drawn), st.permutations(drawn))
))  # fmt: skip
def test_the_order_of_a_sample_decides_the_order_of_fields_alone(
    orders: tuple[list[dict[str, object]], list[dict[str, object]]],
) -> None:
    first, second = (
        sorted_fields(sampled([encode({"_": 1} | document) for document in order]))
        for order in orders
    )
    assert first == second


@given(st.lists(scalars, min_size=1, max_size=5))
def test_numbers_keep_their_values_in_the_type_they_are_widened_to(numbers: list[object]) -> None:
    schema = sampled(encode({"n": number}) for number in numbers)
    if schema.fields[0].schema.type is Type.STRING:
        return  # nothing holds all of them
    for number in numbers:
        (row,) = rows([encode({"n": number})], schema)
        widened = row["n"]
        exact = number.to_decimal() if isinstance(number, Decimal128) else number
        assert widened == exact or (isinstance(exact, float) and math.isnan(exact))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, Int64(2)], "BIGINT"),
        ([1, 2.5], "DOUBLE"),
        ([Int64(5), 2.5], "DOUBLE"),
        ([Int64(2**53 + 1), 2.5], "STRING"),
        ([1, Decimal128("1.25")], "DECIMAL(38,2)"),
        ([Decimal128("NaN"), Decimal128("1")], "STRING"),
        ([None, True], "BOOLEAN"),
        ([None], "STRING"),
        (["x", 1], "STRING"),
        ([ObjectId(), "x"], "STRING"),
        ([{"x": 1}, {"y": [1.5]}], "STRUCT<x: INT, y: ARRAY<DOUBLE>>"),
        ([{"x": 1}, 5], "STRING"),
        ([[1], ["x"]], "ARRAY<STRING>"),
        ([[], [{"x": 1}, {"x": Int64(1)}]], "ARRAY<STRUCT<x: BIGINT>>"),
        ([{}], "STRING"),
        ([b"x"], "BINARY"),
        ([bson.DatetimeMS(5), bson.Timestamp(1, 0)], "TIMESTAMP"),
        ([bson.Timestamp(1, 1)], "STRING"),
        ([1, math.nan], "DOUBLE"),
    ],
)
def test_values_have_the_type_in_common(values: list[object], kind: str) -> None:
    assert sample(*({"f": value} for value in values)) == f"f {kind}"


def test_documents_without_fields_are_no_sample() -> None:
    with pytest.raises(HeadraceError) as caught:
        sample({}, {"": 1})
    assert caught.value.code == "documents.nothing_to_sample"


def test_a_conflict_is_a_variant_or_an_error_where_that_is_asked_for() -> None:
    mixed: list[dict[str, object]] = [{"f": {"g": 1}}, {"f": {"g": "x"}}]
    assert sample(*mixed, conflict="variant") == "f STRUCT<g: VARIANT>"
    with pytest.raises(HeadraceError, match=r"f\.g") as caught:
        sample(*mixed, conflict="fail")
    assert caught.value.code == "documents.types_in_conflict"
