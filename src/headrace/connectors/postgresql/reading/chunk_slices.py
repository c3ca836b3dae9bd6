"""Slices of chunks of the initial snapshot, as tasks read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import psycopg

from headrace.connect.kernels.memory import address_of
from headrace.connect.records import Records, group_by_shape
from headrace.connect.rows import MARKERS, NULL, ROW, TRANSACTION, RowTable, Sequences
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import (
    connect,
    find_operators_in,
    settings_of_users,
    translate,
)
from headrace.connectors.postgresql.events import types_of
from headrace.connectors.postgresql.reading.filtered_rows import read_rows
from headrace.connectors.postgresql.reading.keeper import lost_snapshot
from headrace.connectors.postgresql.types.type_facts import operator_schemas
from headrace.relational.events import RelationFacts
from headrace.signals.progress import Insert
from headrace.snapshots.chunks import Chunk, Cut
from headrace.snapshots.incremental.inserts import notification_block, transaction_of
from headrace.snapshots.notifications import ChunkAnnouncements
from headrace.streaming.facts import EventSettings, shape_of


@dataclass(frozen=True)
class ChunkQuery:
    """A chunk, its COPY statement, and what its columns are. `filtered`: with a signal's filter,
    which may fail on a row. `count` asks for the number of the table's rows, when the chunk is not
    all of the table and somebody is to be told."""

    chunk: Chunk
    statement: str
    facts: RelationFacts
    announcements: ChunkAnnouncements | None = None
    filtered: bool = False
    count: str | None = None

    def rows_of_table(self, connection: psycopg.Connection, rows: int) -> int:
        """How many rows the table has in this snapshot; `rows` came in this chunk."""
        if self.count is None:
            return rows
        try:
            with connection.transaction():
                row = connection.execute(self.count.encode()).fetchone()
        except (psycopg.DataError, psycopg.ProgrammingError):
            return rows  # a signal's filter fails on a row
        return rows if row is None else int(row[0])


@dataclass(frozen=True)
class ChunkSlice:
    """Chunks that one task reads on the keeper's snapshot, one after the other."""

    queries: tuple[ChunkQuery, ...]
    snapshot_id: str
    lsn: int
    taken_us: int
    txid: int | None
    sequences: Sequences
    settings: EventSettings
    config: PostgresConfig
    last_commit: int | None = None
    kind: int = 0
    log_bytes: ClassVar[int | None] = None

    def read(self) -> Iterator[list[Records]]:
        """A piece per block of rows. Raises HeadraceError("postgresql.snapshot_gone")."""
        connection = connect(self.config, application="headrace chunk")
        try:
            try:
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                connection.execute(f"SET TRANSACTION SNAPSHOT '{self.snapshot_id}'".encode())
                connection.execute("SET LOCAL max_parallel_workers_per_gather = 0")
            except psycopg.Error as error:
                found = lost_snapshot(error)
                raise found or translate(error, self.config, "Reading a chunk") from None
            found_in: set[str] = set()
            for query in self.queries:
                schemas = operator_schemas(types_of(query.facts))
                if query.chunk.kind is Cut.WHOLE:
                    with settings_of_users(connection):
                        yield from self._chunk(connection, query)
                    found_in = set()
                    continue
                if schemas != found_in:
                    find_operators_in(connection, schemas)
                    found_in = schemas
                yield from self._chunk(connection, query)
        finally:
            connection.pgconn.finish()

    def _chunk(self, connection: psycopg.Connection, query: ChunkQuery) -> Iterator[list[Records]]:
        shape = shape_of(query.facts, self.settings)
        transaction = np.zeros(1, TRANSACTION)
        transaction["xid"] = NULL if self.txid is None else self.txid
        transaction["commit_us"] = self.taken_us
        transaction["commit_ms"] = self.taken_us // 1000
        transaction["commit_ns"] = self.taken_us * 1000
        transaction["last_commit"] = NULL if self.last_commit is None else self.last_commit
        transaction["final_lsn"] = self.lsn
        transaction["xmin"] = NULL
        done = shift = 0
        announcements = query.announcements
        if announcements is not None:
            shift = len(announcements.before)
            place = (self.lsn, self.kind, query.chunk.ordinal, 0)
            yield from records_of(
                announcements.before, announcements.topic, place, 0, self.settings
            )
        # One block is held back, because the last row carries a marker.
        held: RowTable | None = None
        for images, offsets in read_rows(
            connection, query.statement, query.facts, filtered=query.filtered
        ):
            count = len(offsets) - 1
            if count == 0:
                continue
            if held is not None:
                yield group_by_shape(held, {0: shape})
            rows = np.zeros(count, ROW)
            rows["new"] = address_of(images) + offsets[:-1]
            rows["size"] = offsets[1:] - offsets[:-1]
            rows["position"] = self.lsn
            rows["lsn"] = self.lsn
            rows["kind"], rows["ordinal"] = self.kind, query.chunk.ordinal
            rows["part"] = np.arange(shift + done, shift + done + count)
            rows["operation"] = ord("r")
            rows["marker"] = MARKERS.index("true")
            if done == 0 and query.chunk.first:
                name = "first" if query.chunk.first == "run" else "first_in_data_collection"
                rows["marker"][0] = MARKERS.index(name)
            done += count
            held = RowTable(rows, transaction, (images,))
        if held is not None:
            if query.chunk.last:
                last = held.rows["marker"]
                name = "last" if query.chunk.last == "run" else "last_in_data_collection"
                if not (name != "last" and MARKERS[last[-1]] == "first"):
                    last[-1] = MARKERS.index(name)
            yield group_by_shape(held, {0: shape})
        if announcements is not None and announcements.behind:
            place = (self.lsn, self.kind, query.chunk.ordinal, shift + done)
            scanned = query.rows_of_table(connection, done)
            yield from records_of(
                announcements.behind, announcements.topic, place, scanned, self.settings
            )


def records_of(
    notifications: Sequence[dict[str, Any]],
    topic: str,
    place: tuple[int, int, int, int],
    scanned: int,
    settings: EventSettings,
) -> Iterator[list[Records]]:
    """A piece per notification at `place`: position, kind, ordinal, first part. `scanned` is how
    many rows the table had."""
    position, kind, ordinal, part = place
    for number, notification in enumerate(notifications):
        data = dict(notification["additional_data"])
        if notification["type"] == "TABLE_SCAN_COMPLETED":
            data["total_rows_scanned"] = str(scanned)
        insert = Insert(
            (position, kind, ordinal, part + number),
            position,
            None,
            notification["timestamp"] * 1000,
            notification={**notification, "additional_data": data},
        )
        block = notification_block(insert, topic)
        rows = block.rows.copy()
        rows["new"] = address_of(block.images)
        table = RowTable(rows, transaction_of(insert), (block.images,))
        yield group_by_shape(table, {0: shape_of(block.facts, settings)})
