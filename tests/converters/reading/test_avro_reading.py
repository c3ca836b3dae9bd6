"""Avro in Confluent's wire format, read back into Records."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from headrace.connect.evaluation.values import connect_values
from headrace.connect.schema import Field, Schema, Type
from headrace.converters.avro.schemas import AvroOptions, avro_text
from headrace.converters.avro.values import encode
from headrace.converters.json.values import render
from headrace.converters.reading.avro import AvroReader
from headrace.converters.reading.avro_schemas import load_avro
from headrace.converters.reading.binary import BytesReader
from headrace.converters.reading.records import ReadBatch, RecordReader
from headrace.errors import HeadraceError
from tests.converters.reading.schemas import trees
from tests.examples import examples

OPTIONS = AvroOptions()
NAMES = st.text("abcXYZ", min_size=1, max_size=4)


class Schemas:
    """A registry that has these schemas by id."""

    def __init__(self, schemas: Mapping[int, str]) -> None:
        self.schemas = schemas
        self.asked: list[int] = []

    def by_id(self, number: int) -> str:
        self.asked.append(number)
        if number not in self.schemas:
            raise HeadraceError("registry.not_registered", "it is not there", "Register it.")
        return self.schemas[number]


def framed(number: int, raw: bytes) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + raw


def read(registry: Schemas, values: list[bytes | None]) -> ReadBatch:
    reader = RecordReader(BytesReader(), AvroReader(registry), BytesReader())  # type: ignore[arg-type]
    keys = pa.nulls(len(values), pa.binary())
    batch = pa.record_batch({"key": keys, "value": pa.array(values, pa.binary())})
    return reader.read(batch, "t")


def written(schema: Schema, values: list[Any]) -> list[bytes]:
    return [framed(7, encode(schema, value, OPTIONS)) for value in values]


@given(
    trees(names=NAMES).flatmap(
        lambda t: st.tuples(st.just(t[0]), st.lists(t[1], min_size=1, max_size=4))
    )
)
@settings(deadline=None, max_examples=60)
def test_what_the_converter_writes_is_read_back_as_it_was(tree: tuple[Schema, list[Any]]) -> None:
    schema, values = tree
    try:
        text = avro_text(schema, OPTIONS)
    except HeadraceError as error:
        assume(error.code != "avro.redefined")
        raise
    batch = read(Schemas({7: text}), [*written(schema, values)])
    assert batch.errors == {}
    (records,) = batch.records
    assert records.shape.value.schema == schema
    rendered = [render(schema, v) for v in connect_values(records, records.shape.value)]
    assert rendered == [render(schema, value) for value in values]


@pytest.mark.parametrize(
    "schema",
    [
        Schema(Type.INT8, name="n", version=3, doc="d", parameters=(("a", "b"),)),
        Schema(Type.INT64, optional=True, default=5),
        Schema(Type.MAP, keys=Schema(Type.INT32), values=Schema(Type.STRING, optional=True)),
        Schema(Type.INT32, name="org.apache.kafka.connect.data.Date", version=1),
        Schema(Type.STRUCT, fields=(Field("s", Schema(Type.STRING, default="x")),)),
    ],
)
def test_a_schema_comes_back_with_all_that_connect_keeps_beside_avro(schema: Schema) -> None:
    assert load_avro(avro_text(schema, OPTIONS)).schema == schema


def test_records_of_another_writer_are_read() -> None:
    text = """{"type":"record","name":"r","namespace":"n","fields":[
        {"name":"e","type":{"type":"enum","name":"E","symbols":["A","B"]}},
        {"name":"f","type":{"type":"fixed","name":"F","size":2}},
        {"name":"a","type":{"type":"array","items":"long"}},
        {"name":"u","type":["string","null"]},
        {"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}}]}"""
    out = io.BytesIO()
    fastavro.schemaless_writer(
        out, fastavro.parse_schema(json.loads(text)),
        {"e": "B", "f": b"xy", "a": [1, -2], "u": None, "d": Decimal("1.25")},
    )  # fmt: skip
    batch = read(Schemas({1: text}), [framed(1, out.getvalue())])
    (records,) = batch.records
    assert [render(records.shape.value.schema, v) for v in
            connect_values(records, records.shape.value)] == [
        '{"e":"B","f":"eHk=","a":[1,-2],"u":null,"d":"fQ=="}'
    ]  # fmt: skip


def test_a_registry_is_asked_once_and_what_is_wrong_is_an_error_of_its_record() -> None:
    schema = Schema(Type.STRING)
    good, _ = written(schema, ["a", "b"])
    registry = Schemas({7: '"string"', 8: '["int","string"]'})
    values = [good, b"{}", framed(9, b""), good, framed(7, b"\x04a"), None, framed(8, b"\0\2")]
    batch = read(registry, [*values])
    assert sorted(registry.asked) == [7, 8, 9]
    assert {row: error.code for row, (_, error) in batch.errors.items()} == {
        1: "reading.not_understood",
        2: "registry.not_registered",
        4: "reading.not_understood",
        6: "reading.avro_schema",
    }


def test_a_registry_that_does_not_answer_ends_the_batch() -> None:
    class Silent:
        def by_id(self, number: int) -> str:
            raise HeadraceError("registry.unreachable", "no answer", "Wait.", retriable=True)

    with pytest.raises(HeadraceError, match="no answer"):
        read(Silent(), [framed(1, b"x")])  # type: ignore[arg-type]


@given(st.binary(max_size=40))
@settings(deadline=None, max_examples=examples(150))
def test_hostile_bytes_end_in_an_error_of_their_record(raw: bytes) -> None:
    inner = Schema(Type.STRUCT, name="I", optional=True, fields=(Field("x", Schema(Type.INT8)),))
    schema = Schema(
        Type.STRUCT, name="O",
        fields=(Field("s", Schema(Type.STRING)), Field("i", inner),
                Field("a", Schema(Type.ARRAY, values=Schema(Type.BYTES)))),
    )  # fmt: skip
    batch = read(Schemas({7: avro_text(schema, OPTIONS)}), [framed(7, raw)])
    assert len(batch.errors) + sum(len(records) for records in batch.records) == 1
