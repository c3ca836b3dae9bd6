"""The initial snapshot: existing rows as chunks that tasks read in parallel, all on the snapshot
of the slot's consistent point; resumed by the rules of decision 2."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import psycopg
from psycopg import sql

from headrace.connect.slices import Plan, Slice
from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog.catalog import (
    Catalog,
    CatalogReading,
    CatalogTable,
)
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import (
    find_operators_in,
    settings_of_users,
)
from headrace.connectors.postgresql.events import types_of
from headrace.connectors.postgresql.places import ordinals_used
from headrace.connectors.postgresql.position import PostgresOffset
from headrace.connectors.postgresql.reading.chunk_slices import ChunkQuery, ChunkSlice
from headrace.connectors.postgresql.reading.chunks import (
    PAGE_BYTES,
    Chunk,
    copy_statement,
    next_bound,
    rows_per_chunk,
)
from headrace.connectors.postgresql.reading.keeper import Keeper, position_of, renew
from headrace.connectors.postgresql.reading.locks import TableLocks
from headrace.connectors.postgresql.reading.overrides import Overrides, copy_override
from headrace.connectors.postgresql.snapshot_mode import SnapshotRule
from headrace.connectors.postgresql.snapshot_notifications import (
    Told,
    count_statement,
    tell,
)
from headrace.connectors.postgresql.snapshot_tables import SnapshotTable, TableList, snapshot_tables
from headrace.connectors.postgresql.types.type_facts import operator_schemas
from headrace.offsets.snapshot_progress import SnapshotProgress
from headrace.relational.events import RelationFacts
from headrace.signals.progress import Pending
from headrace.streaming.facts import EventSettings

log = logging.getLogger(__name__)

MOST_CHUNKS = 64  # in one range; their bounds are in the offset
TABLES_AT_ONCE = 16
"""That are described together while chunks are cut."""


class AttemptOver(Exception):
    """The snapshot was lost, and what it left unread cannot be read on a later one."""


class Snapshot:
    """Plans the chunks of one snapshot, and of its continuation after a restart."""

    def __init__(
        self,
        config: PostgresConfig,
        capture: Capture,
        catalog: Catalog,
        plan: Plan,
        keeper: Keeper | None,
        check: Callable[[], None],
    ) -> None:
        self._config, self._capture, self._catalog = config, capture, catalog
        self._plan = _limited(plan, config)
        self._keeper = keeper
        self._locks: TableLocks | None = None
        self._check = check
        self._overrides = Overrides.of(config)
        self._renewed = False
        self._consistent: int | None = None
        self._read: dict[int, CatalogReading] = {}
        self._listing: list[int] = []
        self._places: dict[int, int] = {}
        self._described: dict[int, tuple[CatalogTable, RelationFacts] | None] = {}
        self._rows: dict[int, int] = {}
        self._operators: tuple[Keeper | None, set[str]] = (None, set())

    def lock(self) -> None:
        """As snapshot.locking.mode says; before the snapshot is taken."""
        if self._locks is None and self._config.snapshot_locking_mode == "shared":
            names = snapshot_tables(self._config, self._capture, self._catalog)
            self._locks = TableLocks(self._config, names)

    def begin(self, start: PostgresOffset, keeper: Keeper | None) -> PostgresOffset:
        """The offset before the first chunk: table list, snapshot and time are written down.

        `keeper`: of the snapshot of `start`; without it, a present one is taken.
        """
        if keeper is None:
            self.lock()
        if keeper is None and SnapshotRule.of(self._config).streams:
            # The slot was there before: what it streams can be older than these rows.
            keeper = renew(self._config, None, self._check, log.warning)
            start = replace(start, consistent=position_of(keeper))
        elif keeper is None:
            keeper = renew(self._config, "", self._check, log.warning)
            start = replace(start, position=replace(start.position, lsn_commit=position_of(keeper)))
        self._keeper = keeper
        tables = tuple(table.to_json() for table in self._listed())
        progress = SnapshotProgress(
            taken_us=keeper.taken_us,
            txid=keeper.txid,
            xids=keeper.xids,
            table=0,
            after=None,
            chunks=(),
            state=None,
            tables=tables,
            done=not tables,
        )
        return replace(start, snapshot=progress, slices=1, order=self._plan.order)

    def begin_blocking(self, start: PostgresOffset, wanted: Sequence[Pending]) -> PostgresOffset:
        """As `begin`, for the tables that signals ask for while the stream waits."""
        self._keeper = renew(self._config, None, self._check, log.warning)
        assert start.signals is not None
        signals = replace(start.signals, blocking=(), inserts=(), xid=None)
        used = ordinals_used(start.heartbeat, signals.ordinal)
        names = {table.name: table.condition for table in wanted}
        tables = tuple(table.to_json() for table in self._listed(names))
        progress = SnapshotProgress(
            taken_us=self._keeper.taken_us,
            txid=self._keeper.txid if start.signals.xid is None else start.signals.xid,
            xids=self._keeper.xids,
            table=0,
            after={"leaf": 0, "lower": None, "ordinal": used + 1},
            chunks=(),
            state=None,
            tables=tables,
            done=not tables,
            blocking=True,
        )
        return replace(
            start,
            snapshot=progress,
            signals=signals,
            consistent=position_of(self._keeper),
            slices=1,
            order=self._plan.order,
        )

    def _listed(self, wanted: Mapping[str, str | None] | None = None) -> list[SnapshotTable]:
        assert self._keeper is not None
        found = TableList(
            self._keeper.connection,
            self._config,
            self._capture,
            self._catalog,
            self.read,
            self._has_key,
        )
        return found.tables(wanted)

    def _has_key(self, table: SnapshotTable) -> bool:
        reading = self._reading_of(table.oid)
        found = reading.describe(table.oid)
        return found is not None and bool(self._facts(found).key)

    def poll(self, after: PostgresOffset) -> PostgresOffset:
        """The end of the next range of chunks; behind the last one, the position without snapshot,
        which says that all of it was read. Raises AttemptOver."""
        progress = after.snapshot
        assert progress is not None
        self._ensure_keeper(after)
        if self._renewed:
            self._renewed = False
            progress = self.resumed(progress)
            after = replace(after, consistent=self._consistent)
        if progress.done:
            return after.after_snapshot()
        self._list(progress)
        self._read.clear()  # tables are described as they are when the first chunk is cut
        walker = _Walker(self, progress)
        chunks: list[Chunk] = []
        size = 0
        while len(chunks) < MOST_CHUNKS and size < self._plan.slices * self._chunk_bytes():
            chunk = walker.next()
            if chunk is None:
                break
            chunks.append(chunk)
            size += max(1, chunk.rows) * walker.row_bytes
            if chunk.rows >= walker.chunk_rows // 2 and len(chunks) >= self._plan.slices:
                break
        end = replace(
            progress,
            table=walker.table,
            after=walker.place(),
            chunks=tuple(c.to_json() for c in chunks),
            done=walker.finished(),
            reread=False,
            told=tell(
                self._config,
                [".".join(table[1:3]) for table in progress.tables or ()],
                chunks,
                begins=not progress.chunks and progress.table == 0,
            ),
        )
        slices = max(1, min(self._plan.slices, len(chunks)))
        return replace(after, snapshot=end, slices=slices, order=self._plan.order)

    def _chunk_bytes(self) -> int:
        return int(self._config.headrace_snapshot_chunk_bytes)

    def _ensure_keeper(self, after: PostgresOffset) -> None:
        assert after.snapshot is not None
        if self._keeper is not None and self._keeper.alive():
            return
        if self._keeper is not None:
            self._keeper.close()
        self.lock()
        self._keeper = renew(self._config, after.snapshot.xids, self._check, log.warning)
        self._renewed = True
        self._consistent = position_of(self._keeper)
        log.info("the snapshot goes on with a new one, consistent from %d", self._consistent)

    def resumed(self, progress: SnapshotProgress) -> SnapshotProgress:
        """Where to go on after the snapshot was lost. Raises AttemptOver.

        The chunks of the range that ends at `progress` count as being read: nobody knows whether
        they were read on the lost snapshot or again on a later one. A table without key must not
        be read on a later one at all: what was inserted since would come twice.
        """
        if not SnapshotRule.of(self._config).streams:
            # No stream will bring what happened between the two snapshots.
            raise AttemptOver
        self._list(progress)
        tables = [SnapshotTable.from_json(data) for data in progress.tables or ()]
        first = min([progress.table, *(chunk["table"] for chunk in progress.chunks)])
        self.read([table.oid for table in tables[first:]])
        if any(t.kind != "key" and not self._has_key(t) for t in tables[first:]):
            raise AttemptOver
        place = progress.after
        if place is None:
            return progress
        again = {"leaf": 0, "lower": None, "ordinal": place["ordinal"]}
        touched = {chunk["table"] for chunk in progress.chunks}
        if place["leaf"] > 0 or place["lower"] is not None:
            touched.add(progress.table)
        if touched and str(self._config.snapshot_resume) == "restart":
            return replace(progress, table=0, after=again, reread=True, done=False)
        for number in sorted(touched):
            if tables[number].kind != "key":
                return replace(progress, table=number, after=again, reread=True, done=False)
        return progress

    def describe(self, table: SnapshotTable) -> tuple[CatalogTable, RelationFacts] | None:
        """The table as it is now, and its facts; None when it is gone."""
        if table.oid not in self._described:
            reading = self._reading_of(table.oid)
            found = reading.describe(table.oid)
            facts = None if found is None else self._facts(found)
            self._described[table.oid] = None if found is None or facts is None else (found, facts)
        return self._described[table.oid]

    def read(self, oids: Sequence[int]) -> CatalogReading:
        """Tables as they are now, for this range."""
        reading = self._catalog.read(oids, sizes=True)
        self._read.update(dict.fromkeys(oids, reading))
        return reading

    def _reading_of(self, oid: int) -> CatalogReading:
        """With it, the tables that follow in the list are read."""
        if oid not in self._read:
            place = self._places.get(oid, len(self._listing))
            self.read([oid, *self._listing[place + 1 : place + TABLES_AT_ONCE]])
        return self._read[oid]

    def _list(self, progress: SnapshotProgress) -> None:
        self._listing = [SnapshotTable.from_json(data).oid for data in progress.tables or ()]
        self._places = {oid: place for place, oid in enumerate(self._listing)}

    def _facts(self, table: CatalogTable) -> RelationFacts:
        facts = self._capture.relation(table, table)
        # Only what is needed is read, so images hold these columns only.
        return replace(
            facts, columns=tuple(c for c in facts.columns if c.captured or c.name in facts.key)
        )

    def rows_per_chunk(self, leaf: tuple[int, str, str, int, int]) -> int:
        """Rows that one chunk of this table (or partition) holds."""
        if leaf[0] not in self._rows:
            assert self._keeper is not None
            self._rows[leaf[0]] = rows_per_chunk(
                self._keeper.connection, leaf, self._chunk_bytes(), self._plan.slices
            )
        return self._rows[leaf[0]]

    def find_operators_of(self, facts: RelationFacts) -> None:
        """The keeper's connection compares keys of the table by their types' operators."""
        wanted = self._keeper, operator_schemas(types_of(facts))
        if wanted != self._operators:
            find_operators_in(self.connection, wanted[1])
            self._operators = wanted

    @property
    def connection(self) -> psycopg.Connection:
        """The keeper's connection: queries on it see the snapshot."""
        assert self._keeper is not None
        return self._keeper.connection

    def slices(
        self, start: PostgresOffset, end: PostgresOffset, settings: EventSettings
    ) -> list[Slice]:
        """Slices of the chunks that `end` carries, in order."""
        progress = end.snapshot
        assert progress is not None
        if not progress.chunks:
            return []
        self._ensure_keeper(start if start.snapshot is not None else end)
        assert self._keeper is not None
        self._list(progress)
        chunks = []
        for number, data in enumerate(progress.chunks):
            chunk = Chunk.from_json(data)
            table = SnapshotTable.from_json((progress.tables or ())[chunk.table])
            found = self.describe(table)
            if found is None:
                log.warning("%s.%s is gone; its rows are left out", table.schema, table.table)
                continue
            condition = None
            if table.condition is not None:
                from headrace.signals.conditions import selected_filter  # 0.2 s, seldom needed

                columns = {c.name for c in found[0].columns}
                condition = selected_filter(table.condition, found[0].name, columns)
            statement = self._statement(table, chunk, condition, *found)
            told = self._told(progress, number, table, chunk, condition)
            chunks.append(ChunkQuery(chunk, statement, found[1], told, condition is not None))
        groups = _grouped(chunks, end.slices)
        return [
            ChunkSlice(
                tuple(group),
                self._keeper.snapshot_id,
                end.position.lsn_commit,
                progress.taken_us,
                progress.txid,
                end.epoch,
                replace(settings, counted=False),
                self._config,
                end.position.last_commit,
                1 if progress.blocking else 0,
            )
            for group in groups
        ]

    def _statement(
        self,
        table: SnapshotTable,
        chunk: Chunk,
        condition: str | None,
        described: CatalogTable,
        facts: RelationFacts,
    ) -> str:
        assert self._keeper is not None
        connection = self._keeper.connection
        names = [column.name for column in facts.columns]
        leaf = table.leaves[chunk.leaf][1:3]
        if chunk.kind != "query":
            return copy_statement(leaf, names, described.key, chunk, condition).as_string(
                connection
            )
        whole = sql.SQL("SELECT * FROM {}").format(sql.Identifier(*leaf)).as_string(connection)
        statement = self._overrides.statements.get(table.name, whole)
        columns = {column.name: column for column in described.columns}
        wanted = [columns[name] for name in names]
        with settings_of_users(connection):
            copied = copy_override(connection, table.name, statement, wanted)
        return copied.as_string(connection)

    def _told(
        self,
        progress: SnapshotProgress,
        number: int,
        table: SnapshotTable,
        chunk: Chunk,
        condition: str | None,
    ) -> Told | None:
        mine = [told for told in progress.told if told["chunk"] == number]
        if not mine:
            return None
        count = None
        if chunk.last and not (chunk.first and len(table.leaves) == 1):
            leaves = [(leaf[1], leaf[2]) for leaf in table.leaves]
            count = count_statement(leaves, condition).as_string(self.connection)
        return Told(
            self._config.notification_sink_topic_name or "",
            tuple(told["notification"] for told in mine if not told["behind"]),
            tuple(told["notification"] for told in mine if told["behind"]),
            count,
        )

    def close(self) -> None:
        """Let the snapshot go."""
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None
        if self._locks is not None:
            self._locks.close()
            self._locks = None


def _limited(plan: Plan, config: PostgresConfig) -> Plan:
    """snapshot.max.threads bounds the connections, when it is set."""
    if not config.is_set("snapshot.max.threads"):
        return plan
    return replace(plan, slices=min(plan.slices, config.snapshot_max_threads))


class _Walker:
    """Cuts chunks one after the other, from a progress on."""

    def __init__(self, owner: Snapshot, progress: SnapshotProgress) -> None:
        self._owner = owner
        self._tables = [SnapshotTable.from_json(t) for t in progress.tables or ()]
        self.table = progress.table
        place = progress.after or {"leaf": 0, "lower": None, "ordinal": 0}
        self.leaf = place["leaf"]
        lower = place["lower"]
        self.lower = tuple(lower) if isinstance(lower, list) else lower
        self.ordinal = place["ordinal"]
        self.row_bytes = 100
        self.chunk_rows = 1

    def finished(self) -> bool:
        return self.table >= len(self._tables)

    def place(self) -> dict[str, Any]:
        lower = list(self.lower) if isinstance(self.lower, tuple) else self.lower
        return {"leaf": self.leaf, "lower": lower, "ordinal": self.ordinal}

    def next(self) -> Chunk | None:
        if self.finished():
            return None
        table = self._tables[self.table]
        leaf = table.leaves[self.leaf]
        self.chunk_rows = self._owner.rows_per_chunk(leaf)
        pages = max(leaf[3], 1)
        self.row_bytes = max(1, pages * PAGE_BYTES // max(leaf[4], 1)) if leaf[4] > 0 else 200
        upper = self._upper(table, leaf)
        opens = self.leaf == 0 and self.lower is None
        ends = upper is None and self.leaf == len(table.leaves) - 1
        run_opens = opens and table.opens
        run_ends = ends and self.table == len(self._tables) - 1
        chunk = Chunk(
            self.table,
            self.ordinal,
            table.kind,
            self.leaf,
            self.lower,
            upper,
            "run" if run_opens else "table" if opens else "",
            "run" if run_ends else "table" if ends else "",
            min(self.chunk_rows, max(leaf[4], 1)) if leaf[4] > 0 else self.chunk_rows,
        )
        self.ordinal += 1
        self.lower = upper
        if upper is None:
            self.leaf += 1
            if self.leaf == len(table.leaves):
                self.table, self.leaf = self.table + 1, 0
        return chunk

    def _upper(
        self, table: SnapshotTable, leaf: tuple[int, str, str, int, int]
    ) -> tuple[str, ...] | int | None:
        if table.kind == "query":
            return None
        if table.kind == "key":
            found = self._owner.describe(table)
            if found is None:
                return None
            lower = self.lower if isinstance(self.lower, tuple) else None
            self._owner.find_operators_of(found[1])
            return next_bound(
                self._owner.connection, (leaf[1], leaf[2]), found[0].key, lower, self.chunk_rows
            )
        pages = leaf[3]
        per_row = max(1, pages * PAGE_BYTES // max(leaf[4], 1)) if leaf[4] > 0 else 200
        step = max(1, self.chunk_rows * per_row // PAGE_BYTES)
        upper = (self.lower if isinstance(self.lower, int) else 0) + step
        return upper if upper < pages else None


def _grouped(chunks: list[ChunkQuery], slices: int) -> list[list[ChunkQuery]]:
    """Neighbouring chunks together, in about equal shares of rows."""
    if not chunks:
        return []
    weights = np.cumsum([max(1, query.chunk.rows) for query in chunks])
    share = weights[-1] / max(1, min(slices, len(chunks)))
    groups: list[list[ChunkQuery]] = [[]]
    for query, weight in zip(chunks, weights, strict=True):
        groups[-1].append(query)
        if weight >= share * len(groups) and len(groups) < slices and query is not chunks[-1]:
            groups.append([])
    return [group for group in groups if group]
