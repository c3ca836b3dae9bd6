"""Reads incremental chunks: the next rows of tables on a snapshot that says what it sees."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import psycopg

from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog.catalog import Catalog
from headrace.connectors.postgresql.chunk_sizes import ChunkSizes
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect, translate
from headrace.connectors.postgresql.inserts import ChunkRows
from headrace.connectors.postgresql.lanes import Lanes
from headrace.connectors.postgresql.position import parse_lsn
from headrace.connectors.postgresql.reading.copy_limit import row_bytes
from headrace.connectors.postgresql.reading.key_ranges import (
    KeyRange,
    Skipped,
    Target,
    largest_key,
    limit_time,
    problems,
    split,
)
from headrace.connectors.postgresql.window import Chunk, Snapshot8, row_key
from headrace.errors import HeadraceError
from headrace.signals.progress import Key, Pending

log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True)
class _Part:
    """A range that is to be read; without, the table has `ended`."""

    table: Pending
    keys: KeyRange | None
    maximum: Key | None = None
    ended: str | None = None


class ChunkReader:
    """One connection and lanes beside it, opened when they are first needed. Raises HeadraceError
    that may be tried again when one is lost, and Skipped for a table that cannot be read."""

    def __init__(self, config: PostgresConfig, capture: Capture) -> None:
        self._config, self._capture = config, capture
        self._catalog = Catalog(config)
        self._lanes = Lanes(config)
        self._connection: psycopg.Connection | None = None

    def close(self) -> None:
        """Close the connections; never raises."""
        self._catalog.close()
        self._lanes.close()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def rest(self) -> None:
        """Nothing is to be read for now."""
        self._lanes.close()

    def tables(self) -> list[str]:
        """Names of the captured tables."""
        found = [t.name for t in self._catalog.tables() if self._capture.reads(t.name)]
        return sorted(found, key=self._capture.order)

    def next_xid(self) -> int:
        """An id that is larger than that of every transaction so far; on a standby, where nothing
        gets one, the end of a snapshot."""
        return int(
            self._one(
                "SELECT CASE WHEN pg_is_in_recovery()"
                " THEN txid_snapshot_xmax(txid_current_snapshot()) ELSE txid_current() END"
            )
        )

    def position(self) -> int:
        """Where the log is now."""
        return parse_lsn(
            self._one(
                "SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn()"
                " ELSE pg_current_wal_insert_lsn() END)::text"
            )
        )

    def visible(self) -> Snapshot8:
        """What a snapshot sees now."""
        return Snapshot8(self._one("SELECT txid_current_snapshot()::text"))

    def _one(self, query: str) -> str:
        try:
            row = self._connected().execute(query.encode()).fetchone()
        except psycopg.Error as error:
            self._connection = None
            raise translate(error, self._config, "Reading a chunk") from None
        assert row is not None
        return str(row[0])

    def _connected(self) -> psycopg.Connection:
        if self._connection is None or self._connection.closed:
            self._connection = connect(self._config, application="headrace incremental")
        return self._connection

    def estimates(self, names: Sequence[str]) -> dict[str, int]:
        """Rows of tables by the statistics; -1: there are none."""
        found = self._catalog.estimates(names)
        return {name: found.get(name, 0) for name in names}

    def target(self, pending: Pending) -> Target:
        """How to read a table. Raises Skipped."""
        if not self._capture.reads(pending.name):
            raise Skipped("UNKNOWN_SCHEMA", "it is not captured")
        oid = next((t.oid for t in self._catalog.tables() if t.name == pending.name), None)
        reading = self._catalog.read([] if oid is None else [oid], sizes=True)
        table = None if oid is None else reading.describe(oid)
        if table is None:
            raise Skipped("UNKNOWN_SCHEMA", "there is no such table")
        facts = self._capture.relation(table, table)
        key = (pending.surrogate,) if pending.surrogate else facts.key
        names = {column.name for column in table.columns}
        if not key:
            raise Skipped("NO_PRIMARY_KEY", "it has no key (name one with surrogate-key)")
        if pending.surrogate and pending.surrogate not in names:
            raise Skipped("SQL_EXCEPTION", f"there is no column {pending.surrogate}")
        condition = None
        if pending.condition is not None:
            try:
                from headrace.signals.conditions import checked_filter  # 0.2 s, seldom needed

                condition = checked_filter(pending.condition, pending.name, names)
            except ValueError as error:
                raise Skipped("SKIPPED", str(error)) from None
        needed = {*facts.key, *key}
        facts = replace(
            facts, columns=tuple(c for c in facts.columns if c.captured or c.name in needed)
        )
        nullable = tuple(name not in table.not_null for name in key)
        return Target(table, facts, key, nullable, condition, self._capture.key_rendering)

    def again(self, target: Target, lower: Key | None, upper: Key | None) -> ChunkRows:
        """The rows of a chunk as they are now. Raises Skipped."""
        wanted = KeyRange(target, lower, upper)
        found = self._transaction(lambda lead, *_: self._lanes.read(lead, None, [wanted])[0])
        if isinstance(found, Skipped):
            raise found
        return found

    def chunks(
        self,
        tables: Sequence[Pending],
        after: Key | None,
        maximum: Key | None,
        sizes: ChunkSizes,
    ) -> list[Chunk]:
        """The next chunks of `tables`, one table behind the other; `sizes.at_once` of them have
        rows. The first table is read from `after` to `maximum`; without, its largest key is found.
        A chunk with less rows than asked for is a table's last one, unless they are Debezium's."""
        most = sizes.at_once

        def read(lead: psycopg.Connection, seen: str, taken: int, name: str | None) -> list[Chunk]:
            parts: list[_Part] = []
            for table in tables:
                room = most - sum(part.keys is not None for part in parts)
                if room <= 0:
                    break
                bounds = (None, None) if parts else (after, maximum)
                parts += self._parts(lead, table, *bounds, sizes, room)
            ranges = [part.keys for part in parts if part.keys is not None]
            found = iter(self._lanes.read(lead, name, ranges))
            ends_early = not sizes.as_debezium
            return _chunks(parts, found, Snapshot8(seen), taken, ends_early=ends_early)

        return self._transaction(read, exports=most > 1)

    def _transaction(
        self,
        work: Callable[[psycopg.Connection, str, int, str | None], T],
        *,
        exports: bool = False,
    ) -> T:
        """`work` is given what its snapshot sees, the time, and the name others know it by."""
        lead = self._connected()
        try:
            lead.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            row = lead.execute(
                "SELECT txid_current_snapshot()::text,"
                " (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, "
                + ("pg_export_snapshot()" if exports else "NULL")
            ).fetchone()
            assert row is not None
            found = work(lead, str(row[0]), int(row[1]), row[2])
            lead.execute("ROLLBACK")
        except psycopg.Error as error:
            self._lose()
            raise translate(error, self._config, "Reading a chunk") from None
        except HeadraceError:
            self._lose()
            raise
        return found

    def _lose(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _parts(
        self,
        lead: psycopg.Connection,
        table: Pending,
        after: Key | None,
        maximum: Key | None,
        sizes: ChunkSizes,
        room: int,
    ) -> list[_Part]:
        try:
            target = self.target(table)
            with problems(self._config, lead):
                limit_time(lead, self._config, target)
                if maximum is None:
                    maximum = largest_key(lead, target)
                    if maximum is None:
                        return [_Part(table, None, ended="EMPTY")]
                size = sizes.rows(table, lambda: row_bytes(lead, list(target.oids)))
                whole = KeyRange(target, after, maximum, None, sizes.chunk_bytes)
                ranges = split(lead, whole, size, room)
        except Skipped as problem:
            log.warning("%s is not read: %s", table.name, problem)
            return [_Part(table, None, ended=problem.status)]
        return [_Part(table, part, maximum) for part in ranges]


def _chunks(
    parts: Sequence[_Part],
    found: Iterator[ChunkRows | Skipped],
    seen: Snapshot8,
    taken: int,
    *,
    ends_early: bool,
) -> list[Chunk]:
    chunks: list[Chunk] = []
    ended: Pending | None = None
    for part in parts:
        if part.keys is None:
            chunks.append(Chunk(part.table, None, seen, taken, done=part.ended))
            continue
        rows = next(found)
        if part.table is ended:
            continue  # a chunk before this one could not be read
        if isinstance(rows, Skipped):
            log.warning("%s is not read: %s", part.table.name, rows)
            ended = part.table
            chunks.append(Chunk(part.table, None, seen, taken, done=rows.status))
            continue
        limit = part.keys.limit
        ends = limit is not None and len(rows) < (limit if ends_early else 1) and not rows.cut
        upper: Key | None = None
        if len(rows):
            last = row_key(rows, len(rows) - 1, part.keys.target.key)
            upper = tuple(None if value is None else value.decode() for value in last)
        chunks.append(
            Chunk(
                part.table,
                rows if len(rows) else None,
                seen,
                taken,
                part.keys.lower,
                upper,
                part.maximum,
                part.keys.target.oids,
                "SUCCEEDED" if ends else None,
            )
        )
        if rows.cut:
            break  # what comes behind it is read when the rest of it was
    return chunks
