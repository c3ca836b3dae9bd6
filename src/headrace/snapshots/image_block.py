"""Blocks of rows in memory as images, for snapshots and incremental chunks."""

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
    """Consecutive images (uint8; PADDING bytes after them are readable, but not part of the array),
    and the offsets (int64, one more than rows) at which they begin and end."""

    images: np.ndarray
    offsets: np.ndarray

    @staticmethod
    def of(images: Iterable[bytes]) -> ImageBlock:
        """Copy images that are separate objects."""
        parts = list(images)
        offsets = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        padded = np.frombuffer(b"".join(parts) + bytes(PADDING), np.uint8)
        return ImageBlock(padded[: offsets[-1]], offsets)

    def rows(self, facts: Facts, rendering: KeyRendering, *, cut: bool = False) -> ChunkRows:
        """Return the rows of a chunk; `cut`: see ChunkRows."""
        hashes = key_hashes(self.images, self.offsets, facts, rendering)
        return ChunkRows(facts, self.images, self.offsets, hashes, rendering, cut)
