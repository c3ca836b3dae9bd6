"""Kernels that locate the cells of a row, shared by the interpreters of programs."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.images import CELL_BYTES, UNAVAILABLE, has_value
from headrace.connect.kernels.functions import inlined_part, part
from headrace.connect.kernels.memory import load64
from headrace.connect.records import Image
from headrace.connect.rows import ADDRESSES, ROW, offset_in_row, offset_in_transaction
from headrace.converters.instructions import (
    ABSENT_KINDS,
    DECODED,
    FIRST_ROW,
    IS_NULL,
    MADE,
    MADE_COLUMNS,
    NULLS,
    UNAVAILABLES,
    A,
    B,
)
from headrace.converters.kernels.prints import patch

OLD_IMAGE, NEW_IMAGE, COUNTERPART_IMAGE = int(Image.OLD), int(Image.NEW), int(Image.COUNTERPART)
EXTRA_IMAGE, TRANSACTION_IMAGE = int(Image.EXTRA), int(Image.TRANSACTION)
_KEY_IMAGE = int(Image.KEY)

ROW_SIZE = ROW.itemsize
OLD, NEW = offset_in_row("old"), offset_in_row("new")
COUNTERPART, EXTRA = offset_in_row("counterpart"), offset_in_row("extra")
IMAGE_OF_TRANSACTION = offset_in_transaction("image")

assert [offset_in_row(name) for name in ADDRESSES] == [0, 8, 16, 24]
assert [name.upper() for name in ADDRESSES] == [image.name for image in Image][:4]


@inlined_part
def image_of(row, transaction, which):
    """Return the address of an image of the row; 0 if it has none."""
    if which == TRANSACTION_IMAGE:
        return load64(transaction + IMAGE_OF_TRANSACTION)
    if which == _KEY_IMAGE:
        new = load64(row + NEW)
        return new if new else load64(row + OLD)
    return row[which]


@inlined_part
def split_cell(at, row, cells, image_bytes):
    """Return the split cell that a CELL instruction refers to. The row has its image."""
    which = load64(at + A)
    if which == _KEY_IMAGE:
        which = NEW_IMAGE if load64(row + NEW) else OLD_IMAGE
    column = CELL_BYTES * load64(at + B)
    cell = cells + image_bytes * which + column
    kind = load64(cell)
    if kind == UNAVAILABLE and (which == NEW_IMAGE or which == COUNTERPART_IMAGE):  # noqa: SIM109
        # The column is unchanged: the old image may have the value (all columns under REPLICA
        # IDENTITY FULL, otherwise those of the key). The create half of a key change finds the old
        # image in its counterpart.
        stand_in = cell
        if load64(row + OLD):
            stand_in = cells + column
        elif load64(row + COUNTERPART):
            stand_in = cells + image_bytes * COUNTERPART_IMAGE + column
        if has_value(load64(stand_in)):
            cell = stand_in
    return cell


@inlined_part
def made_cell(at, row, state):
    """Return the cell of the made column that a COLUMN instruction refers to."""
    index = (row - state[FIRST_ROW]) // ROW_SIZE
    table = state[MADE_COLUMNS][load64(at + B)]
    return table + CELL_BYTES * index


@part
def made_bytes(tables, count, index):
    """Bytes of the made cells of the row `index`, in `count` columns."""
    size = 0
    for column in range(count):
        cell = tables[column] + CELL_BYTES * index
        if has_value(load64(cell)):
            size += load64(cell + 16)
    return size


@part
def presence_of(at, row, transaction, cells, image_bytes, state, out):
    """Return IS_NULL if the cell or made column of a PRESENCE instruction is null in this row,
    MISSING if Python has to decide, otherwise the end of the output."""
    which = load64(at + A)
    if which == MADE:
        cell = made_cell(at, row, state)
    elif image_of(row, transaction, which) == 0:
        return np.int64(IS_NULL)
    else:
        cell = split_cell(at, row, cells, image_bytes)
    kind = load64(cell)
    absent = load64(at + ABSENT_KINDS)
    if has_value(kind):
        if absent & DECODED:
            return patch(state, load64(cell + 8), load64(cell + 16), at, out)
        return out
    return np.int64(IS_NULL) if absent & (UNAVAILABLES if kind == UNAVAILABLE else NULLS) else out
