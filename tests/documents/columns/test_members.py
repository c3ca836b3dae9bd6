"""Members of documents of one structure."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

import bson
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.images import BINARY
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.documents.bson import DOCUMENT
from headrace.documents.columns.members import member_values
from headrace.documents.splitting import SplitForm, structure_of
from headrace.documents.values import elements_of

_TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5)


def _document(text: str, number: int, *, more: Mapping[str, object]) -> dict[str, object]:
    return {
        "_id": bson.ObjectId(b"123456789012"), "text": text, "bytes": text.encode(),
        "small": number, "large": bson.Int64(number), "price": 0.5, "is": True, "null": None,
        "décimal": bson.Decimal128("1.5"), "list": [text, number], "code": bson.Code(text),
        "scoped": bson.Code(text, {"a": number}), "least": bson.MinKey(),
        "pointer": bson.DBRef("c", 1), **more, "payload": {"text": text},
    }  # fmt: skip


def _check_members(documents: list[dict[str, object]], *, small_longs: bool = False) -> None:
    raw = [bytes([DOCUMENT]) + bson.encode(each) for each in documents]
    memory = np.frombuffer(b"".join(raw) + bytes(PADDING), np.uint8)
    lengths = np.array([len(each) for each in raw], np.int64)
    starts = address_of(memory) + np.cumsum(lengths) - lengths
    cells = np.stack([np.full(len(raw), BINARY), starts, lengths], axis=1)
    structure = structure_of(DOCUMENT, raw[0][1:], SplitForm(small_longs=small_longs))
    names = ("payload", "text", "large")
    assert ctypes.string_at(int(starts[0]), 1) == bytes([DOCUMENT])
    read_columns = [array.to_pylist() for array in member_values(cells, structure, names)]
    expected = [{name: value for _, name, value in elements_of(each[1:])} for each in raw]
    assert read_columns == [[each[name] for each in expected] for name in names]


@given(st.lists(st.tuples(_TEXTS, st.integers(-5, 5)), min_size=1, max_size=4))
def test_members_are_those_that_a_walk_over_each_document_gives(
    parts: list[tuple[str, int]],
) -> None:
    _check_members([_document(text, number, more={}) for text, number in parts])


def test_with_small_longs_an_int32_may_be_where_another_document_has_a_small_int64() -> None:
    documents = [_document("a", 1, more={"n": 5}), _document("b", 2, more={"n": bson.Int64(5)})]
    _check_members(documents, small_longs=True)


@pytest.mark.parametrize("more", [{"regex": bson.Regex("a.*", "i")}, {"x\ufffd": 1}])
def test_members_after_a_value_without_a_length_are_found_document_by_document(
    more: dict[str, object],
) -> None:
    _check_members([_document(text, 1, more=more) for text in ("a", "bcd")])
