"""Cells of many rows looked up in their images: kind, address and length, by compiled kernels.

A cell is looked up as by the converters' kernel: `Image.KEY` is the new image or else the old one,
and an unavailable cell of a new image is replaced by the old image's if that has a value.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from headrace.connect.images import (
    CELL_BYTES,
    CELL_HEAD_BYTES,
    HEAD_BYTES,
    NO_CELL,
    NULL,
    UNAVAILABLE,
    has_value,
    split,
)
from headrace.connect.kernels.functions import entry, inlined_part, part
from headrace.connect.kernels.memory import (
    PADDING,
    address_of,
    copy,
    load8,
    load16,
    load16_be,
    load32,
    load32_be,
    load32_signed,
    load64,
    store8,
    store16,
    store32,
    store64,
)
from headrace.connect.records import Cell, Column, Image, Records
from headrace.connect.rows import ROW, TRANSACTION, offset_in_row, offset_in_transaction

_ROW_SIZE, _TRANSACTION_SIZE = ROW.itemsize, TRANSACTION.itemsize
_OLD, _NEW = offset_in_row("old"), offset_in_row("new")
_COUNTERPART = offset_in_row("counterpart")
_TRANSACTION = offset_in_row("transaction")
_IMAGE_OF_TRANSACTION = offset_in_transaction("image")
_OLD_IMAGE, _NEW_IMAGE = int(Image.OLD), int(Image.NEW)
_COUNTERPART_IMAGE = int(Image.COUNTERPART)
_TRANSACTION_IMAGE, _KEY_IMAGE = int(Image.TRANSACTION), int(Image.KEY)
_SPLIT_IMAGES = 5

KIND, ADDRESS, LENGTH = range(3)
"""Columns of gathered cells, int64 each."""


@part
def _split_image(row, transaction, which, cells, columns):
    """Split one of the five images of a row; return whether the row has it."""
    image = load64(transaction + _IMAGE_OF_TRANSACTION)
    if which != _TRANSACTION_IMAGE:
        image = row[which]
    if image == 0:
        return False
    split(image, cells, columns)
    return True


@entry
def _gather(rows, selected, count, transactions, needed, columns, requests, request_count, cells,
            out):  # fmt: skip
    """Look up the requested cells of rows. `needed` marks (a byte each) the images that are split,
    `requests` are (image, column)."""
    image_bytes = CELL_BYTES * columns
    for i in range(count):
        row = rows + _ROW_SIZE * selected[i]
        transaction = transactions + _TRANSACTION_SIZE * load32_signed(row + _TRANSACTION)
        present = 0
        for which in range(_SPLIT_IMAGES):
            if load8(needed + which) and _split_image(
                row, transaction, which, cells + image_bytes * which, columns
            ):
                present |= 1 << which
        for r in range(request_count):
            which = load64(requests + 16 * r)
            column = CELL_BYTES * load64(requests + 16 * r + 8)
            target = out + CELL_BYTES * (r * count + i)
            if which == _KEY_IMAGE:
                which = _NEW_IMAGE if load64(row + _NEW) else _OLD_IMAGE
            if present >> which & 1 == 0:
                store64(target, NO_CELL)
                continue
            cell = cells + image_bytes * which + column
            kind = load64(cell)
            if kind == UNAVAILABLE and (which == _NEW_IMAGE or which == _COUNTERPART_IMAGE):  # noqa: SIM109
                stand_in = cell
                if load64(row + _OLD):
                    stand_in = cells + column
                elif load64(row + _COUNTERPART):
                    stand_in = cells + image_bytes * _COUNTERPART_IMAGE + column
                if has_value(load64(stand_in)):
                    cell = stand_in
                    kind = load64(cell)
            store64(target, NULL if kind == NO_CELL else kind)
            if has_value(kind):
                store64(target + 8, load64(cell + 8))
                store64(target + 16, load64(cell + 16))


@inlined_part
def _put_cell(image, column, out):
    """Store one split cell of an image; return its kind."""
    if column >= load16_be(image):
        store64(out, NO_CELL)
        return np.int64(NO_CELL)
    place = image + HEAD_BYTES
    for _ in range(column):
        kind = load8(place)
        place += 1
        if kind != NULL and kind != UNAVAILABLE:
            place += 4 + load32_be(place)
    kind = load8(place)
    store64(out, kind)
    if has_value(kind):
        store64(out + 8, place + CELL_HEAD_BYTES)
        store64(out + 16, load32_be(place + 1))
    return kind


@entry
def _gather_one(rows, selected, count, transactions, which, column, out):
    """Look up one cell per row as `_gather` does, without splitting whole images."""
    for i in range(count):
        row = rows + _ROW_SIZE * selected[i]
        target = out + CELL_BYTES * i
        if which == _TRANSACTION_IMAGE:
            transaction = transactions + _TRANSACTION_SIZE * load32_signed(row + _TRANSACTION)
            image = load64(transaction + _IMAGE_OF_TRANSACTION)
        elif which == _KEY_IMAGE:
            image = load64(row + _NEW)
            if image == 0:
                image = load64(row + _OLD)
        else:
            image = row[which]
        if image == 0:
            store64(target, NO_CELL)
            continue
        kind = _put_cell(image, column, target)
        is_new = which in (_NEW_IMAGE, _COUNTERPART_IMAGE)
        is_new = is_new or (which == _KEY_IMAGE and load64(row + _NEW) != 0)
        if kind == UNAVAILABLE and is_new:
            stand_in = load64(row + _OLD)
            if stand_in == 0:
                stand_in = load64(row + _COUNTERPART)
            if stand_in and not has_value(_put_cell(stand_in, column, target)):
                store64(target, UNAVAILABLE)
        elif kind == NO_CELL:
            store64(target, NULL)


def gather(records: Records, nodes: Sequence[Cell]) -> dict[Cell, np.ndarray]:
    """Return the cells of the records by node: int64 (KIND, ADDRESS, LENGTH), one row per record.

    The kind is NO_CELL in rows without the cell's image, NULL if the image lacks the column.
    """
    count = len(records)
    out = np.zeros((len(nodes), count, 3), np.int64)
    if count and len(nodes) == 1:
        selected = np.ascontiguousarray(records.rows, np.int64)
        _gather_one(
            address_of(records.table.rows), address_of(selected), count,
            address_of(records.table.transactions), int(nodes[0].image), nodes[0].column,
            address_of(out),
        )  # fmt: skip
    elif count and nodes:
        requests = np.array([(int(c.image), c.column) for c in nodes], np.int64)
        columns = int(requests[:, 1].max()) + 1
        needed = np.zeros(8, np.uint8)
        for image in requests[:, 0].tolist():
            of_key = (_OLD_IMAGE, _NEW_IMAGE)
            needed[list(of_key) if image == _KEY_IMAGE else image] = 1
            if image in (_NEW_IMAGE, _COUNTERPART_IMAGE, _KEY_IMAGE):  # for unavailable cells
                needed[[_OLD_IMAGE, _COUNTERPART_IMAGE]] = 1
        cells = np.empty((_SPLIT_IMAGES, columns, 3), np.int64)
        selected = np.ascontiguousarray(records.rows, np.int64)
        _gather(
            address_of(records.table.rows),
            address_of(selected),
            count,
            address_of(records.table.transactions),
            address_of(needed),
            columns,
            address_of(requests),
            len(nodes),
            address_of(cells),
            address_of(out),
        )
    return dict(zip(nodes, out, strict=True))


def column_cells(records: Records, column: Column) -> np.ndarray:
    """Return the cells of a column that a transform made, in the form of `gather`."""
    cells = np.asarray(records.columns[column.identity].table[records.rows])
    cells[cells[:, KIND] == NO_CELL, KIND] = NULL
    return cells


def has_values(cells: np.ndarray) -> np.ndarray:
    """Return whether the gathered cells have bytes (bool)."""
    kinds = cells[:, KIND]
    return np.asarray((kinds != NO_CELL) & (kinds != NULL) & (kinds != UNAVAILABLE))


@entry
def _copy_bytes(cells, valid, count, ends, out):
    """Copy the bytes of valid cells one after the other; store their ends in `ends` (int64)."""
    begin = out
    store64(ends, 0)
    for i in range(count):
        if load8(valid + i):
            cell = cells + CELL_BYTES * i
            out = copy(load64(cell + 8), load64(cell + 16), out)
        ends[i + 1] = out - begin


def as_binary(cells: np.ndarray, valid: np.ndarray) -> pa.Array:
    """Return the bytes of cells as large_binary; null where `valid` (bool) is false."""
    count = len(cells)
    cells = np.ascontiguousarray(cells)
    present = np.ascontiguousarray(valid, np.uint8)
    out = np.empty(int(cells[valid, LENGTH].sum()) + PADDING, np.uint8)
    ends = np.empty(count + 1, np.int64)
    _copy_bytes(address_of(cells), address_of(present), count, address_of(ends), address_of(out))
    buffers = [_validity(valid), pa.py_buffer(ends), pa.py_buffer(out)]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), count, buffers)


def _validity(valid: np.ndarray) -> pa.Buffer | None:
    return None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))


@entry
def _copy_fixed(cells, valid, count, size, out):
    """Copy numbers of `size` bytes; return whether every valid cell has that length."""
    sound = True
    for i in range(count):
        if load8(valid + i) == 0:
            continue
        cell = cells + CELL_BYTES * i
        if load64(cell + 16) != size:
            sound = False
            continue
        address = load64(cell + 8)
        if size == 8:
            out[i] = load64(address)
        elif size == 4:
            store32(out + 4 * i, load32(address))
        elif size == 2:
            store16(out + 2 * i, load16(address))
        else:
            store8(out + i, load8(address))
    return sound


def as_numbers(cells: np.ndarray, valid: np.ndarray, kind: np.dtype) -> pa.Array | None:
    """Return little-endian numbers as an array of `kind`; None if a cell has another length."""
    out = np.zeros(len(cells), kind)
    cells = np.ascontiguousarray(cells)
    present = np.ascontiguousarray(valid, np.uint8)
    sound = _copy_fixed(
        address_of(cells), address_of(present), len(cells), kind.itemsize, address_of(out)
    )
    return pa.array(out, mask=~valid) if sound else None


_NO_DIGIT = 16
_DIGITS = np.full(256, _NO_DIGIT, np.uint8)
for _number, _digit in enumerate(b"0123456789abcdef"):
    _DIGITS[_digit] = _number


def from_hexadecimal(texts: pa.Array) -> pa.Array | None:
    r"""Return the bytes of texts of the form `\x0fa2` (large_binary) as large_binary; None if a
    text has another form."""
    ends = np.frombuffer(texts.buffers()[1], np.int64)[: len(texts) + 1]
    characters = np.frombuffer(texts.buffers()[2], np.uint8)[: ends[-1]]
    lengths = np.diff(ends)
    begins = ends[:-1][lengths > 0]
    sound = bool((lengths % 2 == 0).all()) and bool(
        (np.asarray(texts.is_null()) | (lengths > 0)).all()
    )
    if not sound or (characters[begins] != ord("\\")).any():
        return None
    if (characters[begins + 1] != ord("x")).any():
        return None
    is_digit = np.ones(len(characters), np.bool_)
    is_digit[begins] = is_digit[begins + 1] = False
    digits = _DIGITS[characters[is_digit]]
    if (digits == _NO_DIGIT).any():
        return None
    decoded = np.zeros(len(digits) // 2 + PADDING, np.uint8)
    decoded[: len(digits) // 2] = digits[0::2] << 4 | digits[1::2]
    sizes = np.where(lengths > 0, (lengths - 2) // 2, 0)
    decoded_ends = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(sizes, out=decoded_ends[1:])
    buffers = [texts.buffers()[0], pa.py_buffer(decoded_ends), pa.py_buffer(decoded)]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(texts), buffers)
