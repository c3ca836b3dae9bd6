"""Reads chunks of a snapshot in tasks: with COPY, on a connection that imports it."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

import numpy as np
import psycopg

from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog.catalog import Catalog
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect, settings_of_users, translate
from headrace.connectors.postgresql.ddl.lock_waits import is_lock_timeout
from headrace.connectors.postgresql.ddl.patience import Patience
from headrace.connectors.postgresql.ddl.table_state import TableState, table_state
from headrace.connectors.postgresql.reading.dialect import SQL, SQLGLOT
from headrace.connectors.postgresql.reading.filtered_rows import read_rows
from headrace.connectors.postgresql.reading.keeper import begin_snapshot, lost_snapshot
from headrace.connectors.postgresql.reading.key_ranges import READING
from headrace.connectors.postgresql.reading.operators import Operators
from headrace.connectors.postgresql.reading.overrides import UNDEFINED, is_unseen
from headrace.connectors.postgresql.reading.table_chunk import TableChunk, table_chunk
from headrace.connectors.postgresql.types.resolve import types_of
from headrace.connectors.postgresql.visibility import VisibleTransactions
from headrace.errors import HeadraceError
from headrace.relational.events import RelationFacts
from headrace.relational.overrides import Overrides
from headrace.relational.reading.chunk_targets import needed
from headrace.snapshots.chunks import ChunkKind
from headrace.snapshots.slices import ChunkQuery, SnapshotRows

log = logging.getLogger(__name__)

_APPLICATION = "headrace chunk"
_DESCRIPTIONS = 20
"""Maximal descriptions of a table for one chunk while other sessions change it."""
_VISIBLE = "SELECT pg_catalog.txid_current_snapshot()::text"


class _Rows(SnapshotRows):
    """See `headrace.snapshots.slices.SnapshotRows`. Each chunk is read in a savepoint of the
    transaction that imports the snapshot, which releases its locks. A table that was rewritten
    since the snapshot was taken is read in a separate transaction, on a later snapshot."""

    def __init__(self, config: PostgresConfig, connection: psycopg.Connection) -> None:
        self._config, self._imported = config, connection
        self._operators = Operators(connection)
        self._later: psycopg.Connection | None = None
        self._locks = False

    @property
    def _connection(self) -> psycopg.Connection:
        return self._imported if self._later is None else self._later

    def close(self) -> None:
        """Close the connections; never raises."""
        self._imported.pgconn.finish()
        if self._later is not None:
            self._later.pgconn.finish()

    def present(self, query: ChunkQuery) -> ChunkQuery | None:
        """See SnapshotRows. Locks the table (ACCESS SHARE) until the end of `blocks`."""
        self._release()
        for _ in range(_DESCRIPTIONS):
            chunk = query.query
            assert isinstance(chunk, TableChunk)
            try:
                state = self._state(query, chunk)
            except ValueError as problem:
                self._leave_out(chunk, problem)
                return None
            if state is not None and state.rewritten:
                self._release()
                if query.chunk.kind is ChunkKind.PAGES:
                    log.info("%s was rewritten; it is read again", chunk.table.name)
                    return None
                self._begin_later(chunk)
            elif state is not None and state.columns == chunk.structure:
                return _accepting_null(query, state.nullable)
            else:
                self._release()
                try:
                    described = self._described(query, chunk)
                except ValueError as problem:
                    self._leave_out(chunk, problem)
                    return None
                if described is None:
                    return None
                query = described
        raise HeadraceError(
            "postgresql.table_changed",
            f"Another session changes {chunk.table.name} again and again while it is read",
            "headrace reads the chunk again by itself.",
            retriable=True,
        )

    def _leave_out(self, chunk: TableChunk, problem: ValueError) -> None:
        self._release()
        log.warning("%s is left out from here on: %s", chunk.table.name, problem)

    def _state(self, query: ChunkQuery, chunk: TableChunk) -> TableState | None:
        patience = Patience(self._config)
        while True:
            try:
                if self._later is None:
                    assert isinstance(query.facts, RelationFacts)
                    # Before the savepoint, whose rollback would undo the setting.
                    self._operators.find(types_of(query.facts))
                    self._imported.execute("SAVEPOINT headrace_chunk")
                self._locks = True
                state = table_state(self._connection, chunk.table, chunk.leaves)
                statement = Overrides.of(self._config).statements.get(chunk.table.name)
                if state is None or query.chunk.kind is not ChunkKind.WHOLE or statement is None:
                    return state
                if is_unseen(self._connection, chunk.table.name, statement, self._config.hidden):
                    return replace(state, rewritten=True)
                return state
            except psycopg.Error as error:
                if not is_lock_timeout(error) or self._connection.closed:
                    raise translate(error, self._config, READING) from None
                self._release()
                patience.wait(translate(error, self._config, READING))

    def _begin_later(self, chunk: TableChunk) -> None:
        """Begin a transaction whose snapshot is taken after the table is locked, and sees all
        transactions that the imported snapshot sees."""
        row = self._imported.execute(_VISIBLE).fetchone()
        assert row is not None
        before = VisibleTransactions(str(row[0]))
        paths = [chunk.table.path, *(path for _, path in chunk.leaves)]
        patience = Patience(self._config)
        later = connect(self._config, application=_APPLICATION)
        Operators(later).find(column.type.facts for column in chunk.table.columns)
        self._later = later
        while True:
            try:
                begin_snapshot(later)
                later.execute("SET LOCAL max_parallel_workers_per_gather = 0")
                # Before the first query, which would take the snapshot before it waits for a lock.
                for path in paths:
                    name = SQL.dialect.source(path, alone=True)
                    later.execute(f"LOCK TABLE {name} IN ACCESS SHARE MODE".encode())
                row = later.execute(_VISIBLE).fetchone()
                assert row is not None
                if VisibleTransactions(str(row[0])).covers(before):
                    return
                later.execute("ROLLBACK")
                time.sleep(0.05)
            except psycopg.Error as error:
                if error.sqlstate in UNDEFINED:
                    self._release()
                    return  # the next look at the table's state finds the reason
                if not is_lock_timeout(error) or later.closed:
                    raise translate(error, self._config, READING) from None
                later.execute("ROLLBACK")
                patience.wait(translate(error, self._config, READING))

    def _described(self, query: ChunkQuery, chunk: TableChunk) -> ChunkQuery | None:
        """The query for the table as the catalogue describes it now; None if its rows are left out.
        Holds no lock. Raises ValueError if a filter or a statement names an object that no longer
        exists."""
        patience = Patience(self._config)
        with closing(Catalog(self._config)) as catalog:
            while True:
                try:
                    table = catalog.read([chunk.table.id]).describe(chunk.table.id)
                    break
                except HeadraceError as error:
                    if error.code != "postgresql.lock_timeout":
                        raise
                    patience.wait(error)
        assert isinstance(query.facts, RelationFacts)
        path = (query.facts.schema, query.facts.table)  # as it was planned
        name = ".".join(path)
        if table is None or (query.chunk.kind is ChunkKind.WHOLE and table.path != path):
            log.warning("%s no longer exists; its rows are left out", name)
            return None
        leaf = chunk.leaf
        if chunk.leaves:
            present = next(
                (candidate for candidate in table.leaves if candidate.id == leaf.id), None
            )
            if present is None:
                log.warning("%s has lost the partition %s; it is left out", name, leaf.name)
                return None
            leaf = leaf._replace(schema=present.schema, name=present.name)
        elif query.chunk.kind is not ChunkKind.WHOLE:
            leaf = leaf._replace(schema=table.schema, name=table.table)
        log.info("%s was changed; its rows are read with its current columns", name)
        named = replace(table, schema=path[0], table=path[1])
        facts = needed(Capture(self._config).relation(named, named))
        if chunk.condition is not None:
            from headrace.signals.conditions import checked_filter  # 0.2 s, seldom needed

            names = {column.name for column in table.columns}
            checked_filter(chunk.condition, name, names, dialect=SQLGLOT)
        overrides = Overrides.of(self._config)
        while True:
            try:
                planned = table_chunk(
                    query.chunk, leaf, chunk.condition, table, facts, overrides, self._looking
                )
                break
            except psycopg.Error as error:
                problem = translate(error, self._config, READING)
                if not is_lock_timeout(error) or self._imported.closed:
                    raise problem from None
                patience.wait(problem)
        if query.chunk.kind is ChunkKind.KEY and planned.key_types != chunk.key_types:
            log.info("the key of %s was changed; the snapshot starts again", table.name)
            return None
        counted = query.count
        if counted is not None:
            counted = SQL.count([part.path for part in table.leaves], chunk.condition)
        return replace(query, query=planned, facts=facts, count=counted)

    @contextmanager
    def _looking(self) -> Iterator[psycopg.Connection]:
        with self._imported.transaction(force_rollback=True):
            yield self._imported

    def blocks(self, query: ChunkQuery) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The rows of a chunk, in blocks. Raises HeadraceError."""
        facts, chunk = query.facts, query.query
        assert isinstance(facts, RelationFacts)
        assert isinstance(chunk, TableChunk)
        rows = read_rows(self._connection, chunk.statement, facts, filtered=query.filtered)
        try:
            if query.chunk.kind is ChunkKind.WHOLE:
                with settings_of_users(self._connection):
                    yield from rows
            else:
                yield from rows
        except HeadraceError as error:
            raise self._config.hidden.in_raised(error) from None
        self._release()

    def count(self, query: ChunkQuery, rows: int) -> int:
        """The number of rows of the table in this snapshot; `rows` came in this chunk."""
        if query.count is None:
            return rows
        try:
            self._imported.execute("SAVEPOINT headrace_chunk")
            self._locks = True
            row = self._imported.execute(query.count.encode()).fetchone()
        except (psycopg.DataError, psycopg.ProgrammingError):
            return rows  # a signal's filter fails on a row, or the table was changed
        except psycopg.Error as error:
            if not is_lock_timeout(error):
                raise translate(error, self._config, READING) from None
            return rows
        finally:
            self._release()
        return rows if row is None else max(rows, int(row[0]))

    def _release(self) -> None:
        """Release the chunk's locks; never raises: a lost connection shows at the next
        statement."""
        with contextlib.suppress(psycopg.Error):
            if self._later is not None:
                later, self._later = self._later, None
                later.close()
            elif self._locks:
                self._imported.execute("ROLLBACK TO headrace_chunk")
                self._imported.execute("RELEASE headrace_chunk")
        self._locks = False


def _accepting_null(query: ChunkQuery, names: Collection[str]) -> ChunkQuery:
    """The query with the columns of these names nullable."""
    facts = query.facts
    assert isinstance(facts, RelationFacts)
    if not any(column.name in names and not column.nullable for column in facts.columns):
        return query
    columns = (replace(c, nullable=c.nullable or c.name in names) for c in facts.columns)
    return replace(query, facts=replace(facts, columns=tuple(columns)))


@dataclass(frozen=True)
class PostgresSnapshotReader:
    """See `headrace.snapshots.slices.SnapshotReader`; `snapshot_id` names the exported snapshot."""

    config: PostgresConfig
    snapshot_id: str

    @contextmanager
    def open(self) -> Iterator[_Rows]:
        """Open the rows of the snapshot. Raises HeadraceError("postgresql.snapshot_gone")."""
        connection = connect(self.config, application=_APPLICATION)
        rows = _Rows(self.config, connection)
        try:
            try:
                begin_snapshot(connection, self.snapshot_id)
                connection.execute("SET LOCAL max_parallel_workers_per_gather = 0")
            except psycopg.Error as error:
                lost = lost_snapshot(error)
                raise lost or translate(error, self.config, READING) from None
            yield rows
        finally:
            rows.close()
