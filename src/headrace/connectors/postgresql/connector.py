"""The PostgreSQL connector: composes catalogue, slot, snapshot and stream."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TypeVar

import psycopg

from headrace.connectors.connector import OffsetObject, Plan, Slice, Status
from headrace.connectors.postgresql import decoder
from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog import Catalog, CatalogTable
from headrace.connectors.postgresql.chunk_reader import ChunkReader
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect, translate
from headrace.connectors.postgresql.events import EventSettings
from headrace.connectors.postgresql.keeper import Keeper
from headrace.connectors.postgresql.log import Stream, open_stream, start_command
from headrace.connectors.postgresql.offset import Offset, format_lsn, parse_lsn
from headrace.connectors.postgresql.publication import (
    check_published,
    drop_publication,
    ensure_publication,
)
from headrace.connectors.postgresql.ranges import Limit
from headrace.connectors.postgresql.relations import Relations
from headrace.connectors.postgresql.signal_table import check_signal_table
from headrace.connectors.postgresql.signals import Signals
from headrace.connectors.postgresql.slot import (
    check_position,
    check_slot,
    create_slot,
    drop_slot,
    find_slot,
    system_identifier,
    wait_until_free,
)
from headrace.connectors.postgresql.snapshot import KeylessUnfinished, Snapshot
from headrace.connectors.postgresql.streaming import Streaming, position_text
from headrace.errors import HeadraceError

log = logging.getLogger(__name__)

_Result = TypeVar("_Result")


class PostgresConnector:
    """See headrace.connectors.connector.Connector. `cores` bounds the slices of a range;
    `inline` makes slices carry their bytes; `orphaned` says that the driver is gone."""

    def __init__(
        self,
        config: PostgresConfig,
        *,
        cores: int,
        inline: bool,
        orphaned: Callable[[], bool],
    ) -> None:
        self.config = config
        self._plan = Plan(config.headrace_slices or cores, str(config.headrace_slice_order))
        self._inline = inline
        self._orphaned = orphaned
        self._capture = Capture(config)
        self._catalog = Catalog(config)
        run = str(uuid.uuid4()) if config.extended_headers_enabled else ""
        self._settings = EventSettings(
            config.topic_prefix, config.database_dbname, self._capture.types, run
        )
        self._streaming: Streaming | None = None
        self._snapshot: Snapshot | None = None
        self._checked = False
        self._snapshot_taken = False
        self._bounded = False
        self._target: int | None = None
        self._attempts = 0
        self._acknowledged: Offset | None = None
        self._system = ""

    # -- the contract ---------------------------------------------------------------------------

    def validate(self, stored: OffsetObject | None) -> None:
        """Server, role, tables, slot and publication, as far as a look tells; see the contract."""
        offset = None if stored is None else Offset.from_json(stored, self.config.topic_prefix)
        connection, tables = self._prepare()
        try:
            with connect(self.config, replication=True) as replication:
                system = system_identifier(replication)
            if offset is not None and not offset.is_initial:
                self._check_system(offset, system)
                # A snapshot that was interrupted may begin again, with another slot.
                if offset.snapshot is None:
                    self._find_slot(connection, offset)
            state = find_slot(connection, self.config.slot_name)
            if state is not None:
                check_slot(state, self.config)
            if str(self.config.publication_autocreate_mode) == "disabled":
                ensure_publication(connection, self.config, [(t.schema, t.table) for t in tables])
        except psycopg.Error as error:
            raise translate(error, self.config) from None
        finally:
            connection.close()
            self._catalog.close()

    def poll(self, after: OffsetObject, wait: timedelta) -> OffsetObject:
        """The end of the next range; see the contract."""
        offset = Offset.from_json(after, self.config.topic_prefix)
        end = self._retried(lambda: self._poll(offset, wait.total_seconds()))
        return after if end == offset else end.to_json()

    def slices(self, start: OffsetObject, end: OffsetObject) -> list[Slice]:
        """The slices of (start, end]."""
        first = Offset.from_json(start, self.config.topic_prefix)
        last = Offset.from_json(end, self.config.topic_prefix)
        return self._retried(lambda: self._slices(first, last))

    def bounded(self) -> None:
        """availableNow."""
        self._bounded = True

    def latest(self) -> OffsetObject:
        """The server's position as last heard, or nothing before streaming."""
        position = self._streaming.server_position() if self._streaming else 0
        return Offset(self.config.topic_prefix, 1, self._system, lsn_commit=position).to_json()

    def acknowledge(self, offset: OffsetObject) -> None:
        """Remembered and told to the server by the receiver (Invariant 1)."""
        done = Offset.from_json(offset, self.config.topic_prefix)
        if done.is_initial:
            return
        self._acknowledged = done
        if self._streaming is not None and done.epoch == self._streaming.start.epoch:
            self._streaming.acknowledge(done.lsn_commit)

    def status(self) -> Status:
        """Phase, positions, lag in bytes of WAL."""
        done = self._acknowledged
        head = self._streaming.server_position() if self._streaming else 0
        lag = max(0, head - done.lsn_commit) if done is not None and head else 0
        phase = "streaming" if self._streaming else "snapshot" if self._snapshot else "starting"
        return Status(phase, position_text(done) if done else "", format_lsn(head), lag, {})

    def close(self) -> None:
        """Close everything; never raises."""
        self._close_streaming()
        if self._snapshot is not None:
            self._snapshot.close()
            self._snapshot = None
        self._catalog.close()

    # -- retries --------------------------------------------------------------------------------

    def _retried(self, action: Callable[[], _Result]) -> _Result:
        """Runs `action`; a retriable error reconnects, errors.max.retries times (-1: for ever),
        retriable.restart.connector.wait.ms apart."""
        while True:
            try:
                result = action()
            except HeadraceError as error:
                most = self.config.errors_max_retries
                if not error.retriable or (0 <= most <= self._attempts):
                    self._close_streaming()
                    raise
                self._attempts += 1
                log.warning("%s; trying again (%d)", error, self._attempts)
                self._close_streaming()
                self._catalog.close()
                self._pause(self.config.retriable_restart_connector_wait_ms / 1000)
            except psycopg.Error as error:
                self._catalog.close()
                raise translate(error, self.config) from None
            else:
                self._attempts = 0
                return result

    def _pause(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._check_orphaned()
            time.sleep(min(0.25, max(0.0, deadline - time.monotonic())))

    def _check_orphaned(self) -> None:
        if self._orphaned():
            self.close()
            raise HeadraceError(
                "spark.driver_gone", "The driver of this query ended", "Start the query again."
            )

    def _close_streaming(self) -> None:
        if self._streaming is not None:
            self._streaming.close()
            self._streaming = None

    # -- polling --------------------------------------------------------------------------------

    def _poll(self, after: Offset, seconds: float) -> Offset:
        self._check_orphaned()
        if after.is_initial:
            return self._begin()
        try:
            self._check(after, goes_on=True)
            if after.snapshot is not None:
                return self._continued().poll(after)
            if after.signals is not None and after.signals.blocking and after.txn is None:
                log.info("the stream waits for a blocking snapshot")
                return self._continued().begin_blocking(after, after.signals.blocking)
        except KeylessUnfinished:
            if after.snapshot is not None and after.snapshot.blocking:
                log.warning("a table without key was being read: its blocking snapshot is over")
                self._end_snapshot()
                return replace(after, snapshot=None, slices=1)
            return self._begin_again(after)
        if str(self.config.snapshot_mode) == "initial_only":
            self._end_snapshot()
            return after
        self._end_snapshot()
        streaming = self._stream(after)
        return streaming.poll(after, seconds, self._bound() if self._bounded else None)

    def _bound(self) -> int:
        """Where the log is now; fixed at the first call. Commits that are not flushed yet
        (synchronous_commit=off) count, so their flush is waited for."""
        if self._target is None:
            position = (
                "SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn()"
                " ELSE pg_current_wal_{}_lsn() END)::text"
            )
            wanted = parse_lsn(connect_and_ask(self.config, position.format("insert")))
            deadline = time.monotonic() + 2
            while True:
                flushed = parse_lsn(connect_and_ask(self.config, position.format("flush")))
                if flushed >= wanted or time.monotonic() > deadline:
                    break
                time.sleep(0.05)
            self._target = min(flushed, wanted)
        return self._target

    def _end_snapshot(self) -> None:
        if self._snapshot is not None:
            self._snapshot_taken = True
            self._snapshot.close()
            self._snapshot = None

    # -- starting -------------------------------------------------------------------------------

    def _captured(self) -> list[CatalogTable]:
        return [t for t in self._catalog.tables() if self._capture.takes(t.name)]

    def _prepare(self) -> tuple[psycopg.Connection, list[CatalogTable]]:
        """A normal connection on a server that can serve us, and the captured tables."""
        connection = connect(self.config)
        level = connection.execute("SHOW wal_level").fetchone()
        if level is None or level[0] != "logical":
            connection.close()
            raise HeadraceError(
                "postgresql.wal_level",
                f"wal_level is {level[0] if level else 'unknown'}; logical is needed",
                "Set wal_level = logical and restart the server.",
            )
        tables = self._captured()
        if not tables and self.config.table_include_list:
            connection.close()
            raise HeadraceError(
                "postgresql.no_tables",
                f"No table of {self.config.database_dbname} matches table.include.list "
                f"({', '.join(self.config.table_include_list)})",
                "Check the names (schema.table, regular expressions that match the whole name).",
            )
        if self._capture.signal_table is not None:
            check_signal_table(self._catalog, self._capture.signal_table)
        for table in tables:
            self._check_table(connection, table)
        return connection, tables

    def _check_table(self, connection: psycopg.Connection, table: CatalogTable) -> None:
        row = connection.execute(
            "SELECT has_table_privilege(%s::oid, 'SELECT')", (table.oid,)
        ).fetchone()
        if row is None or not row[0]:
            connection.close()
            raise HeadraceError(
                "postgresql.no_privilege",
                f"The role {self.config.database_user} may not read {table.name}",
                f'GRANT SELECT ON {table.name} TO "{self.config.database_user}"; '
                "(and USAGE on its schema).",
            )
        self._check_types(table)

    def _check_types(self, table: CatalogTable) -> None:
        from headrace.connectors.postgresql.messages import RelationColumn, RelationMessage

        described = self._catalog.describe(table.oid)
        if described is not None:
            columns = tuple(
                RelationColumn(c.name, c.type_oid, c.typmod, False) for c in described.columns
            )
            self._capture.relation(
                RelationMessage(table.oid, table.schema, table.table, "d", columns), self._catalog
            )

    def _check_published(
        self, connection: psycopg.Connection, tables: list[CatalogTable], *, first: bool
    ) -> None:
        described = [self._catalog.describe(table.oid) for table in tables]
        there = [table for table in described if table is not None]
        roots = self._catalog.partition_roots()
        check_published(connection, self.config, there, roots, log.warning, first=first)

    def _begin(self) -> Offset:
        """The first position: makes or finds the slot. What it makes is undone if it fails."""
        connection, tables = self._prepare()
        created_publication = created_slot = False
        replication = None
        try:
            replication = connect(self.config, replication=True, application="headrace")
            self._system = system_identifier(replication)
            names = [(t.schema, t.table) for t in tables]
            created_publication = ensure_publication(connection, self.config, names)
            self._check_published(connection, tables, first=True)
            start = Offset(self.config.topic_prefix, 1, self._system, order=self._plan.order)
            wait_until_free(
                lambda: find_slot(connection, self.config.slot_name), self.config, log.warning
            )
            state = find_slot(connection, self.config.slot_name)
            keeper, previous = None, None
            if state is None:
                slot = create_slot(replication, self.config)
                created_slot = True
                start = replace(start, lsn_commit=slot.consistent_point)
                if self._takes_snapshot():
                    keeper = Keeper(self.config, slot.snapshot)
            else:
                check_slot(state, self.config)
                start = replace(start, lsn_commit=state.confirmed_flush_lsn or 0)
            self._checked = True
            if not self._takes_snapshot():
                return start
            self._snapshot = Snapshot(
                self.config, self._capture, self._catalog, self._plan, keeper, self._check_orphaned
            )
            return self._snapshot.begin(start, previous)
        except BaseException:
            self._end_snapshot()
            if replication is not None:
                replication.close()
                replication = None
            self._undo(connection, slot=created_slot, publication=created_publication)
            raise
        finally:
            if replication is not None:
                replication.close()
            connection.close()

    def _undo(self, connection: psycopg.Connection, *, slot: bool, publication: bool) -> None:
        """Nothing half-created stays behind."""
        try:
            if slot:
                time.sleep(0.1)  # the server frees the slot when it notices the closed connection
                drop_slot(connection, self.config.slot_name)
            if publication:
                drop_publication(connection, self.config.publication_name)
        except psycopg.Error as error:
            log.warning("could not undo the start: %s", error)

    def _takes_snapshot(self) -> bool:
        return str(self.config.snapshot_mode) in ("initial", "initial_only", "always")

    def _begin_again(self, after: Offset) -> Offset:
        """A new attempt of the snapshot with a new slot and the next epoch."""
        log.warning(
            "a table without key was being read when the snapshot was lost: it starts again"
        )
        self._end_snapshot()
        with connect(self.config) as connection:
            drop_slot(connection, self.config.slot_name)
        self._checked = False
        return replace(self._begin(), epoch=after.epoch + 1)

    def _check(self, stored: Offset, *, goes_on: bool = False) -> None:
        """Once per process: the stored position still fits server and slot. Raises
        KeylessUnfinished when the snapshot `goes_on` there and cannot."""
        if self._checked:
            return
        connection, tables = self._prepare()
        try:
            with connect(self.config, replication=True) as replication:
                self._system = system_identifier(replication)
            self._check_system(stored, self._system)
            if goes_on and stored.snapshot is not None:
                # Before its slot is asked for: the next attempt may have dropped it already.
                self._continued().resumed(stored.snapshot)
            if not self._find_slot(connection, stored):
                self._checked = True
                return
            names = [(t.schema, t.table) for t in tables]
            ensure_publication(connection, self.config, names)
            self._check_published(connection, tables, first=False)
            self._checked = True
        finally:
            connection.close()

    def _check_system(self, stored: Offset, system: str) -> None:
        if stored.system and stored.system != system:
            raise HeadraceError(
                "postgresql.other_server",
                f"The checkpoint belongs to the PostgreSQL cluster {stored.system}, this is "
                f"{system}",
                "Point database.hostname to that cluster, or start with a new checkpoint.",
            )

    def _find_slot(self, connection: psycopg.Connection, stored: Offset) -> bool:
        """Whether the slot is there; it then fits `stored`. Raises HeadraceError when it does
        not, or is needed and gone."""
        state = find_slot(connection, self.config.slot_name)
        if state is not None:
            check_slot(state, self.config)
            check_position(state, stored, self.config)
            return True
        done = stored.snapshot is None or stored.snapshot.done
        if str(self.config.snapshot_mode) == "initial_only" and done:
            return False
        raise HeadraceError(
            "postgresql.slot_missing",
            f"The slot {self.config.slot_name} does not exist any more, but the checkpoint is at "
            f"{position_text(stored)}",
            "The changes since then are gone: start with a new checkpoint (a new snapshot).",
        )

    # -- the two phases -------------------------------------------------------------------------

    def _continued(self) -> Snapshot:
        if self._snapshot is None:
            self._snapshot = Snapshot(
                self.config, self._capture, self._catalog, self._plan, None, self._check_orphaned
            )
        return self._snapshot

    def _stream(self, start: Offset) -> Streaming:
        if self._streaming is not None:
            return self._streaming
        config = self.config
        decoder.load_kernel()
        with connect(config) as connection:
            wait_until_free(lambda: find_slot(connection, config.slot_name), config, log.warning)
            state = find_slot(connection, config.slot_name)
            if state is not None:
                check_slot(state, config)
                check_position(state, start, config)
            row = connection.execute(
                "SELECT setting::int FROM pg_settings WHERE name = 'wal_sender_timeout'"
            ).fetchone()
        timeout = int(row[0]) if row else 60000
        status = config.status_update_interval_ms / 1000
        if timeout > 0:
            status = min(status, timeout / 4000)

        def opened() -> Stream:
            replication = connect(config, replication=True, application="headrace")
            extra = {"messages": "true"} if replication.info.server_version >= 140000 else {}
            command = start_command(
                config.slot_name, start.lsn_commit, config.publication_name, extra
            )
            return open_stream(replication.pgconn, command)

        relations = Relations(self._capture, Catalog(config), config.topic_prefix)
        self._streaming = Streaming(
            opened,
            relations,
            start,
            limit=Limit(config.headrace_range_max_bytes, config.headrace_range_max_rows),
            plan=self._plan,
            spool_bytes=config.headrace_spool_max_bytes,
            options=_options(config),
            skip_truncate="t" in config.skipped_operations,
            status_seconds=status,
            acknowledge_seconds=config.headrace_acknowledge_interval / 1000,
            inline=self._inline,
            orphaned=self._orphaned,
            signals=self._signals(),
        )
        return self._streaming

    def _signals(self) -> Signals | None:
        table = self._capture.signal_table
        channels = self.config.notification_enabled_channels
        if table is None and not channels and "file" not in self.config.signal_enabled_channels:
            return None
        skips, self._snapshot_taken = not self._snapshot_taken, True
        return Signals(self.config, ChunkReader(self.config, self._capture), table, skips=skips)

    def _slices(self, start: Offset, end: Offset) -> list[Slice]:
        if end.is_initial or start.is_initial or end.epoch != start.epoch:
            return []
        if end.snapshot is not None:
            self._check(start)
            return self._continued().slices(start, end, self._settings)
        if start.same_position(replace(end, snapshot=start.snapshot, consistent=start.consistent)):
            return []
        self._check(start)
        self._end_snapshot()
        return self._stream(start).slices(start, end, self._settings)


def _options(config: PostgresConfig) -> int:
    skipped = config.skipped_operations
    return (
        (decoder.TOMBSTONES if config.tombstones_on_delete else 0)
        | (decoder.SKIP_CREATE if "c" in skipped else 0)
        | (decoder.SKIP_UPDATE if "u" in skipped else 0)
        | (decoder.SKIP_DELETE if "d" in skipped else 0)
    )


def connect_and_ask(config: PostgresConfig, query: str) -> str:
    """One value of one query, as text."""
    with connect(config) as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return str(row[0])


def open_connector(
    config: PostgresConfig, *, cores: int, inline: bool, orphaned: Callable[[], bool]
) -> PostgresConnector:
    """What headrace.connectors.registry calls."""
    return PostgresConnector(config, cores=cores, inline=inline, orphaned=orphaned)
