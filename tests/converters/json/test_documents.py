"""Cells that hold BSON: the compiled encoders against their decoders, and cells in whole events."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.encoding import AS_JSON, Encoding
from headrace.connect.json_values import quote
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import Cell, Image, Shape, group_by_shape, struct_of
from headrace.connect.rows import ROW, TRANSACTION, RowTable, Sequences
from headrace.connect.schema import Field, Schema, Type
from headrace.converters.json.values import JsonOptions, render
from headrace.documents.cells import decoder
from headrace.documents.dialects import DIALECTS
from headrace.documents.kernels.cells import put_document
from headrace.documents.kernels.writer import GROWTH, SLACK
from headrace.errors import HeadraceError
from tests.converters.json_converter import json_converter
from tests.documents.plain_bson import encode_value, strange
from tests.documents.plain_extended_json import extended_json
from tests.documents.values import texts, values

TEXTS = Schema(Type.ARRAY, optional=True, values=Schema(Type.STRING))
TRUNCATED = Schema(
    Type.ARRAY,
    optional=True,
    values=Schema(
        Type.STRUCT,
        fields=(Field("field", Schema(Type.STRING)), Field("size", Schema(Type.INT32))),
    ),
)
OPTIONS = JsonOptions()
UNDEFINED = '"": {"$undefined": true}'


def encoded(cell: bytes, encoding: Encoding) -> str | None:
    """None: the cell is for Python."""
    source = np.frombuffer(cell + bytes(PADDING), np.uint8)
    out = np.zeros(GROWTH * len(cell) + SLACK, np.uint8)
    start = address_of(out)
    end = put_document(address_of(source), len(cell), int(encoding), AS_JSON, start)
    return None if end < 0 else out[: end - start].tobytes().decode()


@given(values, st.sampled_from(list(DIALECTS)))
def test_extended_json_is_written_inside_of_a_json_string(
    value: object, encoding: Encoding
) -> None:
    cell = encode_value(value)
    text = extended_json(value, DIALECTS[encoding])
    assert decoder(encoding)(cell) == text
    assert encoded(cell, encoding) in (quote(text), None)


def test_documents_that_grow_more_than_others_are_left_to_python() -> None:
    cell = b"\x03" + strange(100)
    assert encoded(cell, Encoding.EXTENDED_JSON_LEGACY) is None
    text = decoder(Encoding.EXTENDED_JSON_LEGACY)(cell)
    assert text == "{" + ",".join([UNDEFINED] * 100) + "}"


@given(st.lists(texts, max_size=5))
def test_arrays_of_strings(strings: list[str]) -> None:
    cell = encode_value(strings)
    assert decoder(Encoding.BSON_TEXTS)(cell) == (strings or None)
    assert encoded(cell, Encoding.BSON_TEXTS) == render(TEXTS, strings or None)


@given(st.lists(st.tuples(texts, st.integers(0, 2**31 - 1), st.booleans()), max_size=5))
def test_truncated_arrays(arrays: list[tuple[str, int, bool]]) -> None:
    documents = [
        {"newSize": size, "more": None, "field": field} if swapped else
        {"field": field, "newSize": size}
        for field, size, swapped in arrays
    ]  # fmt: skip
    cell = encode_value(documents)
    expected = [{"field": field, "size": size} for field, size, _ in arrays] or None
    assert decoder(Encoding.BSON_TRUNCATED_ARRAYS)(cell) == expected
    assert encoded(cell, Encoding.BSON_TRUNCATED_ARRAYS) == render(TRUNCATED, expected)


@pytest.mark.parametrize(
    ("value", "encoding"),
    [
        ({}, Encoding.BSON_TEXTS),
        ([1], Encoding.BSON_TEXTS),
        (["a", None], Encoding.BSON_TEXTS),
        (["a"], Encoding.BSON_TRUNCATED_ARRAYS),
        ([{"field": "a"}], Encoding.BSON_TRUNCATED_ARRAYS),
        ([{"field": "a", "newSize": 1.5}], Encoding.BSON_TRUNCATED_ARRAYS),
    ],
)
def test_what_is_not_in_the_form_of_its_encoding_is_an_error(
    value: object, encoding: Encoding
) -> None:
    cell = encode_value(value)
    assert encoded(cell, encoding) is None
    with pytest.raises(HeadraceError) as caught:
        decoder(encoding)(cell)
    assert caught.value.code == "documents.value_not_understood"


def image_of(cells: list[bytes | None]) -> bytes:
    encoded_cells = [
        b"n" if cell is None else b"b" + struct.pack("!I", len(cell)) + cell for cell in cells
    ]
    return struct.pack("!H", len(cells)) + b"".join(encoded_cells)


def test_documents_are_shown_in_whole_events_also_those_that_python_writes() -> None:
    values = [7, {"a": 'x"\u0301'}, ["b"], []]
    image = image_of([*map(encode_value, values), b"\x03" + strange(500), None])
    memory = np.frombuffer(image + bytes(PADDING), np.uint8)
    rows, transactions = np.zeros(1, ROW), np.zeros(1, TRANSACTION)
    rows["operation"] = ord("c")
    rows["new"], rows["size"] = address_of(memory), len(memory) - PADDING
    text = Schema(Type.STRING, optional=True, name="io.debezium.data.Json", version=1)
    columns = [
        (text, Encoding.EXTENDED_JSON_RELAXED),
        (text, Encoding.EXTENDED_JSON_LEGACY),
        (TEXTS, Encoding.BSON_TEXTS),
        (TRUNCATED, Encoding.BSON_TRUNCATED_ARRAYS),
        (text, Encoding.EXTENDED_JSON_CANONICAL),
        (text, Encoding.EXTENDED_JSON_LEGACY),
    ]
    value = struct_of(
        None,
        {
            name: Cell(schema, Image.NEW, column, encoding, 0, decoder(encoding))
            for column, (name, (schema, encoding)) in enumerate(zip("abcdef", columns, strict=True))
        },
    )
    records = group_by_shape(RowTable(rows, transactions, (memory,)), {0: Shape("t", None, value)})
    (batch,) = json_converter(OPTIONS, OPTIONS, OPTIONS).convert(records, Sequences(1))
    (record,) = batch.to_pylist()
    assert json.loads(record["value"]) == {
        "a": "7",
        "b": '{"a": "x\\"\\u0301"}',
        "c": ["b"],
        "d": None,
        "e": "{" + ",".join([UNDEFINED] * 500) + "}",
        "f": None,
    }
