"""Rows that seem to differ, and their values at the source when it is read again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from headrace.sinks.replicas.keys import KeySet
from headrace.sinks.replicas.verifying.digests import row_digests
from headrace.sinks.replicas.verifying.row_index import RowPlace
from headrace.sinks.replicas.verifying.source_rows import Chunk


@dataclass
class Suspects:
    """Rows that seem to differ, of distinct keys. For each: the digest of the source's row (None:
    no row) and its number in `rows`, the chunk that contained it (None: no chunk), the rows that
    the replica had before, and the digest of the source's row if the replica lacked it in the
    previous round."""

    keys: pa.Table
    rows: pa.Table
    source: list[int | None] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    chunks: list[Chunk | None] = field(default_factory=list)
    before: list[tuple[RowPlace, ...]] = field(default_factory=list)
    lacked: list[int | None] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.source)

    def taken(self, places: Sequence[int]) -> Suspects:
        """Return some of them, by their places."""
        return Suspects(
            self.keys.take(pa.array(places, pa.int64())),
            self.rows,
            [self.source[at] for at in places],
            [self.numbers[at] for at in places],
            [self.chunks[at] for at in places],
            [self.before[at] for at in places],
            [self.lacked[at] for at in places],
        )


def looked_up(
    suspects: Suspects, read: Iterable[tuple[Chunk, pa.Table]], empty: pa.Table
) -> Suspects:
    """Return the suspects with the current rows of the source, from chunks that were read again. A
    row that no longer exists keeps its chunk. `empty` has the compared columns."""
    count = len(suspects)
    key_set = KeySet(suspects.keys)
    places_of_keys = key_set.first_rows()
    tables = [empty]
    source: list[int | None] = [None] * count
    numbers, chunks = [-1] * count, list(suspects.chunks)
    total = 0
    for chunk, rows in read if count else ():
        places, key_numbers = key_set.find([rows[name] for name in suspects.keys.column_names])
        chosen = rows.take(pa.array(np.asarray(places, np.int64)))
        digests = row_digests(chosen, empty.column_names).tolist()
        for number, digest in zip(key_numbers.tolist(), digests, strict=True):
            at = int(places_of_keys[number])
            source[at], numbers[at], chunks[at] = digest, total, chunk
            total += 1
        tables.append(chosen)
    rows = pa.concat_tables(tables)
    return Suspects(suspects.keys, rows, source, numbers, chunks, suspects.before, suspects.lacked)
