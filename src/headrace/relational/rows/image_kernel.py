"""Builds images of rows from columns of texts.

The rules on memory are those of `headrace.connect.kernels.memory`, except that no byte after a text
is read: Arrow's memory may end there.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from headrace.connect.images import CELL_HEAD_BYTES, HEAD_BYTES, put_head, put_null, put_text_head
from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.memory import copy16, load8, load64, store8, store64

# Words of a column of texts, int64 each. VALIDITY is the address of bits, of which the first row's
# is bit SHIFT (0: no row is null); OFFSETS that of int64s, one more than rows; a column without
# DATA and OFFSETS is null in every row.
VALIDITY, SHIFT, OFFSETS, DATA = 0, 8, 16, 24
COLUMN_BYTES = 32


@part
def _is_null(column, row):
    if load64(column + OFFSETS) == 0:
        return True
    validity = load64(column + VALIDITY)
    if validity == 0:
        return False
    bit = row + load64(column + SHIFT)
    return (load8(validity + (bit >> 3)) >> (bit & 7)) & 1 == 0


@part
def copy_exactly(source, length, target):
    """Copy `length` bytes and read no byte after them; returns the end of the copy."""
    whole = length & ~15
    for offset in range(0, whole, 16):
        copy16(target + offset, source + offset)
    for offset in range(whole, length):
        store8(target + offset, load8(source + offset))
    return target + length


@entry
def measure_images(columns, count, rows, offsets):
    """Write the offsets of the images of `rows` rows of `count` columns: `rows + 1` int64s. Returns
    the total size in bytes."""
    total = 0
    store64(offsets, total)
    for row in range(rows):
        total += HEAD_BYTES
        for number in range(count):
            column = columns + COLUMN_BYTES * number
            if _is_null(column, row):
                total += 1
            else:
                start = load64(column + OFFSETS) + 8 * row
                total += CELL_HEAD_BYTES + load64(start + 8) - load64(start)
        offsets[row + 1] = total
    return total


@entry
def write_images(columns, count, rows, out):
    """Write the images that `measure_images` measured, one after the other; returns their end."""
    for row in range(rows):
        out = put_head(out, count)
        for number in range(count):
            column = columns + COLUMN_BYTES * number
            if _is_null(column, row):
                out = put_null(out)
                continue
            start = load64(column + OFFSETS) + 8 * row
            first = load64(start)
            length = load64(start + 8) - first
            out = copy_exactly(load64(column + DATA) + first, length, put_text_head(out, length))
    return out
