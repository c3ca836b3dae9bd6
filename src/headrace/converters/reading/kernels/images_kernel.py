"""Kernel that turns parts of records, bytes in any form, into cells and consecutive images.

The rules on memory are those of `headrace.connect.kernels.memory`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.images import (
    BINARY,
    CELL_BYTES,
    CELL_HEAD_BYTES,
    NULL,
    TEXT,
    put_head,
    put_null,
    store32_be,
)
from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.memory import copy, load64, store8, store64
from headrace.converters.reading.fields import COLUMN, COLUMN_BYTES, OWNER, REQUIRED
from headrace.converters.reading.kernels.avro_kernel import parse_avro
from headrace.converters.reading.kernels.json_kernel import parse_json, put_cell

JSON, AVRO, TEXT_BYTES, RAW_BYTES = range(4)
"""Forms of a part. `TEXT_BYTES` and `RAW_BYTES` are a single value, the part itself."""

# Words of a part, as offsets in bytes.
FORM, FIELDS, SPANS = 0, 8, 16
PART_BYTES = 24
SPAN_BYTES = 16

# Words of the state of a read, as offsets in bytes.
(
    PARTS,
    PART_COUNT,
    RECORD_COUNT,
    COLUMNS,
    COLUMN_COUNT,
    CELLS,
    NUMBERS,
    SPARE,
    BOOLEANS,
    OUT,
    ADDRESSES,
) = (8 * i for i in range(11))
STATE_WORDS = 11


@part
def _parsed(state, index):
    """Fill the cells of one record; returns whether the kernel could read all parts."""
    cells, text = load64(state + CELLS), load64(state + SPARE)
    numbers, booleans = load64(state + NUMBERS), load64(state + BOOLEANS)
    for number in range(load64(state + PART_COUNT)):
        part = load64(state + PARTS) + PART_BYTES * number
        span = load64(part + SPANS) + SPAN_BYTES * index
        address, length = load64(span), load64(span + 8)
        if length < 0:
            continue
        form, field = load64(part + FORM), load64(part + FIELDS)
        if form == JSON:
            text = parse_json(field, address, address + length, cells, numbers, text, booleans)
            if text < 0:
                return False
        elif form == AVRO:
            if parse_avro(field, address, address + length, cells, numbers, booleans) < 0:
                return False
        else:
            cell = cells + CELL_BYTES * load64(field + COLUMN)
            put_cell(cell, TEXT if form == TEXT_BYTES else BINARY, address, length)
    return True


@part
def _is_complete(columns, count, cells):
    """Whether no required value is null."""
    for column in range(count):
        if load64(cells + CELL_BYTES * column) != NULL:
            continue
        entry = columns + COLUMN_BYTES * column
        if load64(entry + REQUIRED) == 0:
            continue
        owner = load64(entry + OWNER)
        if owner < 0 or load64(cells + CELL_BYTES * owner) != NULL:
            return False
    return True


@entry
def read_images(state):
    """Write the image of each record, and its address to ADDRESSES, 0 for a record that is left to
    Python. Returns the end of the images."""
    cells, count = load64(state + CELLS), load64(state + COLUMN_COUNT)
    columns, out = load64(state + COLUMNS), load64(state + OUT)
    for index in range(load64(state + RECORD_COUNT)):
        for column in range(count):
            store64(cells + CELL_BYTES * column, NULL)
        addresses = load64(state + ADDRESSES) + 8 * index
        if not _parsed(state, index) or not _is_complete(columns, count, cells):
            store64(addresses, 0)
            continue
        store64(addresses, out)
        out = put_head(out, count)
        for column in range(count):
            cell = cells + CELL_BYTES * column
            kind = load64(cell)
            if kind == NULL:
                out = put_null(out)
                continue
            length = load64(cell + 16)
            store8(out, kind)
            store32_be(out + 1, length)
            out = copy(load64(cell + 8), length, out + CELL_HEAD_BYTES)
    return np.int64(out)
