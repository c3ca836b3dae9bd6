"""The Db2 connector: the engine's source."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headrace.connect.slices import Plan
from headrace.connectors.connector_metrics import ConnectorMetrics
from headrace.connectors.db2.capture import Capture, settings_of
from headrace.connectors.db2.checks.database import require
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.position import Db2Offset, Db2Position
from headrace.connectors.db2.reading.chunk_source import Db2ChunkSource
from headrace.connectors.db2.reading.row_queries import row_lookup
from headrace.connectors.db2.reading.snapshot_source import Db2Snapshot
from headrace.connectors.db2.signal_table import SignalTable
from headrace.connectors.db2.starting.readiness import Readiness
from headrace.connectors.db2.starting.run import Db2Run
from headrace.connectors.db2.starting.stored_position import StoredPosition
from headrace.connectors.db2.streaming.beginnings import Beginnings
from headrace.connectors.db2.streaming.capture_watch import CaptureWatch
from headrace.connectors.db2.streaming.change_numbers import ChangeNumbers
from headrace.connectors.db2.streaming.reader import ChangeTablesReader, Db2ReaderOptions
from headrace.connectors.db2.streaming.registered_tables import RegisteredTables
from headrace.connectors.engine import Engine, open_engine
from headrace.connectors.metrics import StreamingMetrics
from headrace.connectors.record_options import row_options, transaction_counts
from headrace.connectors.source import Lost, OpenSnapshot, Source, closed_on_failure
from headrace.connectors.waiting import Waiting
from headrace.errors import HeadraceError
from headrace.relational.schema_changes import SchemaChangeFacts
from headrace.relational.table import Table
from headrace.snapshots.incremental.runner import IncrementalSnapshots, SignalStream
from headrace.snapshots.modes import SnapshotRule
from headrace.streaming.relations import RelationVersions
from headrace.streaming.streaming import Streaming


class Db2Database(Source[Db2Position]):
    """See headrace.connectors.source.Source."""

    position_type = Db2Position

    def __init__(self, run: Db2Run) -> None:
        config = run.config
        self._run, self.server = run, config.topic_prefix
        rule = SnapshotRule.of(config)
        self._rule, self.streams, self.snapshots_every_start = rule, rule.streams, rule.at_every
        self.lost_log = self._position = StoredPosition(run, rule)
        self._greets = False
        self._beginnings = Beginnings()
        self._watch = CaptureWatch(config)
        self._readiness = Readiness(config, run.capture, run.connect, self._watch)
        streaming = StreamingMetrics(_source_position)
        self.metrics = ConnectorMetrics(lambda: self._readiness.captured, streaming)

    # -- positions ------------------------------------------------------------------------------

    def validate(self, stored: Db2Offset | None) -> None:
        """Run the checks of `headrace check`, and check that the stored position fits."""
        at = None if stored is None else stored.to_json()
        self._readiness.prepare(at)
        require(self._run.config, at)
        if stored is not None and not stored.is_initial and stored.snapshot is None:
            self._position.check(stored)

    def begin(self, epoch: int) -> tuple[Db2Offset, OpenSnapshot[Db2Position] | None]:
        """Begin the stream after the changes that Capture wrote before the first row is read. A
        start that reads no rows has a snapshot, too, which describes the tables' structures."""
        self._readiness.prepare()
        self._beginnings = Beginnings(self._readiness.registered)
        run, reads_rows = self._run, self._rule.reads(epoch)
        source = run.snapshot_source(reads_rows=reads_rows)
        snapshot = run.snapshot_of(source)
        with closed_on_failure(snapshot):
            if reads_rows:
                source.lock()
            state = source.now()
            source.record_tables(state.position)
            start = run.offset(state.position, epoch)
            self._position.is_known = True
            if reads_rows or source.is_prefaced:
                self._greets = not reads_rows
                return snapshot.begin(start, state), snapshot
        snapshot.close()
        return start, None

    def snapshot(self) -> Db2Snapshot:
        """See Source."""
        return self._run.snapshot_of(self._run.snapshot_source())

    def check(
        self,
        stored: Db2Offset,
        snapshot: OpenSnapshot[Db2Position] | None,
    ) -> Lost | None:
        """See Source."""
        if snapshot is not None or not self._readiness.is_current:
            self._readiness.prepare(stored.to_json())
        if stored.snapshot is not None and snapshot is not None:
            snapshot.resumed(stored.snapshot)
        return self._position.check(stored) if self.streams else None

    def forget_position(self) -> None:
        """See Source."""
        self._position.is_known = False

    def disconnect(self) -> None:
        """See Source; another database may answer the next connection, such as a restored one."""
        self._readiness.is_current = False

    # -- the stream -----------------------------------------------------------------------------

    def stream(self, start: Db2Offset, *, greets: bool) -> Streaming[Db2Position]:
        """See Source."""
        run, config = self._run, self._run.config
        compared = run.settings if config.skip_messages_without_change else None
        versions = RelationVersions(run.key_rendering, compared)
        counts = transaction_counts(config, run.settings.format)
        topic = run.capture.topics.schema_changes

        def relation(table: Table) -> int:
            return versions.version_of(SchemaChangeFacts(topic, *table.path))

        change_relation = relation if config.include_schema_changes else None
        recorded = run.recorded_tables(start.position, change_relation)
        reader = ChangeTablesReader(
            config,
            run.connect,
            RegisteredTables(run.capture, versions, recorded.last),
            versions,
            recorded,
            start.position,
            Db2ReaderOptions(
                row_options(config),
                "" if counts is None else run.capture.topics.transactions,
            ),
            self._beginnings,
            self._watch,
            run.translate,
        )
        signals = self._signals(greets=greets or self._greets)
        self._greets = False
        return run.streaming(
            reader,
            versions,
            start,
            self.metrics,
            signals=signals,
            counts=counts,
            marks=ChangeNumbers(lambda: reader.lsn_bytes),
            lookup=row_lookup(config) if config.post_processors else None,
        )

    def _signals(self, *, greets: bool) -> IncrementalSnapshots[Db2Position] | None:
        run, config = self._run, self._run.config
        name = run.capture.signal_table
        marks = run.watermarks(None if name is None else SignalTable(config, name))
        stream = SignalStream[Db2Position](greets, name, marks)
        return run.signals(Db2ChunkSource(config, run.capture), stream, self.metrics)

    def log_end(self) -> int:
        """See Source."""
        return self._run.log_end()

    # -- errors and the end ---------------------------------------------------------------------

    def translate(self, error: Exception) -> HeadraceError | None:
        """See Source."""
        return self._run.translate(error)

    def close(self) -> None:
        """See Source."""
        self.metrics.close()


def _source_position(row: np.void | None) -> dict[str, int | None]:
    """Return SourceEventPosition of the last row: the lower half of the number that orders it."""
    return {"change_lsn": None if row is None else int(row["place"])}


def open_connector(
    config: Db2Config, *, cores: int, inline: bool, orphaned: Callable[[], bool]
) -> Engine[Db2Position]:
    """Return a connector for one database; see ConnectorDefinition.open."""
    capture = Capture(config)
    settings = settings_of(config, capture)

    def source(plan: Plan, waiting: Waiting) -> Db2Database:
        return Db2Database(Db2Run(config, settings, plan, waiting, inline, capture))

    return open_engine(config, source, cores=cores, orphaned=orphaned)
