"""Columns of BSON documents as Extended JSON."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.functions import entry
from headrace.connect.kernels.memory import load8, load32_signed, store32
from headrace.documents.bson import DOCUMENT, NO_ROOM
from headrace.documents.kernels.writer import SLACK, put_value


@entry
def put_column(offsets, bits, first, count, data, dialect, growth, ends, start, out, capacity):
    """Write the texts of `count` documents, and the end of each relative to `start` to `ends`
    (int32); returns the number of texts written, which is smaller if the next one may not fit. For
    an invalid document the result is `fault << 32 | written`. `offsets` are int32; `bits`: the
    validity, 0: no nulls."""
    for i in range(count):
        at = first + i
        if bits == 0 or (load8(bits + (at >> 3)) >> (at & 7)) & 1:
            begin = load32_signed(offsets + 4 * at)
            length = load32_signed(offsets + 4 * at + 4) - begin
            if out - start + growth * length + SLACK > capacity:
                return np.int64(i)
            end = put_value(DOCUMENT, data + begin, length, dialect, 0, growth, out)
            if end == NO_ROOM:
                return np.int64(i)
            if end < 0:
                return end << 32 | i
            out = end
        store32(ends + 4 * i, out - start)
    return np.int64(count)
