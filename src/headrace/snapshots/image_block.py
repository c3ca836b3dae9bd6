"""Blocks of rows that are at hand as images, as snapshots and chunks take them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from headrace.connect.kernels.memory import PADDING
from headrace.snapshots.incremental.rows import ChunkRows
from headrace.streaming.changes.key_columns import KeyRendering
from headrace.streaming.changes.key_hashes import key_hashes
from headrace.streaming.facts import Facts


class ImageBlock(NamedTuple):
    """Images one after the other (uint8, with PADDING readable bytes after them, which are not
    part of the array), and offsets (int64, one more than rows) of where they begin and end."""

    images: np.ndarray
    offsets: np.ndarray

    @staticmethod
    def of(images: Iterable[bytes]) -> ImageBlock:
        """A copy of images that are objects of their own."""
        parts = list(images)
        offsets = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        padded = np.frombuffer(b"".join(parts) + bytes(PADDING), np.uint8)
        return ImageBlock(padded[: offsets[-1]], offsets)

    def rows(self, facts: Facts, rendering: KeyRendering, *, cut: bool = False) -> ChunkRows:
        """The rows of a chunk; `cut`: see ChunkRows."""
        hashes = key_hashes(self.images, self.offsets, facts, rendering)
        return ChunkRows(facts, self.images, self.offsets, hashes, rendering, cut)
