"""Compares the values of two columns, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from numpy.typing import NDArray


def equal_values(left: pa.Array, right: pa.Array) -> NDArray[np.bool_]:
    """Return whether each value equals the one at its place in another array of the same type and
    length. Null equals null; floats are equal if all their bits are; the order of the elements of
    lists and maps counts."""
    is_null = _mask(left.is_null())
    other_is_null = _mask(right.is_null())
    equal = _equal(left, right)
    return np.asarray(np.where(is_null | other_is_null, is_null & other_is_null, equal))


def _equal(left: pa.Array, right: pa.Array) -> NDArray[np.bool_]:
    """Return whether the values are equal, undefined for nulls."""
    kind, types = left.type, pa.types
    if types.is_struct(kind):
        equal = np.ones(len(left), np.bool_)
        for left_member, right_member in zip(left.flatten(), right.flatten(), strict=True):
            equal &= equal_values(left_member, right_member)
        return equal
    if types.is_map(kind):
        entries = pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)]))
        return _equal(left.cast(entries), right.cast(entries))
    if types.is_list(kind) or types.is_large_list(kind):
        return _equal_lists(left, right)
    if types.is_floating(kind):
        whole = pa.int64() if types.is_float64(kind) else pa.int32()
        left, right = left.view(whole), right.view(whole)
    return _mask(pc.fill_null(pc.equal(left, right), False))


def _equal_lists(left: pa.Array, right: pa.Array) -> NDArray[np.bool_]:
    counts = pc.fill_null(pc.list_value_length(left), 0).to_numpy(zero_copy_only=False)
    equal: NDArray[np.bool_] = counts == pc.fill_null(pc.list_value_length(right), 0).to_numpy(
        zero_copy_only=False
    )
    alike = pa.array(equal)
    elements = pc.list_flatten(left.filter(alike)), pc.list_flatten(right.filter(alike))
    differs = ~equal_values(*elements)
    rows = np.repeat(np.flatnonzero(equal), counts[equal])
    equal[rows[differs]] = False
    return equal


def _mask(flags: pa.Array) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = flags.to_numpy(zero_copy_only=False).astype(np.bool_)
    return mask
