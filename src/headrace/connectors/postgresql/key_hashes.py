"""Hashes of the keys of rows that were read: the same as the log's rows of the same keys have."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.memory import PADDING, address_of, kernel, load64, store64
from headrace.connectors.postgresql import decoder
from headrace.connectors.postgresql.events import RelationFacts
from headrace.connectors.postgresql.relations import topic_hash


@kernel
def _hash_rows(images, offsets, count, columns, relation, cells, hashes):
    """Returns the number of rows done: fewer than `count` when one is broken."""
    for row in range(count):
        start = images + load64(offsets + 8 * row)
        end = images + load64(offsets + 8 * row + 8)
        if decoder.split_checked(start, end, columns, cells) < 0:
            return row
        store64(hashes + 8 * row, decoder.key_hash(relation, cells, 0))
    return count


def key_hashes(images: np.ndarray, offsets: np.ndarray, facts: RelationFacts) -> np.ndarray:
    """uint64 per row of `images` (PADDING readable bytes behind them)."""
    count = len(offsets) - 1
    hashes = np.zeros(max(count, 1), np.uint64)
    names = [column.name for column in facts.columns]
    keys = np.array([names.index(name) for name in facts.key], np.int64)
    relation = np.zeros(decoder.RELATION_WORDS, np.int64)
    relation[: decoder.COMPARED] = (
        1,
        len(names),
        topic_hash(facts.topic),
        address_of(keys),
        len(keys),
    )
    scratch = np.empty(24 * max(len(names), 1) + PADDING, np.uint8)
    done = _hash_rows(
        address_of(images),
        address_of(offsets),
        count,
        len(names),
        address_of(relation),
        address_of(scratch),
        address_of(hashes),
    )
    assert done == count, "COPY's rows have the columns that were asked for"
    return hashes[:count]
