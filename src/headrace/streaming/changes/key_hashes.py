"""Hashes of the keys of rows that were read: equal to those of the log's rows with the same
keys."""

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.memory import address_of
from headrace.streaming.changes.kernels.hash_kernel import hash_rows
from headrace.streaming.changes.key_columns import KeyColumns, KeyRendering, KeyScratch
from headrace.streaming.facts import Facts


def key_hashes(
    images: np.ndarray, offsets: np.ndarray, facts: Facts, rendering: KeyRendering
) -> np.ndarray:
    """Return uint64 per row of `images` (PADDING readable bytes after them)."""
    count = len(offsets) - 1
    hashes = np.zeros(max(count, 1), np.uint64)
    keys = KeyColumns(facts, rendering)
    scratch = KeyScratch()
    scratch.know(keys)
    hashed = 0
    while hashed < count:
        hashed = hash_rows(
            address_of(images),
            address_of(offsets),
            hashed,
            count,
            len(facts.cell_names),
            rendering.topic_hash(facts.topic),
            address_of(keys.table),
            len(keys),
            address_of(scratch.memory),
            address_of(hashes),
        )
        if hashed < count:
            assert scratch.lacks, "COPY's rows have the columns that were asked for"
            scratch.render()
    return hashes[:count]
