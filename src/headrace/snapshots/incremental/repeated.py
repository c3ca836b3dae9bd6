"""Chunks of ranges that an earlier process planned: their rows are lost with it, so they are read
again, with the same or newer values."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

from headrace.signals.progress import Insert, Pending
from headrace.snapshots.incremental.chunk_source import ChunkSource, Skipped
from headrace.snapshots.incremental.inserts import Block, chunk_block, notification_block
from headrace.snapshots.incremental.reader import ChunkReader, OtherOrder

log = logging.getLogger(__name__)


class RepeatedChunks:
    """Reads with `reader` from `source`; notifications go to the topic `topic`."""

    def __init__(self, source: ChunkSource[Any], reader: ChunkReader[Any], topic: str) -> None:
        self._source, self._reader, self._topic = source, reader, topic

    def block(self, insert: Insert) -> Block | None:
        """Return the records of an insert, on a snapshot that sees every delivered change; None:
        its rows are left out, because the table cannot be read any more, or because all of it will
        be read (see `unread`). Raises HeadraceError."""
        if insert.table is None:
            return notification_block(insert, self._topic)
        while not self._source.delivered.are_visible():
            time.sleep(0.05)
        try:
            rows = self._reader.again(insert)
        except OtherOrder:
            return None
        except Skipped as problem:
            log.warning("a chunk of %s is left out: %s", insert.table.name, problem)
            return None
        return chunk_block(insert, rows, self._source.transaction_image)

    def unread(self, inserts: Sequence[Insert], tables: Sequence[Pending]) -> tuple[Pending, ...]:
        """Return the tables of these inserts that have another order now, so that it is unknown
        whether the range had their rows, except `tables`, which will be read in any case. Raises
        HeadraceError."""
        orders: dict[Pending, str] = {
            insert.table: insert.order
            for insert in inserts
            if insert.table is not None and insert.order is not None
        }
        changed = []
        for table, order in orders.items():
            if table not in tables and self._reader.has_other_order(table, order):
                log.warning("%s", OtherOrder(table))
                changed.append(table)
        return tuple(changed)
