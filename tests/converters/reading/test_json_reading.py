"""JSON of Kafka Connect's converter, read back into Records."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.connect.evaluation.values import connect_values
from headrace.connect.json_values import json_text, quote
from headrace.connect.kernels.json_scan import canonical_value
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.rows import Sequences
from headrace.connect.schema import SCHEMALESS, Field, Schema, Type
from headrace.converters.json.converter import JsonConverter
from headrace.converters.json.values import JsonOptions, render
from headrace.converters.reading.binary import BytesReader, StringReader
from headrace.converters.reading.json import JsonReader
from headrace.converters.reading.records import ReadBatch, RecordReader
from headrace.converters.rows import SliceConverter
from tests.compiled import callable_part
from tests.converters.reading.schemas import DECIMALS, SCALARS, trees
from tests.examples import examples

_canonical_value = callable_part(canonical_value)

WITH, WITHOUT = JsonOptions(schemas_enable=True), JsonOptions(schemas_enable=False)


def read(values: list[str | bytes | None], options: JsonOptions, **columns: Any) -> ReadBatch:
    reader = RecordReader(JsonReader(options, "k"), JsonReader(options, "v"), BytesReader())
    raw = [each.encode() if isinstance(each, str) else each for each in values]
    array = pa.array(raw, pa.binary())
    return reader.read(pa.record_batch({"key": pa.nulls(len(raw), pa.binary()), "value": array}
                                       | columns), "t")  # fmt: skip


def with_schema(schema: Schema, payload: str) -> str:
    return f'{{"schema":{schema.json},"payload":{payload}}}'


@given(trees().flatmap(lambda t: st.tuples(st.just(t[0]), st.lists(t[1], min_size=1, max_size=5))))
@settings(deadline=None, max_examples=60)
def test_what_the_converter_writes_is_read_back_as_it_was(tree: tuple[Schema, list[Any]]) -> None:
    schema, values = tree
    texts = [with_schema(schema, render(schema, value, WITH)) for value in values]
    batch = read([*texts], WITH)
    assert batch.errors == {}
    (records,) = batch.records
    assert records.shape.value.schema == schema
    expected = [render(schema, value, WITH) for value in values]
    rendered = [render(schema, v, WITH) for v in connect_values(records, records.shape.value)]
    assert rendered == expected
    slice_converter = SliceConverter(*[JsonConverter(WITH) for _ in range(3)])
    (out,) = slice_converter.convert([records], Sequences(1))
    assert out.column("value").to_pylist() == [
        with_schema(records.shape.value.schema, text) for text in expected
    ]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text("ab\n😀", max_size=3), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def canonical_end(text: str) -> int:
    raw = np.frombuffer(text.encode() + bytes(PADDING), np.uint8).copy()
    end = address_of(raw) + len(text.encode())
    answer = _canonical_value(address_of(raw), end)
    return answer if answer < 0 else answer - end


@given(JSON_VALUES)
@settings(deadline=None, max_examples=examples(150))
def test_a_text_that_passes_as_canonical_is_what_jackson_writes_of_it(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, separators=(",", ":"), ensure_ascii=False),
                 json_text(value)):  # fmt: skip
        answer = canonical_end(text)
        assert answer in (0, -1)
        if answer == 0:
            assert json_text(json.loads(text)) == text


@pytest.mark.parametrize(
    ("text", "is_canonical"),
    [
        ('{"a":1,"b":[true,false,null],"c":{"d":"é\\n\\u0001"},"e":0.001}', True),
        ('{"a": 1}', False), ("1e5", False), ("0.0001", False), ("12.50", False), ("-0", False),
        ('"\\u00e9"', False), ('"\\/"', False), ('"😀"', False), ('"\\uD83D\\uDE00"', True),
        ("1234567890123456789", False), ("[]", True), ("{}", True), ("[1,]", False),
        ('{"a":1,}', False), ("", False), ("[", False), ('{"a"}', False), ("tru", False),
        ("12.5", True), ("-12345.678", True), ("12345678.5", False), ("1.0", True),
    ],
)  # fmt: skip
def test_canonical_texts_are_distinguished_from_others(text: str, is_canonical: bool) -> None:
    assert (canonical_end(text) == 0) is is_canonical


@given(JSON_VALUES)
@settings(deadline=None, max_examples=60)
def test_json_without_schemas_is_written_as_jackson_writes_it(value: Any) -> None:
    batch = read([json.dumps(value)], WITHOUT)
    (records,) = batch.records
    slice_converter = SliceConverter(*[JsonConverter(WITHOUT) for _ in range(3)])
    (out,) = slice_converter.convert([records], Sequences(1))
    # A null without a schema is not a JSON null.
    assert out.column("value").to_pylist() == [None if value is None else json_text(value)]


def test_texts_with_white_space_members_in_another_order_and_escapes_are_understood() -> None:
    schema = Schema(Type.STRUCT, fields=(Field('a"b', Schema(Type.STRING)), Field("n", DECIMALS)))
    spaced = json.dumps(
        {"payload": {"n": 1.5, "unknown": [1, {"x": "}"}], 'a"b': "\U0001f600é"},
         "schema": json.loads(schema.json)}, indent=1,
    )  # fmt: skip
    batch = read([spaced], WITH)
    assert batch.errors == {}
    (records,) = batch.records
    assert connect_values(records, records.shape.value) == [
        {'a"b': "\U0001f600é", "n": Decimal("1.5")}
    ]


def test_records_are_grouped_by_topic_and_schemas_and_keep_their_places() -> None:
    text_schema, number_schema = Schema(Type.STRING), Schema(Type.INT32)
    values = [
        with_schema(text_schema, '"a"'),
        None,
        with_schema(number_schema, "1"),
        with_schema(text_schema, '"b"'),
    ]
    topics = pa.array(["t", "t", "u", "v"])
    batch = read([*values], WITH, topic=topics, partition=pa.array([0, None, 2, 3], pa.int32()))
    grouped = {
        (records.shape.topic, int(place)): (value, int(partition))
        for records in batch.records
        for place, value, partition in zip(
            records.place,
            [None] * len(records)
            if records.shape.value is None
            else connect_values(records, records.shape.value),
            records.partition,
            strict=True,
        )
    }
    assert grouped == {
        ("t", 0): ("a", 0),
        ("t", 1): (None, -1),
        ("u", 2): (1, 2),
        ("v", 3): ("b", 3),
    }


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"\xff\xfe", "reading.not_understood"),
        ('{"broken', "reading.not_understood"),
        ('{"a":1}', "reading.no_schema"),
        ('{"schema":{"type":"what"},"payload":1}', "connect.schema_not_understood"),
        (with_schema(Schema(Type.INT32), '"x"'), "connect.value_not_understood"),
        (with_schema(Schema(Type.INT32), "1.5"), "connect.value_not_understood"),
        (with_schema(Schema(Type.INT8), "128"), "connect.value_not_understood"),
        (with_schema(Schema(Type.INT32), "null"), "connect.value_not_understood"),
        (with_schema(Schema(Type.STRING), '"a" "b"'), "reading.not_understood"),
        (
            with_schema(Schema(Type.STRUCT, fields=(Field("a", Schema(Type.INT32)),)), "{}"),
            "connect.value_not_understood",
        ),
    ],
)
def test_a_record_that_is_not_understood_is_an_error_beside_good_ones(
    text: str | bytes, code: str
) -> None:
    good = with_schema(Schema(Type.STRING), quote("good"))
    batch = read([good, text, good], WITH)
    assert {row: (role, error.code) for row, (role, error) in batch.errors.items()} == {
        1: ("value", code)
    }
    assert sum(len(records) for records in batch.records) == 2


@given(st.text('{}[]",:\\0123456789.eE+-tfn au', max_size=40))
@settings(deadline=None, max_examples=examples(150))
def test_hostile_texts_end_in_an_error_of_their_record(text: str) -> None:
    schema = Schema(Type.STRUCT, fields=(Field("a", SCALARS[0][0].as_optional()),))
    for options, whole in ((WITH, with_schema(schema, text)), (WITH, text), (WITHOUT, text)):
        batch = read([whole], options)
        assert len(batch.errors) + sum(len(records) for records in batch.records) == 1
        for _, error in batch.errors.values():
            assert error.remedy


def test_headers_are_read_by_their_own_reader_and_group_records() -> None:
    headers = pa.array(
        [[("a", b"1"), ("b", None)], None, [("a", b"2"), ("b", b"3")], []],
        pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    )
    reader = RecordReader(JsonReader(WITHOUT, "k"), JsonReader(WITHOUT, "v"), StringReader())
    column = pa.array([b"1"] * 4, pa.binary())
    batch = reader.read(pa.record_batch({"key": column, "value": column, "headers": headers}), "t")
    grouped = {
        int(place): [
            (header.name, value)
            for header in records.shape.headers
            for value in [connect_values(records, header.node)[index]]
        ]
        for records in batch.records
        for index, place in enumerate(records.place)
    }
    assert grouped == {
        0: [("a", "1"), ("b", None)], 1: [], 2: [("a", "2"), ("b", "3")], 3: [],
    }  # fmt: skip


def test_a_value_without_a_schema_is_not_one_with_one() -> None:
    batch = read(['{"schema":null,"payload":{"a":1}}'], WITH)
    (records,) = batch.records
    assert records.shape.value.schema == SCHEMALESS
    assert connect_values(records, records.shape.value) == [{"a": 1}]


def test_a_header_without_a_name_is_an_error_of_its_record() -> None:
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    x = {"key": "x", "value": b"1"}
    headers = pa.array([[x], [x, {"key": None, "value": b"2"}], [None], None, [x]], kind)
    batch = read([b"1"] * 5, WITHOUT, headers=headers)
    assert {
        row: (role, error.code) for row, (role, error) in batch.errors.items()
    } == dict.fromkeys((1, 2), ("header", "converters.header_without_name"))
    assert sorted(int(row) for records in batch.records for row in records.rows) == [0, 3, 4]
    names = [header.name for records in batch.records for header in records.shape.headers]
    assert set(names) == {"x"}
    nameless = pa.array([[None], [None]], kind)
    assert list(read([b"1"] * 2, WITHOUT, headers=nameless).errors) == [0, 1]
