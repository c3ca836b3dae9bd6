"""The MongoDB connector: its Source under the engine."""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np
from pymongo.errors import PyMongoError

from headrace.config.failures import left_out
from headrace.connect.slices import Plan
from headrace.connectors.connector_metrics import ConnectorMetrics
from headrace.connectors.engine import Engine, open_engine
from headrace.connectors.metrics import StreamingMetrics
from headrace.connectors.mongodb.checks.deployment import require
from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.mongodb.position import MongoOffset, MongoPosition
from headrace.connectors.mongodb.reading.chunk_source import MongoChunkSource
from headrace.connectors.mongodb.reading.collection_ids import CollectionIds
from headrace.connectors.mongodb.reading.snapshot_source import (
    Moment,
    MongoSnapshot,
    open_snapshot,
)
from headrace.connectors.mongodb.signal_collection import SignalDocuments, signal_texts
from headrace.connectors.mongodb.starting.run import Run
from headrace.connectors.mongodb.starting.stored_position import StoredPosition
from headrace.connectors.mongodb.streaming.known_collections import KnownCollections
from headrace.connectors.mongodb.streaming.oplog_watch import watch_oplog
from headrace.connectors.mongodb.streaming.progress import StreamProgress
from headrace.connectors.mongodb.streaming.reader import ChangeStreamReader, MongoReaderOptions
from headrace.connectors.mongodb.streaming.resume_tokens import ResumeTokens
from headrace.connectors.record_options import (
    row_options,
    transaction_counts,
    uses_signals,
)
from headrace.connectors.source import Lost, OpenSnapshot, Source, closed_on_failure
from headrace.connectors.waiting import Waiting
from headrace.errors import HeadraceError
from headrace.signals.collection import Watermarks
from headrace.snapshots.incremental.runner import IncrementalSnapshots, SignalStream
from headrace.snapshots.modes import SnapshotRule
from headrace.streaming.streaming import Streaming, StreamOptions

log = logging.getLogger(__name__)


class MongoDatabase(Source[MongoPosition]):
    """See headrace.connectors.source.Source."""

    position_type = MongoPosition
    beats_after_snapshots = False

    def __init__(self, run: Run) -> None:
        config = run.config
        self._run, self.server = run, config.topic_prefix
        rule = SnapshotRule.of(config)
        self._rule, self.streams, self.snapshots_every_start = rule, rule.streams, rule.at_every
        self.lost_log = self._position = StoredPosition(run, rule)
        self._collections: KnownCollections | None = None
        self._progress = progress = StreamProgress()
        self.metrics = ConnectorMetrics(
            self._captured,
            StreamingMetrics(_source_position, own_metrics=progress.to_json),
            lambda: watch_oplog(config, progress),
        )

    def _captured(self) -> list[str]:
        """Names of the collections that have had events."""
        versions = self._collections
        return [] if versions is None else versions.captured()

    # -- positions ------------------------------------------------------------------------------

    def validate(self, stored: MongoOffset | None) -> None:
        """Run the checks of `headrace check`, and check whether the stored position fits."""
        require(self._run.config, None if stored is None else stored.to_json())
        if stored is None or stored.is_initial:
            self._position.first(1)
        elif stored.snapshot is None and self.streams:
            self._position.check(stored)

    def begin(self, epoch: int) -> tuple[MongoOffset, OpenSnapshot[MongoPosition] | None]:
        """Begin the stream now, or at capture.start.op.time."""
        start = self._position.first(epoch)
        self._position.is_known = True
        if not self._rule.reads(epoch):
            return start, None
        snapshot = self.snapshot()
        with closed_on_failure(snapshot):
            return snapshot.begin(start, Moment.now()), snapshot

    def snapshot(self) -> MongoSnapshot:
        """See Source."""
        return open_snapshot(self._run)

    def check(
        self,
        stored: MongoOffset,
        snapshot: OpenSnapshot[MongoPosition] | None,  # noqa: ARG002
    ) -> Lost | None:
        """See Source."""
        if not self.streams:
            return None
        return self._position.check(stored)

    def forget_position(self) -> None:
        """See Source."""
        self._position.is_known = False

    # -- the stream -----------------------------------------------------------------------------

    def stream(self, start: MongoOffset, *, greets: bool) -> Streaming[MongoPosition]:
        """See Source."""
        run, config = self._run, self._run.config
        start = self._position.with_token(start)
        ids = CollectionIds(run)
        collections = KnownCollections(run.key_rendering, run.captures, ids.facts, run.fields)
        self._collections = collections
        counts = transaction_counts(config, run.settings.format)
        options = MongoReaderOptions(
            row_options(config, splits_keys=False),
            borders=None if counts is None else run.topics.transactions,
            wall_times=run.settings.format.precise_times,
            left_out=left_out(config),
        )
        return Streaming(
            ChangeStreamReader(
                run.cursor(self._progress),
                collections,
                start.position,
                options,
                run.translate,
                self._progress,
                ids.note_change if run.identifies else None,
            ),
            collections,
            start,
            run.settings,
            StreamOptions.of(config, run.plan, run.waiting.orphaned, inline=run.inline),
            metrics=self.metrics.streaming,
            counts=counts,
            inserter=self._signals(greets=greets),
            marks=ResumeTokens(),
        )

    def _signals(self, *, greets: bool) -> IncrementalSnapshots[MongoPosition] | None:
        config = self._run.config
        table = config.signal_table()
        if not uses_signals(config, table):
            return None
        writes = table is not None and not config.read_only
        marks = Watermarks(config, SignalDocuments(config, str(table))) if writes else None
        stream: SignalStream[MongoPosition] = SignalStream(
            greets,
            table,
            marks,
            position_text="ord {}".format,
            texts=signal_texts,
        )
        source = MongoChunkSource(self._run)
        return IncrementalSnapshots(config, source, stream, self.metrics.incremental)

    def log_end(self) -> int:
        """See Source: the position after the last operation that the primary reports."""
        with self._run.client() as client:
            return self._run.log_end(client)

    # -- errors and the end ---------------------------------------------------------------------

    def translate(self, error: Exception) -> HeadraceError | None:
        """See Source."""
        return self._run.translate(error) if isinstance(error, PyMongoError) else None

    def close(self) -> None:
        """See Source."""
        self.metrics.close()


def _source_position(row: np.void | None) -> dict[str, int | None]:
    """The SourceEventPosition metric of the last row."""
    return {"ord": None if row is None else int(row["place"])}


def open_connector(
    config: MongoConfig, *, cores: int, inline: bool, orphaned: Callable[[], bool]
) -> Engine[MongoPosition]:
    """A connector for one change stream; see ConnectorDefinition.open."""

    def source(plan: Plan, waiting: Waiting) -> MongoDatabase:
        return MongoDatabase(Run.of(config, plan, waiting, inline=inline))

    return open_engine(config, source, cores=cores, orphaned=orphaned)
