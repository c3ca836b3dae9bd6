"""Members of documents with the same structure, many at a time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from headrace.connect.evaluation import gathering
from headrace.connect.images import BINARY
from headrace.connect.kernels.memory import address_of
from headrace.documents.bson import Kind
from headrace.documents.splitting import Structure
from headrace.documents.values import FIXED_SIZES, elements_of

_HEAD = 5
"""Bytes of a value before its first member: its type and its length."""
_UNCOUNTED_BYTES = {
    Kind.STRING: 4, Kind.CODE: 4, Kind.SYMBOL: 4, Kind.BINARY: 5, Kind.DB_POINTER: 16,
    Kind.DOCUMENT: 0, Kind.ARRAY: 0, Kind.CODE_WITH_SCOPE: 0,
}  # fmt: skip
"""Bytes of a value that its length prefix does not count."""
_UNREADABLE = "\ufffd"


def member_values(
    documents: np.ndarray, structure: Structure, names: tuple[str, ...]
) -> list[pa.BinaryArray]:
    """Return, for each of `names`, the bytes of the last member; the structure has all of them.

    `documents` are cells (kind, address, length) of valid documents of the structure, a type byte
    and its value each.
    """
    everywhere = np.ones(len(documents), np.bool_)
    values = gathering.as_binary(documents, everywhere)
    kinds = [(name, inner.kind) for name, inner in structure.members]
    lasts = {name: number for number, (name, _) in enumerate(kinds) if name in names}
    walked = kinds[: 1 + max(lasts.values())]
    if any(kind is Kind.REGEX or _UNREADABLE in name for name, kind in walked):
        return _one_by_one(values, names)
    data = np.frombuffer(values.buffers()[2], np.uint8)
    place = np.frombuffer(values.buffers()[1], np.int64)[: len(documents)] + _HEAD
    by_name: dict[str, pa.BinaryArray] = {}
    for number, (name, kind) in enumerate(walked):
        types = data[place]
        place = place + 2 + len(name.encode())
        sizes = _sizes(kind, types, data, place)
        if lasts.get(name) == number:
            binary_kinds = np.full(len(documents), BINARY)
            cells = np.stack([binary_kinds, place + address_of(data), sizes], axis=1)
            by_name[name] = gathering.as_binary(cells, everywhere).cast(pa.binary())
        place = place + sizes
    return [by_name[name] for name in names]


def _sizes(kind: Kind, types: np.ndarray, data: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Sizes in bytes of the values at these places (int64)."""
    if kind is Kind.INT32:  # a Structure counts small int64 values as int32
        return np.where(types == Kind.INT64, FIXED_SIZES[Kind.INT64], FIXED_SIZES[kind])
    if kind in FIXED_SIZES:
        return np.full(len(place), FIXED_SIZES[kind])
    length = np.zeros(len(place), np.int64)
    for byte in range(4):
        length |= data[place + byte].astype(np.int64) << 8 * byte
    return length + _UNCOUNTED_BYTES[kind]


def _one_by_one(values: pa.LargeBinaryArray, names: tuple[str, ...]) -> list[pa.BinaryArray]:
    members = [
        {name: raw for _, name, raw in elements_of(value[1:])} for value in values.to_pylist()
    ]
    return [pa.array([document[name] for document in members], pa.binary()) for name in names]
