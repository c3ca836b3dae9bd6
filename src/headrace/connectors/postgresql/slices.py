"""Slices of the streamed log, as they travel to tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from headrace.connect.records import Records, group_by_shape
from headrace.connect.rows import RowTable
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.events import EventSettings, RelationFacts, shape_of
from headrace.connectors.postgresql.row_lookup import read_again
from headrace.spool.extract import Inline, InMemory


@dataclass(frozen=True)
class LogSlice:
    """Rows [first, last) of a planned range whose hash modulo `slices` is `number`; all of them
    for a position slice (`slices` 1). `lookups` connects when a post-processor reads rows again.
    `size` is the bytes of the images that its rows have."""

    rows: InMemory | Inline
    first: int
    last: int
    slices: int
    number: int
    epoch: int
    relations: Mapping[int, RelationFacts]
    settings: EventSettings
    lookups: PostgresConfig | None = None
    size: int = 0

    @property
    def log_bytes(self) -> int | None:
        """See the contract."""
        if self.lookups is not None:
            return None
        return len(self.rows.images) if isinstance(self.rows, Inline) else self.size

    def read(self) -> Iterator[list[Records]]:
        """One piece: the Records of the whole slice."""
        if isinstance(self.rows, Inline):
            table = self.rows.load()
        else:
            table = self.rows.load(self.first, self.last)
            if self.slices > 1:
                mine = table.rows["hash"] % np.uint64(self.slices) == self.number
                orders = None if table.orders is None else table.orders[mine]
                table = RowTable(table.rows[mine], table.transactions, table.memory, orders)
        if len(table) == 0:
            return
        if self.lookups is not None:
            table = read_again(table, self.relations, self.lookups)
        shapes = {
            int(index): shape_of(self.relations[int(index)], self.settings)
            for index in np.unique(table.rows["relation"])
        }
        yield group_by_shape(table, shapes)
