"""Hashes of the keys of rows that were read: the same as the log's rows of the same keys have."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.images import split_checked
from headrace.connect.kernels.functions import entry
from headrace.connect.kernels.memory import address_of, load64, store64
from headrace.streaming.changes import key_kernel
from headrace.streaming.changes.key_columns import KeyColumns, KeyRendering, KeyScratch
from headrace.streaming.facts import Facts


@entry
def _hash_rows(images, offsets, first, count, columns, topic, keys, key_count, scratch, hashes):
    """Hash the rows from `first` on; returns the number of the row where it stopped: its image is
    broken, or the scratch memory lacks texts of its key."""
    for row in range(first, count):
        start = images + load64(offsets + 8 * row)
        end = images + load64(offsets + 8 * row + 8)
        if split_checked(start, end, columns, scratch) < 0:
            return row
        value = key_kernel.key_hash(topic, keys, key_count, scratch, 0, scratch)
        if load64(scratch + key_kernel.RENDERED):
            if load64(scratch + key_kernel.LACKING):
                return row
            store64(scratch + key_kernel.RENDERED, 0)
        store64(hashes + 8 * row, value)
    return count


def key_hashes(
    images: np.ndarray, offsets: np.ndarray, facts: Facts, rendering: KeyRendering
) -> np.ndarray:
    """uint64 per row of `images` (PADDING readable bytes behind them)."""
    count = len(offsets) - 1
    hashes = np.zeros(max(count, 1), np.uint64)
    keys = KeyColumns(facts, rendering)
    scratch = KeyScratch()
    scratch.know(keys)
    done = 0
    while done < count:
        done = _hash_rows(
            address_of(images),
            address_of(offsets),
            done,
            count,
            len(facts.cell_names),
            rendering.topic_hash(facts.topic),
            address_of(keys.table),
            len(keys),
            address_of(scratch.memory),
            address_of(hashes),
        )
        if done < count:
            assert scratch.lacks, "COPY's rows have the columns that were asked for"
            scratch.render()
    return hashes[:count]
