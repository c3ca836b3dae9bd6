"""The journal under the engine, and its definition."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from headrace.config.kinds import PATH, TEXT
from headrace.config.properties.common import ConnectorConfig
from headrace.config.property import REQUIRED, Group, Property
from headrace.connect.slices import Plan
from headrace.connectors.connector_metrics import ConnectorMetrics
from headrace.connectors.engine import Engine, EngineOptions
from headrace.connectors.heartbeats import Heartbeats
from headrace.connectors.metrics import StreamingMetrics
from headrace.connectors.source import OpenSnapshot, Source
from headrace.connectors.waiting import Waiting
from headrace.errors import HeadraceError
from headrace.offsets.offset import Offset, OffsetObject
from headrace.signals.channels import has_channels
from headrace.snapshots.incremental.runner import IncrementalSnapshots, SignalStream
from headrace.snapshots.modes import SnapshotRule
from headrace.snapshots.snapshot import Snapshot
from headrace.streaming.changes.key_columns import KeyRendering
from headrace.streaming.changes.row_kernel import TOMBSTONES
from headrace.streaming.facts import EventSettings
from headrace.streaming.relations import RelationVersions
from headrace.streaming.streaming import Streaming, StreamOptions
from tests.contract.journal.events import JournalFacts, JournalSource
from tests.contract.journal.journal import COLLECTIONS, Journal, offset_of, place_of
from tests.contract.journal.log_reader import JournalPosition, JournalReader
from tests.contract.journal.reading import RowChunks, SnapshotRows, State

JournalOffset = Offset[JournalPosition]


class JournalConfig(ConnectorConfig):
    """Where the journal is, and whose place in it is acknowledged."""

    journal_folder = Property("journal.folder", PATH, REQUIRED, Group.CONNECTION, "Its folder.")
    journal_reader = Property("journal.reader", TEXT, REQUIRED, Group.CONNECTION, "Our name.")


class JournalDatabase(Source[JournalPosition]):
    """See headrace.connectors.source.Source."""

    def __init__(self, config: Any, plan: Plan, waiting: Waiting, inline: bool) -> None:
        self._config, self._plan = config, plan
        self._journal = Journal(Path(config.journal_folder))
        self._settings = EventSettings(config.topic_prefix, JournalSource())
        self._rendering = KeyRendering.of(self._settings, config)
        self._options = StreamOptions.of(config, plan, waiting.orphaned, inline=inline)
        prefix = config.topic_prefix
        self._facts = [JournalFacts(f"{prefix}.{name}", name) for name in COLLECTIONS]
        self._reading = RowChunks(self._journal, self._facts, self._rendering)
        metrics = StreamingMetrics(lambda _row: {})
        self._metrics = ConnectorMetrics(metrics, lambda: COLLECTIONS, lambda: None)

    @property
    def heartbeat_topic(self) -> str:
        return f"{self._config.topic_heartbeat_prefix}.{self._config.topic_prefix}"

    @property
    def metrics(self) -> ConnectorMetrics:
        return self._metrics

    def read_offset(self, data: OffsetObject) -> JournalOffset:
        return Offset.from_json(data, self._config.topic_prefix, JournalPosition.from_json)

    def offset_at(self, place: int) -> JournalOffset:
        return Offset(self._config.topic_prefix, JournalPosition(offset_of(place)), 1)

    def validate(self, stored: JournalOffset | None) -> None:
        self._journal.check(0 if stored is None else stored.position.offset)

    def begin(self, epoch: int) -> tuple[JournalOffset, OpenSnapshot[JournalPosition] | None]:
        state = self._reading.now()
        start = Offset(self._config.topic_prefix, JournalPosition(state.upto), epoch)
        if not SnapshotRule.of(self._config).at_first:
            return start, None
        snapshot = self.snapshot()
        return snapshot.begin(start, state), snapshot

    def check(self, stored: JournalOffset, snapshot: OpenSnapshot[JournalPosition] | None) -> None:
        self._journal.check(stored.position.offset)
        if stored.snapshot is not None and snapshot is not None:
            snapshot.resumed(stored.snapshot)

    def snapshot(self) -> Snapshot[JournalPosition, State]:
        rows = SnapshotRows(self._reading)
        return Snapshot(self._config, rows, self._plan, self._settings)

    def stream(self, start: JournalOffset, *, greets: bool) -> Streaming[JournalPosition]:
        versions, name = RelationVersions(self._rendering), self._config.journal_reader
        for facts in self._facts:
            versions.append(facts)
        return Streaming(
            JournalReader(self._journal, name, start.position, versions, TOMBSTONES),
            versions,
            start,
            self._settings,
            self._options,
            metrics=self._metrics.streaming,
            inserter=self._signals(greets),
        )

    def _signals(self, greets: bool) -> IncrementalSnapshots[JournalPosition] | None:
        if not has_channels(self._config):
            return None
        stream = SignalStream[JournalPosition](None, None, lambda _: None, hex, greets)
        return IncrementalSnapshots(self._config, self._reading, stream, self._metrics.incremental)

    def translate(self, error: Exception) -> HeadraceError | None:
        return self._journal.translate(error)

    def log_end(self) -> int:
        return place_of(self._journal.end())


class JournalDefinition:
    """See headrace.connectors.definition.ConnectorDefinition."""

    name, classes, driver, demo = "journal", ("JournalConnector",), None, None
    kernels: Mapping[str, Sequence[str]] = {"tests.contract.journal.kernel": ("index_frames",)}
    worker_modules = ("headrace.streaming.slices", "tests.contract.journal.reading")
    verbs: Mapping[str, str] = {}

    def configuration(self) -> type[ConnectorConfig]:
        return JournalConfig

    def open(
        self, config: Any, *, cores: int, inline: bool, orphaned: Callable[[], bool]
    ) -> Engine[JournalPosition]:
        plan = Plan(config.headrace_slices or cores, str(config.headrace_slice_order))
        waiting = Waiting(orphaned)
        database = JournalDatabase(config, plan, waiting, inline)
        return Engine(database, EngineOptions.of(config), waiting, Heartbeats.of(config))

    def caught_up(self, latest: OffsetObject, end: OffsetObject) -> bool:
        return latest.get("journal") == end.get("journal")


DEFINITION = JournalDefinition()
