"""Opens the log: waits for the slot, and combines receiver, relations and signals."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.config.properties.modes import TableIdentity
from headrace.connectors.connector_metrics import ConnectorMetrics
from headrace.connectors.postgresql.catalog.catalog import Catalog
from headrace.connectors.postgresql.connection import QUERY_LIMIT, connect
from headrace.connectors.postgresql.position import PostgresOffset, PostgresPosition, format_lsn
from headrace.connectors.postgresql.reading.chunk_source import PostgresChunkSource
from headrace.connectors.postgresql.reading.row_queries import row_lookup
from headrace.connectors.postgresql.replication import pgoutput as decoder
from headrace.connectors.postgresql.replication.logged_table import LoggedTables
from headrace.connectors.postgresql.replication.pgoutput_reader import (
    PgoutputReader,
    PgoutputReaderOptions,
)
from headrace.connectors.postgresql.replication.relations import Relations
from headrace.connectors.postgresql.replication.slot import wait_until_free
from headrace.connectors.postgresql.replication.slot_xmin import SlotXmin
from headrace.connectors.postgresql.replication.stream import Stream, open_stream, start_command
from headrace.connectors.postgresql.signal_table import SignalTable
from headrace.connectors.postgresql.starting.readiness import Readiness
from headrace.connectors.postgresql.starting.run import PostgresRun
from headrace.connectors.postgresql.starting.stored_position import StoredPosition
from headrace.connectors.record_options import row_options, transaction_counts
from headrace.snapshots.incremental.runner import IncrementalSnapshots, SignalStream
from headrace.streaming.streaming import Streaming


@dataclass(frozen=True)
class Log:
    """The factory that opens the log, again after each interruption."""

    run: PostgresRun
    readiness: Readiness
    position: StoredPosition
    metrics: ConnectorMetrics
    xmin: SlotXmin

    def open(self, start: PostgresOffset, *, greets: bool) -> Streaming[PostgresPosition]:
        """The log from `start` on, once nobody else uses the slot. Raises HeadraceError."""
        run, config, settings = self.run, self.run.config, self.run.settings
        decoder.load_kernel()
        self._await_slot(start)
        compared = settings if config.skip_messages_without_change else None
        tables = LoggedTables(
            Catalog(config),
            self.readiness.reading_now(),
            proves_nulls=config.headrace_table_identity is TableIdentity.ID,
        )
        relations = Relations(run.capture, tables, config.topic_prefix, compared=compared)
        counts = transaction_counts(config, settings.format)
        signals = self._signals(greets=greets)
        reader = PgoutputReader(
            lambda: self._connected(start),
            relations,
            start.position,
            PgoutputReaderOptions(
                row_options(config, splits_keys=False),
                skip_truncate="t" in config.skipped_operations,
                status_seconds=self._status_seconds(),
                border_topic="" if counts is None else run.capture.topics.transactions,
                keeps_truncates=signals is not None,
            ),
        )
        if signals is not None:
            signals.truncates = reader.truncates
        return run.streaming(
            reader,
            relations,
            start,
            self.metrics,
            signals=signals,
            counts=counts,
            marks=self.xmin,
            acknowledges=config.acknowledges(),
            lookup=row_lookup(config) if config.post_processors else None,
        )

    def _await_slot(self, start: PostgresOffset) -> None:
        """Wait for the slot, and check it once more."""
        with connect(self.run.config, limit=QUERY_LIMIT) as connection:
            slot = wait_until_free(connection, self.run.config)
        self.position.check_slot(slot, start)

    def _status_seconds(self) -> float:
        """Seconds between two status messages: at most a quarter of wal_sender_timeout."""
        seconds = float(self.run.config.status_update_interval_ms / 1000)
        sender_timeout_ms = int(self.run.catalog.setting("wal_sender_timeout") or 60_000)
        return min(seconds, sender_timeout_ms / 4000) if sender_timeout_ms > 0 else seconds

    def _connected(self, start: PostgresOffset) -> Stream:
        config = self.run.config
        replication = connect(config, replication=True)
        options = {"messages": "true"} if replication.info.server_version >= 140000 else {}
        options |= dict(config.slot_stream_params)
        command = start_command(
            config.slot_name, start.position.lsn_commit, config.publication_name, options
        )
        return open_stream(replication.pgconn, command)

    def _signals(self, *, greets: bool) -> IncrementalSnapshots[PostgresPosition] | None:
        config, table = self.run.config, self.run.capture.signal_table
        collection = None if table is None else SignalTable(config, table)
        marks = self.run.watermarks(collection)
        stream = SignalStream[PostgresPosition](
            greets, table, marks, lambda position: position.last_commit, format_lsn
        )
        source = PostgresChunkSource(config, self.run.capture)
        return self.run.signals(source, stream, self.metrics)
