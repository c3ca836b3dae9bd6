"""Texts in UTF-16 code units, as Java counts their length: measured, and truncated between
characters."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np
import pyarrow as pa

from headrace.connect.evaluation import gathering
from headrace.connect.images import CELL_BYTES, TEXT
from headrace.connect.kernels.functions import entry
from headrace.connect.kernels.memory import address_of, load8, load64, store64
from headrace.connect.kernels.text import units_length

_LENGTH = 8 * gathering.LENGTH  # of a cell's length in its bytes


@entry
def _count_units(cells, count, out):
    for i in range(count):
        address = load64(cells + CELL_BYTES * i + 8)
        length = load64(cells + CELL_BYTES * i + _LENGTH)
        units = np.int64(0)
        for place in range(length):
            byte = load8(address + place)
            if byte & 0xC0 != 0x80:  # a character begins here
                units += 2 if byte >= 0xF0 else 1
        out[i] = units


@entry
def _shorten(cells, count, units):
    for i in range(count):
        cell = cells + CELL_BYTES * i
        length = units_length(load64(cell + 8), load64(cell + _LENGTH), units[i])
        store64(cell + _LENGTH, length)


def unit_lengths(texts: pa.LargeStringArray) -> np.ndarray:
    """Return the number of UTF-16 code units of each text (int64); 0 for null."""
    cells, memory = _cells(texts)
    out = np.zeros(len(cells), np.int64)
    _count_units(address_of(cells), len(cells), address_of(out))
    del memory
    return out


def first_units(texts: pa.LargeStringArray, units: np.ndarray) -> pa.LargeStringArray:
    """Return the characters of each text that lie in its first `units` (int64) UTF-16 code
    units."""
    cells, memory = _cells(texts)
    units = np.ascontiguousarray(units, np.int64)
    _shorten(address_of(cells), len(cells), address_of(units))
    prefixes = gathering.as_binary(cells, np.asarray(texts.is_valid()))
    del memory
    return prefixes.cast(pa.large_string())


def first_bytes(binary: pa.LargeBinaryArray, lengths: np.ndarray) -> pa.LargeBinaryArray:
    """Return the first `lengths` (int64) bytes of each value."""
    cells, memory = _cells(binary)
    cells[:, gathering.LENGTH] = np.minimum(cells[:, gathering.LENGTH], lengths)
    prefixes = gathering.as_binary(cells, np.asarray(binary.is_valid()))
    del memory
    return prefixes


def _cells(array: pa.Array) -> tuple[np.ndarray, object]:
    """Return the values of an array as cells, and the memory that they point into."""
    _, offsets, memory = array.buffers()
    cells = np.zeros((len(array), 3), np.int64)
    if memory is None or not len(array):
        return cells, memory
    ends = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    cells[:, gathering.KIND] = TEXT
    cells[:, gathering.ADDRESS] = ends[:-1] + memory.address
    cells[:, gathering.LENGTH] = np.where(np.asarray(array.is_valid()), np.diff(ends), 0)
    return cells, memory
