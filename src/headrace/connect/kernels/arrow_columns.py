"""Addresses of Arrow columns, for kernels that read them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa


class ColumnAddresses(NamedTuple):
    """The addresses of a column of texts or bytes with 32-bit offsets; valid while the array lives.
    `validity` is 0 if no row is null, its bits begin at `shift`; `offsets` is the address of the
    first row's offset; `length` is the bytes of all rows."""

    validity: int
    offsets: int
    data: int
    shift: int
    length: int


def with_short_offsets(array: pa.Array) -> pa.Array:
    """Return the column as string or binary; a column of type null as string."""
    kind = array.type
    if pa.types.is_large_string(kind) or pa.types.is_null(kind):
        return array.cast(pa.string())
    if pa.types.is_large_binary(kind):
        return array.cast(pa.binary())
    return array


def column_addresses(array: pa.Array) -> ColumnAddresses:
    """Return the addresses of a column that `with_short_offsets` returned."""
    validity, offsets, data = array.buffers()
    length = 0
    if len(array) and offsets is not None:
        ends = np.frombuffer(offsets, np.int32, count=array.offset + len(array) + 1)
        length = int(ends[-1]) - int(ends[array.offset])
    return ColumnAddresses(
        validity.address if validity is not None and array.null_count else 0,
        (offsets.address if offsets is not None else 0) + 4 * array.offset,
        data.address if data is not None else 0,
        array.offset,
        length,
    )
