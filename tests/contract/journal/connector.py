"""The journal under the engine, and its definition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headrace.config.kinds import PATH, TEXT
from headrace.config.properties.connector import ConnectorConfig
from headrace.config.property import REQUIRED, Group, Property
from headrace.connectors.connector_metrics import ConnectorMetrics
from headrace.connectors.definition import ConnectorDefinition
from headrace.connectors.engine import Engine
from headrace.connectors.run import Run, open_run
from headrace.connectors.source import OpenSnapshot, Source
from headrace.offsets.offset import Offset, OffsetObject
from headrace.offsets.position import PlacePosition
from headrace.snapshots.incremental.runner import SignalStream
from headrace.snapshots.snapshot import Snapshot
from headrace.streaming.facts import EventSettings
from headrace.streaming.relations import RelationVersions
from headrace.streaming.streaming import Streaming
from tests.contract.journal.events import JournalFacts, JournalSource
from tests.contract.journal.journal import COLLECTIONS, Journal, translate
from tests.contract.journal.log_reader import JournalReader
from tests.contract.journal.reading import JournalSnapshot, RowChunks, State

JournalOffset = Offset[PlacePosition]


class JournalConfig(ConnectorConfig):
    """The journal's folder, and the reader whose place in it is acknowledged."""

    journal_folder = Property("journal.folder", PATH, REQUIRED, Group.CONNECTION, "Its folder.")
    journal_reader = Property("journal.reader", TEXT, REQUIRED, Group.CONNECTION, "Our name.")


class JournalDatabase(Source[PlacePosition]):
    """See headrace.connectors.source.Source."""

    position_type = PlacePosition
    translate = staticmethod(translate)

    def __init__(self, run: Run[Any, EventSettings]) -> None:
        self._run, self.server = run, run.config.topic_prefix
        self._journal = Journal(Path(run.config.journal_folder))
        facts = {name: JournalFacts(f"{self.server}.{name}", name) for name in COLLECTIONS}
        self._rows = RowChunks(self._journal, facts, run.key_rendering)
        self.metrics = ConnectorMetrics(lambda: COLLECTIONS)

    def begin(self, epoch: int) -> tuple[JournalOffset, OpenSnapshot[PlacePosition] | None]:
        state = self._rows.now()
        start = Offset(self.server, PlacePosition(state.up_to), epoch)
        return self._run.begin_with(self.snapshot(), start, state)

    def check(self, stored: JournalOffset, snapshot: OpenSnapshot[PlacePosition] | None) -> None:
        self._journal.check(stored.position.committed)
        if stored.snapshot is not None and snapshot is not None:
            snapshot.resumed(stored.snapshot)

    def snapshot(self) -> Snapshot[PlacePosition, State]:
        return self._run.snapshot_of(JournalSnapshot(self._rows))

    def stream(self, start: JournalOffset, *, greets: bool) -> Streaming[PlacePosition]:
        run, name = self._run, self._run.config.journal_reader
        versions = RelationVersions(run.key_rendering, first=self._rows.facts.values())
        reader = JournalReader(self._journal, name, start.position, versions, run.row_options)
        signals = run.signals(self._rows, SignalStream[PlacePosition](greets), self.metrics)
        return run.streaming(reader, versions, start, self.metrics, signals=signals)

    def log_end(self) -> int:
        return self._journal.end()


class JournalDefinition(ConnectorDefinition):
    """See headrace.connectors.definition.ConnectorDefinition."""

    name = "journal"
    kernels = {  # noqa: RUF012
        "headrace.streaming.changes.kernels.frame_kernel": ("index_frames",),
        "tests.contract.journal.kernel": ("index_frame",),
    }
    worker_modules = ("headrace.streaming.slices", "tests.contract.journal.reading")

    def configuration(self) -> type[ConnectorConfig]:
        return JournalConfig

    def open(self, config: Any, **how: Any) -> Engine[PlacePosition]:
        settings = EventSettings(config.topic_prefix, JournalSource())
        return open_run(config, settings, JournalDatabase, **how)

    def caught_up(self, latest: OffsetObject, end: OffsetObject) -> bool:
        return latest.get("committed") == end.get("committed")


DEFINITION = JournalDefinition()
