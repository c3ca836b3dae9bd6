"""The Oracle connector: the engine's source."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from headrace.config.properties.modes import TableIdentity
from headrace.connect.slices import Plan
from headrace.connectors.connector_metrics import ConnectorMetrics
from headrace.connectors.engine import Engine, open_engine
from headrace.connectors.metrics import StreamingMetrics
from headrace.connectors.oracle.capture import Capture, settings_of
from headrace.connectors.oracle.checks.database import require
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.heartbeats import heartbeat_query
from headrace.connectors.oracle.position import OracleOffset, OraclePosition
from headrace.connectors.oracle.reading.chunk_source import OracleChunkSource
from headrace.connectors.oracle.reading.row_queries import row_lookup
from headrace.connectors.oracle.reading.snapshot_source import OracleSnapshot
from headrace.connectors.oracle.signal_table import SignalTable
from headrace.connectors.oracle.starting.readiness import Readiness
from headrace.connectors.oracle.starting.run import OracleRun
from headrace.connectors.oracle.starting.stored_position import StoredPosition
from headrace.connectors.oracle.streaming.progress import MiningProgress
from headrace.connectors.oracle.streaming.reader import OracleReaderOptions, RedoReader
from headrace.connectors.oracle.streaming.tables import (
    Describe,
    SchemaChangeOptions,
    StreamTables,
    TextOptions,
)
from headrace.connectors.oracle.streaming.windows.session import RowLimit
from headrace.connectors.record_options import transaction_counts
from headrace.connectors.source import Lost, OpenSnapshot, Source, closed_on_failure
from headrace.connectors.waiting import Waiting
from headrace.errors import HeadraceError
from headrace.snapshots.incremental.runner import IncrementalSnapshots, SignalStream
from headrace.snapshots.modes import SnapshotRule
from headrace.streaming.relations import RelationVersions
from headrace.streaming.streaming import Streaming

log = logging.getLogger(__name__)


class OracleDatabase(Source[OraclePosition]):
    """See headrace.connectors.source.Source."""

    position_type = OraclePosition

    def __init__(self, run: OracleRun) -> None:
        config = run.config
        self._run, self.server = run, config.topic_prefix
        rule = SnapshotRule.of(config)
        self._rule, self.streams, self.snapshots_every_start = rule, rule.streams, rule.at_every
        self.lost_log = self._position = StoredPosition(run, rule)
        self._row_limit = RowLimit(config)
        self._readiness = Readiness(config, run.capture, run.database)
        self._heartbeat_query = heartbeat_query(config)
        self._sends_heartbeats = config.heartbeat_interval_ms > 0
        if self._heartbeat_query is not None:
            self.heartbeat_action = self._heartbeat_query.run
        self._progress = MiningProgress()
        self._greets = False
        self._described: list[tuple[str, str]] | None = None
        streaming = StreamingMetrics(_source_position, own_metrics=self._mining_metrics)
        self.metrics = ConnectorMetrics(lambda: self._readiness.captured, streaming)

    # -- positions ------------------------------------------------------------------------------

    def validate(self, stored: OracleOffset | None) -> None:
        """Run the checks of `headrace check`, and check that the stored position fits."""
        self._readiness.prepare()
        require(self._run.config, None if stored is None else stored.to_json())
        if self._heartbeat_query is not None and self._sends_heartbeats:
            self._heartbeat_query.examine().require(log)  # logs its warnings
        if stored is not None and not stored.is_initial and stored.snapshot is None:
            self._position.check(stored, self._readiness.incarnation)

    def begin(self, epoch: int) -> tuple[OracleOffset, OpenSnapshot[OraclePosition] | None]:
        """Begin the stream after the SCN as of which rows are read. A start that reads no rows has
        a snapshot, too, which describes the tables' structures."""
        self._readiness.prepare()
        run, reads_rows = self._run, self._rule.reads(epoch)
        source = run.snapshot_source(reads_rows=reads_rows)
        snapshot = run.snapshot_of(source)
        with closed_on_failure(snapshot):
            source.lock()
            state = source.now()
            source.record_tables(state.position)
            start = replace(run.offset(state.position, epoch), system=self._readiness.incarnation)
            self._position.is_known = True
            self._described = [table.path for table in source.described()]
            if reads_rows or source.is_prefaced:
                self._greets = not reads_rows
                return snapshot.begin(start, state), snapshot
        snapshot.close()
        return start, None

    def snapshot(self) -> OracleSnapshot:
        """See Source."""
        return self._run.snapshot_of(self._run.snapshot_source())

    def check(
        self,
        stored: OracleOffset,
        snapshot: OpenSnapshot[OraclePosition] | None,
    ) -> Lost | None:
        """See Source."""
        if snapshot is not None or not self._readiness.is_current:
            self._readiness.prepare()
        if stored.snapshot is not None and snapshot is not None:
            snapshot.resumed(stored.snapshot)
        return self._position.check(stored, self._readiness.incarnation) if self.streams else None

    def forget_position(self) -> None:
        """See Source."""
        self._position.is_known = False

    def disconnect(self) -> None:
        """See Source; another database may answer the next connection, such as a restored one."""
        self._readiness.is_current = False

    # -- the stream -----------------------------------------------------------------------------

    def stream(self, start: OracleOffset, *, greets: bool) -> Streaming[OraclePosition]:
        """See Source."""
        run, config = self._run, self._run.config
        compared = run.settings if config.skip_messages_without_change else None
        versions = RelationVersions(run.key_rendering, compared)
        counts = transaction_counts(config, run.settings.format)
        recorded = run.recorded_tables(start.position, self._described)
        self._described = None

        def open_tables(describe: Describe, texts: TextOptions) -> StreamTables:
            options = SchemaChangeOptions(
                config.include_schema_changes, config.include_schema_comments
            )
            tables = StreamTables(run.capture, versions, recorded, describe, texts, options)
            tables.identifies = config.headrace_table_identity is TableIdentity.ID
            return tables

        reader = RedoReader(
            config,
            run.connect,
            open_tables,
            versions,
            start.position,
            OracleReaderOptions(
                run.row_options,
                "" if counts is None else run.capture.topics.transactions,
                config.container,
                is_debezium_compatible=run.is_debezium_compatible,
                reads_comments=run.capture.reads_comments,
                removed_logs=run.removed_logs,
                row_limit=self._row_limit,
            ),
            run.translate,
        )
        reader.places.system = self._readiness.incarnation
        self._progress = reader.progress
        signals = self._signals(reader, greets=greets or self._greets)
        self._greets = False
        return run.streaming(
            reader,
            versions,
            start,
            self.metrics,
            signals=signals,
            counts=counts,
            marks=reader.places,
            lookup=row_lookup(config) if config.post_processors else None,
        )

    def _signals(
        self, reader: RedoReader, *, greets: bool
    ) -> IncrementalSnapshots[OraclePosition] | None:
        run, config = self._run, self._run.config
        name = run.capture.signal_table
        marks = run.watermarks(None if name is None else SignalTable(config, name))
        stream = SignalStream[OraclePosition](
            greets, name, marks, drop_transaction=reader.drop_transaction
        )
        return run.signals(OracleChunkSource(config, run.capture), stream, self.metrics)

    def log_end(self) -> int:
        """See Source."""
        return self._run.log_end()

    # -- errors and the end ---------------------------------------------------------------------

    def translate(self, error: Exception) -> HeadraceError | None:
        """See Source."""
        return self._run.translate(error)

    def close(self) -> None:
        """See Source."""
        if self._heartbeat_query is not None:
            self._heartbeat_query.close()
        self.metrics.close()

    def _mining_metrics(self) -> Mapping[str, Any]:
        return self._progress.to_json()


def _source_position(row: np.void | None) -> dict[str, str | None]:
    """Return SourceEventPosition of the last row: its SCN."""
    return {"scn": None if row is None else str(int(row["place"]))}


def open_connector(
    config: OracleConfig, *, cores: int, inline: bool, orphaned: Callable[[], bool]
) -> Engine[OraclePosition]:
    """Return a connector for one database; see ConnectorDefinition.open."""
    capture = Capture(config)
    settings = settings_of(config, capture)

    def source(plan: Plan, waiting: Waiting) -> OracleDatabase:
        return OracleDatabase(OracleRun(config, settings, plan, waiting, inline, capture))

    return open_engine(config, source, cores=cores, orphaned=orphaned)
