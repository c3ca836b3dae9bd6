"""Payloads of JSON as structs and lists."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.schema import Type
from headrace.transforms.debezium.outbox.json_payloads import expanded

TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
NUMBERS = st.integers(-(1 << 31), (1 << 31) - 1)
SCALARS = st.booleans() | NUMBERS | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
DOCUMENTS = st.recursive(
    st.dictionaries(TEXTS, SCALARS, max_size=4),
    lambda inner: st.dictionaries(
        TEXTS, inner | st.lists(TEXTS, min_size=1) | st.lists(NUMBERS, min_size=1), max_size=4
    ),
    max_leaves=10,
)


@given(DOCUMENTS)
def test_a_document_without_nulls_is_its_own_struct(document: dict[str, object]) -> None:
    schema, value = expanded(json.dumps(document), keeps_nulls=False)
    assert [field.name for field in schema.fields] == list(document)
    assert value == document


@pytest.mark.parametrize(
    "text", ["", "5", '"text"', "null", '{"a": ', "[]", '[1, "a"]', '{"a": [[], 1]}', "[1e400]"]
)
def test_what_is_no_struct_and_no_list_of_one_type_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        expanded(text, keeps_nulls=False)


def test_objects_of_an_array_have_the_members_of_all_of_them() -> None:
    schema, value = expanded('[{"a": 1}, null, {"b": "x"}]', keeps_nulls=False)
    assert schema.values is not None
    assert [(each.name, each.schema.type) for each in schema.values.fields] == [
        ("a", Type.INT32),
        ("b", Type.STRING),
    ]
    assert value == [{"a": 1, "b": None}, None, {"a": None, "b": "x"}]


def test_null_members_are_left_out_or_optional_bytes() -> None:
    text = '{"a": null, "b": 1}'
    assert expanded(text, keeps_nulls=False)[1] == {"b": 1}
    schema, value = expanded(text, keeps_nulls=True)
    assert [field.schema.type for field in schema.fields] == [Type.BYTES, Type.INT32]
    assert value == {"a": None, "b": 1}
