"""The PostgreSQL connector: composes catalogue, slot, snapshot and stream."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

import psycopg

from headrace.connect.slices import Plan, Slice
from headrace.connectors.connector import Status
from headrace.connectors.postgresql.beginning import Beginning
from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog.catalog import Catalog
from headrace.connectors.postgresql.catalog.known_tables import KnownTables
from headrace.connectors.postgresql.catalog.relations import Relations
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect, translate
from headrace.connectors.postgresql.events import PostgresSettings, PostgresSource
from headrace.connectors.postgresql.heartbeats import Heartbeats, heartbeat_slice
from headrace.connectors.postgresql.metrics import PostgresMetrics
from headrace.connectors.postgresql.position import (
    PostgresOffset,
    PostgresPosition,
    format_lsn,
    parse_lsn,
    read_offset,
)
from headrace.connectors.postgresql.ranges import Limit
from headrace.connectors.postgresql.readiness import Readiness, check_system
from headrace.connectors.postgresql.reading.chunk_reader import ChunkReader
from headrace.connectors.postgresql.replication import pgoutput as decoder
from headrace.connectors.postgresql.replication.pgoutput_reader import (
    PgoutputReader,
    ReaderOptions,
)
from headrace.connectors.postgresql.replication.publication import ensure_publication
from headrace.connectors.postgresql.replication.slot import (
    LOST,
    check_slot,
    drop_when_free,
    find_slot,
    wait_until_free,
)
from headrace.connectors.postgresql.replication.slot_xmin import SlotXmin
from headrace.connectors.postgresql.replication.stream import Stream, open_stream, start_command
from headrace.connectors.postgresql.signals import Signals
from headrace.connectors.postgresql.snapshot import AttemptOver, Snapshot
from headrace.connectors.postgresql.stored_position import StoredPosition
from headrace.connectors.postgresql.streaming import Streaming, StreamOptions
from headrace.debezium.event_format import FORMATS
from headrace.debezium.transactions import MESSAGES
from headrace.errors import HeadraceError
from headrace.offsets.offset import OffsetObject
from headrace.signals.channels import has_channels
from headrace.streaming.counts import TransactionCounts

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
        self._format = FORMATS[str(config.event_format_version)]
        with_context = config.extended_headers_enabled and self._format.context_headers
        run = str(uuid.uuid4()) if with_context else ""
        self._settings = PostgresSettings(
            config.topic_prefix,
            PostgresSource(config.database_dbname, config.xmin_fetch_interval_ms > 0),
            run,
            counted=config.provide_transaction_metadata,
            format=self._format,
            names=self._capture.names,
            converting=str(config.event_converting_failure_handling_mode),
            types=self._capture.types,
        )
        self._xmin = SlotXmin(config)
        self._heartbeats = Heartbeats.of(config)
        self._metrics = PostgresMetrics(config)
        self._streaming: Streaming | None = None
        self._known: KnownTables | None = None
        self._snapshot: Snapshot | None = None
        self._readiness = Readiness(config, self._capture, self._catalog)
        self._rule = self._readiness.rule
        self._beginning = Beginning(
            config,
            self._capture,
            self._catalog,
            self._plan,
            self._readiness,
            self._check_orphaned,
            self._pause,
        )
        self._position = StoredPosition(config, self._readiness)
        self._started = False
        self._streams_from = 0.0
        self._snapshot_taken = False
        self._bounded = False
        self._target: int | None = None
        self._attempts = 0
        self._acknowledged: PostgresOffset | None = None

    # -- the contract ---------------------------------------------------------------------------

    def validate(self, stored: OffsetObject | None) -> None:
        """Server, role, tables, slot and publication, as far as a look tells; see the contract."""
        offset = None if stored is None else read_offset(stored, self.config.topic_prefix)
        connection, tables = self._readiness.prepare()
        try:
            system = self._readiness.cluster(connection)
            if offset is not None and not offset.is_initial:
                check_system(offset, system)
                # A snapshot that was interrupted may begin again, with another slot.
                if offset.snapshot is None and self._rule.streams:
                    self._position.lost(connection, offset)
            if not self._rule.streams:
                return
            state = find_slot(connection, self.config.slot_name)
            if state is not None and not self._rule.repairs:
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
        offset = read_offset(after, self.config.topic_prefix)
        end = self._retried(lambda: self._poll(offset, wait.total_seconds()))
        return after if end == offset else end.to_json()

    def slices(self, start: OffsetObject, end: OffsetObject) -> list[Slice]:
        """The slices of (start, end]."""
        first = read_offset(start, self.config.topic_prefix)
        last = read_offset(end, self.config.topic_prefix)
        return self._retried(lambda: self._slices(first, last))

    def bounded(self) -> None:
        """availableNow."""
        self._bounded = True

    def latest(self) -> OffsetObject:
        """The server's position as last heard, or nothing before streaming; and the metrics."""
        position = self._streaming.server_position() if self._streaming else 0
        system = self._position.system
        place = PostgresOffset(self.config.topic_prefix, PostgresPosition(position), 1, system)
        return place.to_json() | {"metrics": self.metrics()}

    def acknowledge(self, offset: OffsetObject) -> None:
        """Remembered and told to the server by the receiver (Invariant 1)."""
        done = read_offset(offset, self.config.topic_prefix)
        if done.is_initial:
            return
        self._acknowledged = done
        if self._streaming is not None and done.epoch == self._streaming.start.epoch:
            self._streaming.acknowledge(done.position.lsn_commit)

    def status(self) -> Status:
        """Phase, positions, lag in bytes of WAL."""
        done = self._acknowledged
        head = self._streaming.server_position() if self._streaming else 0
        lag = max(0, head - done.position.lsn_commit) if done is not None and head else 0
        phase = "streaming" if self._streaming else "snapshot" if self._snapshot else "starting"
        details = self.metrics()
        return Status(phase, str(done.position) if done else "", format_lsn(head), lag, details)

    def metrics(self) -> dict[str, Any]:
        """See the contract."""
        return self._metrics.to_json(self._streaming)

    def close(self) -> None:
        """Close everything; never raises."""
        if self._heartbeats is not None:
            self._heartbeats.close()
        self._metrics.close()
        self._xmin.close()
        self._close_streaming()
        if self._snapshot is not None:
            self._snapshot.close()
            self._snapshot = None
        self._catalog.close()
        if self._started and self._rule.streams and self.config.slot_drop_on_stop:
            self._drop_slot()

    def _drop_slot(self) -> None:
        """At an orderly stop: after an error or a crash, the position is still needed."""
        self._started = False
        try:
            with connect(self.config) as connection:
                if not drop_when_free(connection, self.config.slot_name):
                    log.warning("the slot %s is in use and stays", self.config.slot_name)
        except (HeadraceError, psycopg.Error) as error:
            log.warning("the slot %s could not be dropped: %s", self.config.slot_name, error)

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
                    self._metrics.snapshot.aborted()
                    self._close_streaming()
                    self._started = False
                    raise
                self._attempts += 1
                log.warning("%s; trying again (%d)", error, self._attempts)
                self._close_streaming()
                self._catalog.close()
                if error.code == "postgresql.lock_timeout":
                    self._end_snapshot()
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
            self._started = False
            self.close()
            raise HeadraceError(
                "spark.driver_gone", "The driver of this query ended", "Start the query again."
            )

    def _close_streaming(self) -> None:
        if self._streaming is not None:
            self._streaming.close()
            self._streaming = None
        if self._known is not None:
            self._known.close()
            self._known = None
        self._readiness.forget()

    # -- polling --------------------------------------------------------------------------------

    def _poll(self, after: PostgresOffset, seconds: float) -> PostgresOffset:
        self._check_orphaned()
        if after.is_initial:
            return self._begin()
        if after.is_old:
            self._close_streaming()  # it acknowledges positions of its own epoch only
            return after.upgraded()
        try:
            begun = self._resume(after)
            if begun is not None:
                return begun
            self._metrics.watch_slot()
            if after.snapshot is not None:
                end = self._continued().poll(after)
                self._metrics.planned(after.snapshot, end)
                return end if end.snapshot is not None else self._beat(end)
            if after.signals is not None and after.signals.blocking and after.position.txn is None:
                log.info("the stream waits for a blocking snapshot")
                return self._continued().begin_blocking(after, after.signals.blocking)
        except AttemptOver:
            if after.snapshot is not None and after.snapshot.blocking:
                log.warning("a table without key was being read: its blocking snapshot is over")
                self._end_snapshot()
                return after.after_snapshot()
            return self._begin_again(after)
        if self._snapshot is not None:
            self._streams_from = time.monotonic() + self.config.streaming_delay_ms / 1000
        self._end_snapshot()
        if not self._rule.streams or not self._may_stream(seconds):
            return after
        self._metrics.snapshot.skipped()
        try:
            return self._poll_stream(after, seconds)
        except HeadraceError as error:
            if error.code not in LOST:
                raise
            begun = self._renewed(after)
            if begun is None:
                raise
            return begun

    def _poll_stream(self, after: PostgresOffset, seconds: float) -> PostgresOffset:
        streaming = self._stream(after)
        if self._bounded:
            end = self._xmin.shown(after, streaming.poll(after, seconds, self._bound()))
            # Nothing new ends a bounded run: then no heartbeat may follow either.
            return end if end == after or not self._beats() else self._beat(end)
        due = float("inf") if self._heartbeats is None else self._heartbeats.remaining()
        end = streaming.poll(after, min(seconds, due), None, moves=due <= seconds)
        end = self._xmin.shown(after, end)
        return self._beat(end) if self._beats() else end

    def _beats(self) -> bool:
        return self._heartbeats is not None and self._heartbeats.remaining() == 0

    def _beat(self, end: PostgresOffset) -> PostgresOffset:
        return end if self._heartbeats is None else self._heartbeats.beat(end)

    def _renewed(self, after: PostgresOffset) -> PostgresOffset | None:
        """What the mode makes of a position that was lost while streaming."""
        self._close_streaming()
        self._position.known = self._started = False
        return self._resume(after)

    def _may_stream(self, seconds: float) -> bool:
        """Whether streaming.delay.ms is over; waits for it, but no longer than a poll may."""
        rest = self._streams_from - time.monotonic()
        if rest > 0:
            self._pause(rest if self._bounded else min(rest, seconds))
        return time.monotonic() >= self._streams_from

    def _bound(self) -> int:
        """Where the log is now; fixed at the first call. Commits that are not flushed yet
        (synchronous_commit=off) count, so their flush is waited for."""
        if self._target is None:
            position = (
                "SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()"
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
            self._readiness.forget()  # the log goes on from long ago
            self._snapshot.close()
            self._snapshot = None

    # -- starting -------------------------------------------------------------------------------

    def _begin(self, epoch: int = 1) -> PostgresOffset:
        self._position.known = self._started = False
        offset, self._snapshot = self._beginning.begin(epoch)
        self._metrics.captured = self._readiness.captured
        self._position.system = offset.system
        self._position.known = self._started = True
        return offset

    def _begin_again(self, after: PostgresOffset) -> PostgresOffset:
        """A new attempt of the snapshot with a new slot and the next epoch."""
        log.warning("the snapshot cannot go on with a later one: it starts again")
        self._end_snapshot()
        self._beginning.drop_slot()
        return self._begin(after.epoch + 1)

    def _resume(self, after: PostgresOffset) -> PostgresOffset | None:
        """Once per process: a new beginning, when the mode asks for one at every start, or when
        the log from `after` on is gone and the mode repairs that. Raises AttemptOver."""
        if self._started:
            return None
        lost = self._position.check(after, lambda: self._go_on(after))
        self._metrics.captured = self._readiness.captured
        if lost is not None and self._position.follows(lost, after):
            log.warning("%s; the slot is followed (offset.mismatch.strategy)", lost.message)
            self._close_streaming()
            return self._position.jump(after)
        if lost is not None:
            log.warning("%s; a new snapshot begins (snapshot.mode)", lost.message)
            self._end_snapshot()
            if lost.code == "postgresql.slot_lost":
                self._beginning.drop_slot()
            return self._begin(after.epoch + 1)
        self._started = True
        if after.snapshot is not None or not self._rule.at_every:
            return None
        self._close_streaming()
        if self._rule.streams:
            offset, self._snapshot = self._beginning.again(after)
            return offset
        return self._begin(after.epoch + 1)

    def _go_on(self, after: PostgresOffset) -> None:
        """Raises AttemptOver when the snapshot at `after` cannot go on."""
        assert after.snapshot is not None
        if not after.snapshot.blocking:
            self._position.check_mode()
        self._continued().resumed(after.snapshot)

    # -- the two phases -------------------------------------------------------------------------

    def _continued(self) -> Snapshot:
        if self._snapshot is None:
            self._snapshot = self._beginning.snapshot()
        return self._snapshot

    def _stream(self, start: PostgresOffset) -> Streaming:
        if self._streaming is not None:
            return self._streaming
        config = self.config
        decoder.load_kernel()
        with connect(config, limited=True) as connection:
            wait_until_free(lambda: find_slot(connection, config.slot_name), config, log.warning)
            state = find_slot(connection, config.slot_name)
            if state is not None:
                self._position.check_slot(state, start)
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
            extra |= dict(config.slot_stream_params)
            command = start_command(
                config.slot_name, start.position.lsn_commit, config.publication_name, extra
            )
            return open_stream(replication.pgconn, command)

        compared = self._settings if config.skip_messages_without_change else None
        self._known = KnownTables(Catalog(config), self._readiness.reading_now())
        relations = Relations(self._capture, self._known, config.topic_prefix, compared=compared)
        counts, signals = self._counts(), self._signals()
        reader = PgoutputReader(
            opened,
            relations,
            start.position,
            ReaderOptions(
                _options(config),
                skip_truncate="t" in config.skipped_operations,
                status_seconds=status,
                borders=counts is not None,
                keeps_truncates=signals is not None,
            ),
        )
        if signals is not None:
            signals.truncates = reader.truncates
        options = StreamOptions(
            Limit(config.headrace_range_max_bytes, config.headrace_range_max_rows),
            self._plan,
            spool_bytes=config.headrace_spool_max_bytes,
            acknowledge_seconds=config.headrace_acknowledge_interval / 1000,
            orphaned=self._orphaned,
            acknowledges=config.acknowledges(),
            inline=self._inline,
            lookups=config if config.post_processors else None,
        )
        self._streaming = Streaming(
            reader,
            relations,
            start,
            options,
            metrics=self._metrics.streaming,
            signals=signals,
            counts=counts,
        )
        return self._streaming

    def _counts(self) -> TransactionCounts | None:
        if not self.config.provide_transaction_metadata:
            return None
        left_out = () if self._format.counts_messages else (MESSAGES,)
        return TransactionCounts(left_out)

    def _signals(self) -> Signals | None:
        table = self._capture.signal_table
        told = self.config.notification_enabled_channels
        if table is None and not told and not has_channels(self.config):
            return None
        skips, self._snapshot_taken = not self._snapshot_taken, True
        reader = ChunkReader(self.config, self._capture)
        return Signals(self.config, reader, table, self._metrics.incremental, skips=skips)

    def _slices(self, start: PostgresOffset, end: PostgresOffset) -> list[Slice]:
        if end.is_initial or start.is_initial or end.epoch != start.epoch:
            return []
        if end.snapshot is not None:
            if self._gone(start):
                return []
            return self._continued().slices(start, end, self._settings)
        found: list[Slice] = []
        unmoved = replace(end, snapshot=start.snapshot, consistent=start.consistent)
        if not start.same_position(unmoved):
            if self._gone(start):
                return []
            self._end_snapshot()
            found += self._stream(start).slices(start, end, self._settings)
        if end.heartbeat > start.heartbeat:
            found.append(heartbeat_slice(end, self._capture.topics.heartbeats))
        return found

    def _gone(self, start: PostgresOffset) -> bool:
        """Whether a range that was planned before a restart cannot be read any more, and the next
        one begins anew."""
        lost = self._position.check(start, lambda: None)
        if lost is None:
            return False
        if self._position.follows(lost, start):
            log.warning("%s; what the slot still holds is read", lost.message)
            return False
        if lost.code == "postgresql.slot_moved":
            # Behind this range the slot may fit again, and nobody would know of the gap.
            self._beginning.drop_slot()
            with connect(self.config) as connection:
                if find_slot(connection, self.config.slot_name) is not None:
                    raise lost
        log.warning("%s; what was planned last is left to the new snapshot", lost.message)
        return True


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
    with connect(config, limited=True) as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return str(row[0])


def open_connector(
    config: PostgresConfig, *, cores: int, inline: bool, orphaned: Callable[[], bool]
) -> PostgresConnector:
    """What headrace.connectors.registry calls."""
    return PostgresConnector(config, cores=cores, inline=inline, orphaned=orphaned)
