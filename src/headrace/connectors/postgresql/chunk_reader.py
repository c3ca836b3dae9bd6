"""Reads incremental chunks: the next rows of a table on a snapshot that says what it sees."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import psycopg
from psycopg import sql

from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog import Catalog, CatalogTable
from headrace.connectors.postgresql.chunk_query import (
    chunk_statement,
    is_after,
    is_upto,
    maximum_statement,
)
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect, translate
from headrace.connectors.postgresql.copy_reader import read_copy
from headrace.connectors.postgresql.events import RelationFacts
from headrace.connectors.postgresql.inserts import ChunkRows
from headrace.connectors.postgresql.key_hashes import key_hashes
from headrace.connectors.postgresql.messages import RelationColumn, RelationMessage
from headrace.connectors.postgresql.offset import parse_lsn
from headrace.connectors.postgresql.window import Snapshot8, row_key
from headrace.errors import HeadraceError
from headrace.signals.progress import Key, Pending


@dataclass(frozen=True)
class Target:
    """A table that can be read in chunks: by which columns, and under which condition."""

    table: CatalogTable
    facts: RelationFacts
    key: tuple[str, ...]
    nullable: tuple[bool, ...]
    condition: str | None


class Skipped(Exception):
    """A table that is not read; `status` is Debezium's word for it."""

    def __init__(self, status: str, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True)
class Chunk:
    """Rows, the snapshot they were read on, and when; `maximum` is the table's largest key."""

    rows: ChunkRows
    seen: Snapshot8
    taken_us: int
    maximum: Key | None
    upper: Key | None


class ChunkReader:
    """One connection, opened when it is first needed. Raises HeadraceError that may be tried
    again when it is lost, and Skipped for a table that cannot be read."""

    def __init__(self, config: PostgresConfig, capture: Capture) -> None:
        self._config, self._capture = config, capture
        self._catalog = Catalog(config)
        self._connection: psycopg.Connection | None = None

    def close(self) -> None:
        """Close the connections; never raises."""
        self._catalog.close()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

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

    def target(self, pending: Pending) -> Target:
        """How to read a table. Raises Skipped."""
        if not self._capture.reads(pending.name):
            raise Skipped("UNKNOWN_SCHEMA", "it is not captured")
        oid = next((t.oid for t in self._catalog.tables() if t.name == pending.name), None)
        table = None if oid is None else self._catalog.describe(oid)
        if table is None:
            raise Skipped("UNKNOWN_SCHEMA", "there is no such table")
        message = RelationMessage(
            table.oid,
            table.schema,
            table.table,
            "d",
            tuple(
                RelationColumn(c.name, c.type_oid, c.typmod, c.name in table.key)
                for c in table.columns
            ),
        )
        facts = self._capture.relation(message, self._catalog)
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
        return Target(table, facts, key, nullable, condition)

    def read(
        self,
        target: Target,
        lower: Key | None,
        maximum: Key | None,
        *,
        limit: int | None,
    ) -> Chunk:
        """The rows of (lower, maximum], `limit` of them at most. Without `maximum` it is found
        first, and does not bound the rows."""
        connection = self._connected()
        try:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            if target.condition is not None:
                # What others wrote may take as long as a query of ours, and no longer.
                timeout = self._config.database_query_timeout_ms
                connection.execute(f"SET LOCAL statement_timeout = {timeout}".encode())
            row = connection.execute(
                "SELECT txid_current_snapshot()::text,"
                " (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
            ).fetchone()
            assert row is not None
            seen = Snapshot8(str(row[0]))
            found = self._rows(connection, target, lower, maximum, limit)
            connection.execute("ROLLBACK")
        except psycopg.OperationalError as error:
            if error.sqlstate != "57014":  # the statement's time is over
                self._connection = None
                connection.close()
                raise translate(error, self._config, "Reading a chunk") from None
            connection.execute("ROLLBACK")
            raise Skipped("SQL_EXCEPTION", _text(error)) from None
        except psycopg.Error as error:
            connection.execute("ROLLBACK")
            raise Skipped("SQL_EXCEPTION", _text(error)) from None
        except HeadraceError as error:
            if error.code != "postgresql.copy_failed":
                raise
            connection.execute("ROLLBACK")
            raise Skipped("SQL_EXCEPTION", error.message) from None
        rows, maximum = found
        upper: Key | None = None
        if len(rows):
            last = row_key(rows, len(rows) - 1, target.key)
            upper = tuple(None if value is None else value.decode() for value in last)
        return Chunk(rows, seen, int(row[1]), maximum, upper)

    def _rows(
        self,
        connection: psycopg.Connection,
        target: Target,
        lower: Key | None,
        maximum: Key | None,
        limit: int | None,
    ) -> tuple[ChunkRows, Key | None]:
        names = [column.name for column in target.facts.columns]
        name = (target.table.schema, target.table.table)
        only = not target.table.partitioned
        condition: list[sql.Composable] = []
        if target.condition is not None:
            checked = sql.SQL(target.condition)  # as checked_filter wrote it
            condition = [sql.SQL("({})").format(checked)]
        bounds: list[sql.Composable] = []
        if lower is not None:
            bounds.append(is_after(target.key, target.nullable, lower))
        if maximum is not None and (lower is not None or limit is None):
            bounds.append(is_upto(target.key, target.nullable, maximum))
        if maximum is None:
            row = connection.execute(
                maximum_statement(name, target.key, condition, only=only)
            ).fetchone()
            if row is None:
                return _no_rows(target.facts), None
            maximum = tuple(row)
        statement = chunk_statement(
            name, names, target.key, [*bounds, *condition], only=only, limit=limit
        ).as_string(connection)
        blocks = list(read_copy(connection.pgconn, statement))
        images = [images for images, _ in blocks]
        offsets = [np.zeros(1, np.int64)]
        at = 0
        for block, ends in blocks:
            offsets.append(ends[1:] + at)
            at += len(block)
        joined = np.concatenate([*images, np.zeros(64, np.uint8)])
        all_offsets = np.concatenate(offsets)
        hashes = key_hashes(joined, all_offsets, target.facts)
        return ChunkRows(target.facts, joined[:at], all_offsets, hashes), maximum


def _no_rows(facts: RelationFacts) -> ChunkRows:
    return ChunkRows(facts, np.zeros(0, np.uint8), np.zeros(1, np.int64), np.zeros(0, np.uint64))


def _text(error: psycopg.Error) -> str:
    return " ".join((error.diag.message_primary or str(error)).split())
