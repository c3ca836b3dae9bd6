"""Texts and bytes of Arrow columns by address and length, for kernels."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headrace.connect.kernels.memory import PADDING, address_of

NO_SPAN = -1
"""The length of a null."""


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts or bytes, one per record.

    `spans` is int64, contiguous: (address, length) each, with the length NO_SPAN for a null.
    `memory` owns the bytes at these addresses, with PADDING readable bytes after each text.
    """

    spans: np.ndarray
    memory: tuple[object, ...]

    def __len__(self) -> int:
        return len(self.spans)

    def raw(self, index: int) -> bytes:
        """Return the bytes of a text that is not null."""
        address, length = self.spans[index].tolist()
        return ctypes.string_at(address, length)

    @property
    def present(self) -> np.ndarray:
        """Whether each text is not null (bool)."""
        return np.asarray(self.spans[:, 1] >= 0)


def texts_of(array: pa.Array | None, count: int) -> Texts:
    """Return the texts of a column of texts or bytes; None: `count` nulls."""
    spans = np.full((count, 2), NO_SPAN, np.int64)
    if array is None or not count:
        return Texts(spans, ())
    binary = array.cast(pa.large_binary())
    _, offsets, values = binary.buffers()
    ends = np.frombuffer(offsets, np.int64)[binary.offset : binary.offset + count + 1]
    begin, end = int(ends[0]), int(ends[-1])
    memory = np.empty(end - begin + PADDING, np.uint8)
    memory[end - begin :] = 0
    if values is not None:
        memory[: end - begin] = np.frombuffer(values, np.uint8)[begin:end]
    present = np.asarray(binary.is_valid())
    spans[:, 0] = ends[:-1] - begin + address_of(memory)
    spans[present, 1] = np.diff(ends)[present]
    return Texts(spans, (memory,))


def is_utf8(array: pa.Array | None, count: int) -> np.ndarray:
    """Whether each text is UTF-8 (bool, one per record); true for a null."""
    sound = np.ones(count, np.bool_)
    if array is None or not (
        pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type)
    ):
        return sound
    try:
        array.cast(pa.large_binary()).cast(pa.large_string())
    except pa.ArrowInvalid:
        for index, raw in enumerate(array.to_pylist()):
            try:
                bytes(raw or b"").decode()
            except UnicodeDecodeError:
                sound[index] = False
    return sound
