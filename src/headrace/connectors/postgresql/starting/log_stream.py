"""Opens the log: the slot is waited for, and receiver, relations and signals are put together."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from headrace.connect.slices import Plan
from headrace.connectors.connector_metrics import ConnectorMetrics
from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog.catalog import Catalog
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect
from headrace.connectors.postgresql.position import PostgresOffset, PostgresPosition, format_lsn
from headrace.connectors.postgresql.reading.chunk_source import PostgresChunkSource
from headrace.connectors.postgresql.reading.row_queries import row_lookup
from headrace.connectors.postgresql.replication import pgoutput as decoder
from headrace.connectors.postgresql.replication.known_tables import LoggedTables
from headrace.connectors.postgresql.replication.pgoutput_reader import (
    PgoutputReader,
    ReaderOptions,
)
from headrace.connectors.postgresql.replication.relations import Relations
from headrace.connectors.postgresql.replication.slot import find_slot, wait_until_free
from headrace.connectors.postgresql.replication.slot_xmin import SlotXmin
from headrace.connectors.postgresql.replication.stream import Stream, open_stream, start_command
from headrace.connectors.postgresql.signal_table import SignalTable
from headrace.connectors.postgresql.source import PostgresSettings
from headrace.connectors.postgresql.starting.readiness import Readiness
from headrace.connectors.postgresql.starting.stored_position import StoredPosition
from headrace.connectors.record_options import heeds_signals, row_options, transaction_counts
from headrace.signals.collection import Watermarks
from headrace.snapshots.incremental.runner import IncrementalSnapshots, SignalStream
from headrace.streaming.streaming import Streaming, StreamOptions

log = logging.getLogger(__name__)

_DEFAULT_SENDER_TIMEOUT_MS = 60_000


@dataclass(frozen=True)
class Log:
    """What opens the log, again after each interruption. `inline`: slices carry their bytes;
    `orphaned`: nobody reads on."""

    config: PostgresConfig
    capture: Capture
    settings: PostgresSettings
    readiness: Readiness
    position: StoredPosition
    plan: Plan
    metrics: ConnectorMetrics
    xmin: SlotXmin
    orphaned: Callable[[], bool]
    inline: bool

    def open(self, start: PostgresOffset, *, greets: bool) -> Streaming[PostgresPosition]:
        """The log from `start` on, when nobody else uses the slot. Raises HeadraceError."""
        config = self.config
        decoder.load_kernel()
        sender_timeout_ms = self._await_slot(start)
        compared = self.settings if config.skip_messages_without_change else None
        tables = LoggedTables(Catalog(config), self.readiness.reading_now())
        relations = Relations(self.capture, tables, config.topic_prefix, compared=compared)
        counts = transaction_counts(config, self.settings.format)
        signals = self._signals(greets=greets)
        reader = PgoutputReader(
            lambda: self._connected(start),
            relations,
            start.position,
            ReaderOptions(
                row_options(config),
                skip_truncate="t" in config.skipped_operations,
                status_seconds=self._status_seconds(sender_timeout_ms),
                borders=counts is not None,
                keeps_truncates=signals is not None,
            ),
        )
        if signals is not None:
            signals.truncates = reader.truncates
        return Streaming(
            reader,
            relations,
            start,
            self.settings,
            self._stream_options(),
            metrics=self.metrics.streaming,
            inserter=signals,
            counts=counts,
            marks=self.xmin,
        )

    def _await_slot(self, start: PostgresOffset) -> int:
        """Waits for the slot, and looks at it once more; the server's wal_sender_timeout in ms."""
        config = self.config
        with connect(config, limited=True) as connection:
            wait_until_free(lambda: find_slot(connection, config.slot_name), config, log.warning)
            slot = find_slot(connection, config.slot_name)
            if slot is not None:
                self.position.check_slot(slot, start)
            row = connection.execute(
                "SELECT setting::int FROM pg_settings WHERE name = 'wal_sender_timeout'"
            ).fetchone()
        return int(row[0]) if row else _DEFAULT_SENDER_TIMEOUT_MS

    def _status_seconds(self, sender_timeout_ms: int) -> float:
        """Time between two status messages: a quarter of what the server bears at most."""
        seconds = float(self.config.status_update_interval_ms / 1000)
        return min(seconds, sender_timeout_ms / 4000) if sender_timeout_ms > 0 else seconds

    def _connected(self, start: PostgresOffset) -> Stream:
        config = self.config
        replication = connect(config, replication=True, application="headrace")
        options = {"messages": "true"} if replication.info.server_version >= 140000 else {}
        options |= dict(config.slot_stream_params)
        command = start_command(
            config.slot_name, start.position.lsn_commit, config.publication_name, options
        )
        return open_stream(replication.pgconn, command)

    def _stream_options(self) -> StreamOptions:
        config = self.config
        return StreamOptions.of(
            config,
            self.plan,
            self.orphaned,
            inline=self.inline,
            acknowledges=config.acknowledges(),
            lookup=row_lookup(config) if config.post_processors else None,
        )

    def _signals(self, *, greets: bool) -> IncrementalSnapshots[PostgresPosition] | None:
        config, table = self.config, self.capture.signal_table
        if not heeds_signals(config, table):
            return None
        marks = None
        if table is not None and not config.read_only:
            marks = Watermarks(config, SignalTable(config, table))
        stream = SignalStream[PostgresPosition](
            table, marks, lambda position: position.last_commit, format_lsn, greets
        )
        source = PostgresChunkSource(config, self.capture)
        return IncrementalSnapshots(config, source, stream, self.metrics.incremental)
