"""Converts batches of documents to images of rows, compiled: a cell with `_id` and one with the
document."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.images import (
    BINARY,
    CELL_HEAD_BYTES,
    HEAD_BYTES,
    cells,
    put_head,
    store32_be,
)
from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.memory import (
    PADDING,
    address_of,
    copy,
    load8,
    load32_signed,
    store8,
    store64,
)
from headrace.documents.bson import DOCUMENT, NO_ROOM, broken
from headrace.documents.fields import FieldRules
from headrace.documents.kernels.field_kernel import FIELD_EXISTS, NAME_TAKEN, filter_fields
from headrace.documents.kernels.value_sizes import ID_NAME_SIZE, id_element, value_size
from headrace.errors import HeadraceError
from headrace.snapshots.image_block import ImageBlock

_ELEMENT_HEAD = 1 + ID_NAME_SIZE
_IMAGE_HEAD = HEAD_BYTES + 2 * (CELL_HEAD_BYTES + 1)
_NO_ID = -100
"""The fault of a document without `_id`; below the faults of `documents.bson`."""


@entry
def measure_documents(batch, size, totals):
    """Write the number of a batch's documents, and the bytes of their images, to `totals`; returns
    0 or a fault."""
    end = batch + size
    place = batch
    count = np.int64(0)
    nbytes = np.int64(0)
    while place < end:
        length = value_size(DOCUMENT, place, end - place)
        if length < 0:
            return length
        element = id_element(place, length)
        if element <= 0:
            return element if element < 0 else np.int64(_NO_ID)
        value = element + _ELEMENT_HEAD
        nbytes += _IMAGE_HEAD + length + value_size(load8(element), value, place + length - value)
        count += 1
        place += length
    store64(totals, count)
    store64(totals + 8, nbytes)
    return np.int64(0)


@part
def _put_value(kind, value, size, out):
    """Write a cell with a BSON value; returns its end."""
    store8(out, BINARY)
    store32_be(out + 1, size + 1)
    store8(out + CELL_HEAD_BYTES, kind)
    return copy(value, size, out + CELL_HEAD_BYTES + 1)


@entry
def write_documents(batch, size, images, room, offsets, rules, rule_count, scratch, scratch_room):
    """Write the images of a measured batch, and to `offsets` the start of each and the end of the
    last; returns 0 or a fault, NO_ROOM if `room` or the scratch memory is too small. `rules` are
    those of FieldRules; for them, `scratch` has twice `scratch_room` and PADDING bytes. The cell of
    a document in which a rule's new name already exists is NAME_TAKEN, so that its row exists and
    is counted."""
    end = batch + size
    place = batch
    out = images
    row = np.int64(0)
    while place < end:
        length = load32_signed(place)
        element = id_element(place, length)
        kind = load8(element)
        value = element + _ELEMENT_HEAD
        value_bytes = value_size(kind, value, place + length - value)
        document_kind = np.int64(DOCUMENT)
        document = place
        document_bytes = length
        if rule_count:
            spare = scratch + scratch_room + PADDING
            document = scratch
            filtered = filter_fields(
                rules, rule_count, 0, place, length, spare, scratch, scratch_room
            )
            if filtered == FIELD_EXISTS:
                document_kind = np.int64(NAME_TAKEN)
                filtered = scratch
            if filtered < 0:
                return filtered
            document_bytes = filtered - scratch
        if out - images + _IMAGE_HEAD + value_bytes + document_bytes > room:
            return np.int64(NO_ROOM)
        offsets[row] = out - images
        row += 1
        out = put_head(out, 2)
        out = _put_value(kind, value, value_bytes, out)
        out = _put_value(document_kind, document, document_bytes, out)
        place += length
    offsets[row] = out - images
    return np.int64(0)


def document_images(batch: bytes, collection: str, rules: FieldRules | None = None) -> ImageBlock:
    """Return the images of the consecutive documents in `batch`; their columns are `events.ID` and
    `events.DOCUMENT`, the second after `rules` (a cell that cannot be rendered if a new name
    already exists). Raises HeadraceError: "documents.value_not_understood" for broken BSON,
    "mongodb.no_id" for a document without `_id`, as views may have."""
    source = np.empty(len(batch) + PADDING, np.uint8)
    source[: len(batch)] = np.frombuffer(batch, np.uint8)
    start = address_of(source)
    totals = np.zeros(2, np.int64)
    fault = int(measure_documents(start, len(batch), address_of(totals)))
    if fault < 0:
        raise _refused(fault, collection)
    count, room = totals.tolist()
    offsets = np.empty(count + 1, np.int64)
    address, rule_count = (0, 0) if rules is None else (rules.address, rules.count)
    largest = len(batch) if rule_count else 0
    while True:
        images = np.empty(room + PADDING, np.uint8)
        scratch = np.empty(2 * (largest + PADDING), np.uint8)
        fault = int(
            write_documents(
                start,
                len(batch),
                address_of(images),
                room,
                address_of(offsets),
                address,
                rule_count,
                address_of(scratch),
                largest,
            )
        )
        if fault == 0:
            return ImageBlock(images[: offsets[-1]], offsets)
        if fault != NO_ROOM:
            raise _refused(fault, collection)
        # New names may be longer than the old ones.
        room, largest = 2 * room, 2 * largest + 1024


def _refused(fault: int, collection: str) -> HeadraceError:
    if fault == _NO_ID:
        return HeadraceError(
            "mongodb.no_id",
            f"A document of {collection} has no _id, which makes the key of its record",
            "Leave the view out of collection.include.list or snapshot.include.collection.list, or "
            "let its pipeline keep _id.",
        )
    return broken(fault, f"a document of {collection}")


def id_of(block: ImageBlock, row: int) -> bytes:
    """The `_id` of a row: its type byte and its bytes."""
    begin, end = int(block.offsets[row]), int(block.offsets[row + 1])
    identity = cells(block.images[begin:end].data)[0]
    assert identity is not None
    return identity
