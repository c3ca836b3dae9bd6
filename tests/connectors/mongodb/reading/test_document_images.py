from __future__ import annotations

import contextlib

import bson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.images import cells
from headrace.connectors.mongodb.reading.document_images import document_images, id_of
from headrace.documents.cells import decoder
from headrace.documents.dialects import DIALECTS
from headrace.documents.fields import FieldRules, PathRule
from headrace.documents.kernels.field_kernel import NAME_TAKEN
from headrace.errors import HeadraceError
from headrace.snapshots.image_block import ImageBlock
from tests.documents.plain_bson import encode
from tests.documents.values import documents

ids = st.one_of(st.none(), st.integers(0, 9), st.text(max_size=9), st.just({"a": [1]}))


@given(st.lists(st.tuples(documents, ids, st.booleans()), max_size=5))
def test_an_image_has_the_id_and_the_document(
    parts: list[tuple[dict[str, object], object, bool]],
) -> None:
    raws = []
    for document, identity, first in parts:
        rest = {name: value for name, value in document.items() if name != "_id"}
        whole = {"_id": identity} | rest if first else rest | {"_id": identity}
        raws.append(encode(whole))
    block = document_images(b"".join(raws), "a.b")
    assert len(block.offsets) == len(raws) + 1
    for row, (raw, part) in enumerate(zip(raws, parts, strict=True)):
        image = block.images[block.offsets[row] : block.offsets[row + 1]].tobytes()
        identity = bson.encode({"_id": part[1]})
        assert cells(image) == [identity[4:5] + identity[9:-1], b"\x03" + raw]
        assert id_of(block, row) == identity[4:5] + identity[9:-1]


@given(st.data(), documents)
def test_broken_documents_end_in_an_error_or_are_read(
    data: st.DataObject, document: dict[str, object]
) -> None:
    raw = bytearray(encode({"_id": 1} | document))
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(raw[: data.draw(st.integers(0, len(raw)))])
    with contextlib.suppress(HeadraceError):
        block = document_images(cut, "a.b")
        assert sum(cells(i)[1] is not None for i in _images(block)) == len(block.offsets) - 1


def _images(block: ImageBlock) -> list[bytes]:
    images, offsets = block
    return [images[offsets[row] : offsets[row + 1]].tobytes() for row in range(len(offsets) - 1)]


def test_a_document_without_id_is_reported() -> None:
    with pytest.raises(HeadraceError, match=r"A document of shop\.view has no _id"):
        document_images(bson.encode({"a": 1}), "shop.view")


def test_rules_are_applied_to_documents_and_not_to_their_keys() -> None:
    rules = FieldRules([PathRule(("_id",)), PathRule(("a",), "a" * 900), PathRule(("b", "c"))])
    documents = [{"_id": n, "a": n, "b": {"c": 1, "d": 2}} for n in range(3)]
    block = document_images(b"".join(map(bson.encode, documents)), "x.y", rules)
    assert [id_of(block, row) for row in range(3)] == [bytes([16, n, 0, 0, 0]) for n in range(3)]
    image_cells = [cells(image)[1] for image in _images(block)]
    assert [bson.decode(cell[1:]) for cell in image_cells if cell] == [
        {"b": {"d": 2}, "a" * 900: n} for n in range(3)
    ]


def test_the_row_of_a_document_in_which_a_new_name_is_taken_is_there() -> None:
    rules = FieldRules([PathRule(("a",), "b")])
    documents = [{"_id": 1, "a": 1}, {"_id": 2, "a": 1, "b": 2}, {"_id": 3, "b": 3}]
    block = document_images(b"".join(map(bson.encode, documents)), "x.y", rules)
    assert [id_of(block, row) for row in range(3)] == [bytes([16, n, 0, 0, 0]) for n in (1, 2, 3)]
    image_cells = [cells(image)[1] for image in _images(block)]
    assert image_cells[1] == bytes([NAME_TAKEN])
    for encoding in DIALECTS:
        with pytest.raises(
            HeadraceError, match=r"field\.renames: a document has a field"
        ) as caught:
            decoder(encoding)(image_cells[1])
        assert caught.value.code == "documents.value_not_representable"
    assert [bson.decode(cell[1:]) for cell in (image_cells[0], image_cells[2]) if cell] == [
        {"_id": 1, "b": 1},
        {"_id": 3, "b": 3},
    ]
