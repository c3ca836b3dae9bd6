"""Extended JSON of any document: the compiled writer against plain Python."""

from __future__ import annotations

import bson
import pyarrow as pa
import pytest
from bson.binary import UuidRepresentation
from bson.codec_options import CodecOptions
from hypothesis import given
from hypothesis import strategies as st

from headrace.documents.dialects import Dialect
from headrace.documents.extended_json import (
    column_to_extended_json,
    to_extended_json,
    value_to_extended_json,
)
from headrace.errors import HeadraceError
from tests.documents.plain_bson import encode, encode_value, strange
from tests.documents.plain_extended_json import extended_json
from tests.documents.values import documents, encodable_documents, values

OPTIONS: CodecOptions = CodecOptions(uuid_representation=UuidRepresentation.STANDARD)
dialects = st.sampled_from(list(Dialect))


@given(encodable_documents, dialects)
def test_documents_that_pymongo_encodes_are_written_as_by_plain_python(
    document: dict[str, object], dialect: Dialect
) -> None:
    raw = bson.encode(document, codec_options=OPTIONS)
    assert to_extended_json(raw, dialect) == extended_json(document, dialect)
    assert encode(document) == raw


@given(values, dialects)
def test_single_values_of_every_type_are_written_as_by_plain_python(
    value: object, dialect: Dialect
) -> None:
    assert value_to_extended_json(encode_value(value), dialect) == extended_json(value, dialect)


@given(st.lists(documents | st.none(), max_size=6), dialects, st.integers(0, 2))
def test_a_column_has_the_texts_of_its_documents(
    column: list[dict[str, object] | None], dialect: Dialect, skipped: int
) -> None:
    raw = [None if document is None else encode(document) for document in column]
    texts = column_to_extended_json(pa.array(raw, pa.binary())[skipped:], dialect)
    texts.validate(full=True)
    assert texts.to_pylist() == [
        None if document is None else to_extended_json(document, dialect)
        for document in raw[skipped:]
    ]


def test_a_column_makes_room_for_documents_that_grow_more_than_others() -> None:
    column = pa.array([strange(1)] * 50 + [strange(1000)] + [strange(2)] * 50, pa.binary())
    texts = column_to_extended_json(column, Dialect.MANUAL)
    expected = [to_extended_json(raw.as_py(), Dialect.MANUAL) for raw in column]
    assert texts.to_pylist() == expected


def test_a_broken_document_of_a_column_is_named() -> None:
    column = pa.array([encode({}), None, b"\x05\0\0\0\1"], pa.binary())
    with pytest.raises(HeadraceError, match="the document at 2 of the column is not valid BSON"):
        column_to_extended_json(column, Dialect.STRICT)


def test_256_levels_are_written_and_more_are_refused() -> None:
    nested = b"\x05\0\0\0\0"
    for level in range(2, 258):
        nested = (len(nested) + 7).to_bytes(4, "little") + b"\x03\0" + nested + b"\0"
        if level == 256:
            assert to_extended_json(nested, Dialect.STRICT).count("{") == 256
    with pytest.raises(HeadraceError, match="nested deeper than 256 levels") as caught:
        to_extended_json(nested, Dialect.STRICT)
    assert caught.value.code == "documents.value_not_understood"
