"""Random node trees over random rows in Avro and in the texts of Java: the compiled pass against
plain Python, and Avro against another reader."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from unittest import mock

import fastavro
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.connect.encoding import Encoding
from headrace.connect.records import Guarded, Header, Node, Shape, Struct, group_by_shape
from headrace.connect.rows import Sequences
from headrace.connect.schema import Field, Schema, Type
from headrace.connect.trees import with_schema
from headrace.converters.avro.schemas import AvroOptions, avro_text
from headrace.converters.avro.values import encode
from headrace.converters.binary.converters import SimpleConverter, StringConverter
from headrace.converters.binary.layout import compiled_encoding
from headrace.converters.binary.texts import java_text, values_text
from headrace.converters.rows import SliceConverter
from tests.converters.node_trees import TREES, Sources, sources
from tests.converters.plain_values import NOW, PlainValues
from tests.converters.registry_double import numbered_avro
from tests.converters.value_trees import ValueRow
from tests.examples import examples

OPTIONS = AvroOptions()


def fit_for_avro(node: Node, numbers: Iterator[int]) -> Node:
    """The tree with names that Avro takes, one per struct, and nulls everywhere."""
    if isinstance(node, Guarded):
        return replace(node, node=fit_for_avro(node.node, numbers))
    if isinstance(node, Struct):
        members = tuple(fit_for_avro(member, numbers) for member in node.members)
        fields = tuple(Field(f"m{n}", member.schema) for n, member in enumerate(members))
        schema = replace(node.schema, name=f"n.S{next(numbers)}", fields=fields, optional=True)
        return replace(node, schema=schema, members=members)
    return with_schema(node, node.schema.as_optional())


def converted(
    given_: Sources, tree: Node
) -> tuple[list[tuple[object, object]], list[object], str | None]:
    """Keys as Java's text and values in Avro; headers as Connect's; the Avro schema."""

    avro, registry = numbered_avro(OPTIONS)
    slice_converter = SliceConverter(StringConverter(), avro, SimpleConverter())
    shape = Shape("t", tree, tree, (Header("h", tree),))
    records, headers = [], []
    with mock.patch("headrace.converters.rows.time.time_ns", return_value=NOW):
        for batch in slice_converter.convert(given_.records({0: shape, 1: shape}), Sequences(1)):
            columns = (batch.column(name).to_pylist() for name in ("key", "value"))
            records += list(zip(*columns, strict=True))
            headers += [entry[0]["value"] for entry in batch.column("headers").to_pylist()]
    return records, headers, next(iter(registry.schemas), None)


@settings(max_examples=examples(100), deadline=None)
@given(sources(), TREES)
def test_any_tree_over_any_rows_is_written_as_its_values_are(given_: Sources, tree: Node) -> None:
    tree = fit_for_avro(tree, itertools.count())
    schema = tree.schema
    records, headers, text = converted(given_, tree)
    plain, table = PlainValues(*given_), given_.table
    assert len(records) == len(table)
    assert text == avro_text(schema, OPTIONS)
    parsed = fastavro.parse_schema(json.loads(text or ""))
    for number, (key, value) in enumerate(records):
        expected = plain.value(tree, number)
        assert key == (None if expected is None else java_text(schema, expected))
        header = None if expected is None else values_text(schema, expected).encode()
        assert headers[number] == header
        if expected is None or not table.rows[number]["operation"]:
            assert value is None
            continue
        assert isinstance(value, bytes)
        assert value[:5] == b"\0\0\0\0\1"
        assert value[5:] == encode(schema, expected, OPTIONS)
        rest = io.BytesIO(value[5:])
        fastavro.schemaless_reader(rest, parsed)
        assert rest.read() == b""


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=80)
SCALARS: st.SearchStrategy[tuple[Schema, object]] = st.one_of(
    st.tuples(st.just(Schema(Type.INT64)), st.integers(-(2**63), 2**63 - 1)),
    st.tuples(st.just(Schema(Type.INT32, optional=True)), st.integers(-(2**31), 2**31 - 1)),
    st.tuples(st.just(Schema(Type.STRING)), TEXTS),
    st.tuples(st.just(Schema(Type.STRING, optional=True)), TEXTS),
    st.tuples(st.just(Schema(Type.BOOLEAN)), st.booleans()),
    st.tuples(st.just(Schema(Type.BYTES, optional=True)), st.binary(max_size=40)),
    st.tuples(st.just(Schema(Type.FLOAT64)), st.floats()),
    st.tuples(st.just(Schema(Type.FLOAT32)), st.floats(width=32)),
    st.tuples(
        st.just(Schema(Type.ARRAY, values=Schema(Type.STRING, optional=True))),
        st.lists(st.none() | TEXTS, max_size=3),
    ),
)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(SCALARS, min_size=1, max_size=6))
def test_another_reader_of_avro_finds_the_values(given_: list[tuple[Schema, object]]) -> None:
    fields = tuple(Field(f"f{n}", schema) for n, (schema, _) in enumerate(given_))
    value = {f"f{n}": member for n, (_, member) in enumerate(given_)}
    schema = Schema(Type.STRUCT, name="r.Row", fields=fields)
    row = ValueRow(schema, value)
    avro, registry = numbered_avro(OPTIONS)
    slice_converter = SliceConverter(StringConverter(), avro, avro)
    shape = Shape("t", None, row.tree)
    (batch,) = slice_converter.convert(group_by_shape(row.table, {0: shape}), Sequences(1))
    (raw,) = batch.column("value").to_pylist()
    parsed = fastavro.parse_schema(json.loads(next(iter(registry.schemas))))
    read = fastavro.schemaless_reader(io.BytesIO(raw[5:]), parsed)
    assert repr(read) == repr(value)


def test_encodings_that_do_not_fit_a_schema_are_left_to_python() -> None:

    text, array = Schema(Type.STRING), Schema(Type.ARRAY, values=Schema(Type.STRING))
    assert compiled_encoding(Encoding.RAW, text) is Encoding.PYTHON
    assert compiled_encoding(Encoding.RAW, Schema(Type.INT16)) is Encoding.RAW
    assert compiled_encoding(Encoding.JSON, array) is Encoding.PYTHON
    assert compiled_encoding(Encoding.BSON_TEXTS, array) is Encoding.BSON_TEXTS
    assert compiled_encoding(Encoding.DECIMAL, Schema(Type.BYTES)) is Encoding.PYTHON
