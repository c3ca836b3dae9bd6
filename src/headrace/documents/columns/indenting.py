"""Indents compact JSON texts like BSON's Java library, many at a time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.documents.kernels.indent_kernel import indent_column


def indented(texts: pa.StringArray) -> pa.LargeStringArray:
    """Indent compact texts of JSON objects and arrays, none of them null: a line break after each
    opening bracket and comma and before each closing bracket, two spaces per level; empty brackets
    are not split."""
    count = len(texts)
    _, offsets, buffer = texts.buffers()
    source = np.frombuffer(buffer, np.uint8) if buffer is not None else np.zeros(0, np.uint8)
    source = np.concatenate((source, np.zeros(PADDING, np.uint8)))
    places = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + count + 1]
    places = np.ascontiguousarray(places)
    ends = np.zeros(count + 1, np.int64)
    state = (address_of(places), count, address_of(source), address_of(ends) + 8)
    size = int(indent_column(*state, 0, 0))
    out = np.empty(size + PADDING, np.uint8)
    indent_column(*state, address_of(out), 1)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(out[:size])]
    return pa.Array.from_buffers(pa.large_string(), count, buffers)
