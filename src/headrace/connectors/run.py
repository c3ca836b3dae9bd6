"""A run of a connector: the objects that its parts share, and how they are combined."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from headrace.config.properties.connector import ConnectorConfig
from headrace.connect.slices import Plan
from headrace.connectors.connector_metrics import ConnectorMetrics
from headrace.connectors.engine import Engine, open_engine
from headrace.connectors.record_options import row_options, uses_signals
from headrace.connectors.source import Source, closed_on_failure
from headrace.connectors.waiting import Waiting
from headrace.offsets.offset import Offset, P
from headrace.signals.collection import SignalCollection, Watermarks
from headrace.snapshots.incremental.chunk_source import ChunkSource
from headrace.snapshots.incremental.runner import IncrementalSnapshots, SignalStream
from headrace.snapshots.modes import SnapshotRule
from headrace.snapshots.snapshot import Snapshot
from headrace.snapshots.snapshot_source import H, SnapshotSource
from headrace.streaming.changes.key_columns import KeyRendering
from headrace.streaming.counts import TransactionCounts
from headrace.streaming.facts import EventSettings
from headrace.streaming.log_reader import LogReader
from headrace.streaming.streaming import EndMarks, Streaming, StreamOptions, Versions

C = TypeVar("C", bound=ConnectorConfig)
S = TypeVar("S", bound=EventSettings)


@dataclass(frozen=True)
class Run(Generic[C, S]):
    """The configuration, and the `settings` of its events. `plan` cuts a range into slices, which
    carry their bytes if they are `inline`; `waiting` ends the run when the driver has ended. A
    connector derives from this class to add further objects that its parts share."""

    config: C
    settings: S
    plan: Plan
    waiting: Waiting
    inline: bool

    @property
    def key_rendering(self) -> KeyRendering:
        """How keys are rendered."""
        return KeyRendering.of(self.settings, self.config)

    @property
    def row_options(self) -> int:
        """The records that a change produces; see record_options."""
        return row_options(self.config)

    def begin_with(
        self, snapshot: Snapshot[P, H], start: Offset[P], held_snapshot: H
    ) -> tuple[Offset[P], Snapshot[P, H] | None]:
        """Begin the snapshot `held_snapshot` at `start`, if snapshot.mode asks for one; see
        Source.begin."""
        if not SnapshotRule.of(self.config).reads(start.epoch):
            return start, None
        with closed_on_failure(snapshot):
            return snapshot.begin(start, held_snapshot), snapshot

    def snapshot_of(self, source: SnapshotSource[P, H]) -> Snapshot[P, H]:
        """Return a snapshot that can begin or continue. Raises HeadraceError."""
        return Snapshot(self.config, source, self.plan, self.settings)

    def watermarks(self, collection: SignalCollection | None) -> Watermarks | None:
        """Return the writer of the watermarks in a signal collection, which mark where windows open
        and close; None: there is no collection, or `read.only` forbids it."""
        if collection is None or self.config.read_only:
            return None
        return Watermarks(self.config, collection)

    def signals(
        self, source: ChunkSource[Any], stream: SignalStream[P], metrics: ConnectorMetrics
    ) -> IncrementalSnapshots[P] | None:
        """Return the signals of a stream, and the incremental snapshots that they ask for; None: no
        signals can arrive, and no notifications are sent."""
        if not uses_signals(self.config, stream.collection):
            return None
        return IncrementalSnapshots(self.config, source, stream, metrics.incremental)

    def streaming(
        self,
        reader: LogReader,
        versions: Versions,
        start: Offset[P],
        metrics: ConnectorMetrics,
        *,
        signals: IncrementalSnapshots[P] | None = None,
        counts: TransactionCounts | None = None,
        marks: EndMarks[P] | None = None,
        **options: Any,
    ) -> Streaming[P]:
        """Return the log that `reader` reads from `start` on; see Streaming. `options` are the
        StreamOptions that a configuration does not have."""
        return Streaming(
            reader,
            versions,
            start,
            self.settings,
            StreamOptions.of(
                self.config, self.plan, self.waiting.orphaned, inline=self.inline, **options
            ),
            metrics=metrics.streaming,
            inserter=signals,
            counts=counts,
            marks=marks,
        )


def open_run(
    config: C,
    settings: S,
    open_source: Callable[[Run[C, S]], Source[P]],
    *,
    cores: int,
    inline: bool,
    orphaned: Callable[[], bool],
) -> Engine[P]:
    """Return a connector whose source needs only a Run; see ConnectorDefinition.open."""

    def source(plan: Plan, waiting: Waiting) -> Source[P]:
        return open_source(Run(config, settings, plan, waiting, inline))

    return open_engine(config, source, cores=cores, orphaned=orphaned)
