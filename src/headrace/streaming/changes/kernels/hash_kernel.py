"""Hashes of the keys of many images."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from headrace.connect.images import split_checked
from headrace.connect.kernels.functions import entry
from headrace.connect.kernels.memory import load64, store64
from headrace.streaming.changes.kernels import key_kernel


@entry
def hash_rows(images, offsets, first, count, columns, topic, keys, key_count, scratch, hashes):
    """Hash the rows from `first` on; return the number of the row where it stopped: its image is
    broken, or the scratch memory lacks texts of its key."""
    for row in range(first, count):
        start = images + offsets[row]
        end = images + offsets[row + 1]
        if split_checked(start, end, columns, scratch) < 0:
            return row
        value = key_kernel.key_hash(topic, keys, key_count, scratch, 0, scratch)
        if load64(scratch + key_kernel.RENDERED):
            if load64(scratch + key_kernel.LACKING):
                return row
            store64(scratch + key_kernel.RENDERED, 0)
        hashes[row] = value
    return count
