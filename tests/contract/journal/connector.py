"""The journal under the engine, and its definition."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from headrace.config.kinds import PATH, TEXT
from headrace.config.properties.common import ConnectorConfig
from headrace.config.property import REQUIRED, Group, Property
from headrace.connect.slices import Plan, Slice
from headrace.connectors.connector_metrics import ConnectorMetrics
from headrace.connectors.engine import Engine, EngineOptions
from headrace.connectors.heartbeats import Heartbeats
from headrace.connectors.metrics import StreamingMetrics, StreamState
from headrace.connectors.waiting import Waiting
from headrace.errors import HeadraceError
from headrace.offsets.offset import Offset, OffsetObject
from headrace.streaming.facts import EventSettings
from headrace.streaming.ranges import Limit
from headrace.streaming.row_kernel import TOMBSTONES
from headrace.streaming.streaming import Streaming, StreamOptions
from tests.contract.journal.events import JournalFacts, JournalSource
from tests.contract.journal.journal import COLLECTIONS, Journal
from tests.contract.journal.log_reader import (
    JournalPosition,
    JournalReader,
    gone,
    lost,
    place_of,
)

JournalOffset = Offset[JournalPosition]


class JournalConfig(ConnectorConfig):
    """Where the journal is, and whose place in it is acknowledged."""

    journal_folder = Property("journal.folder", PATH, REQUIRED, Group.CONNECTION, "Its folder.")
    journal_reader = Property("journal.reader", TEXT, REQUIRED, Group.CONNECTION, "Our name.")


class JournalStream(Streaming[JournalPosition]):
    """See headrace.connectors.source.OpenStream. Its versions are the collections."""

    settings: EventSettings

    def slices(self, start: JournalOffset, end: JournalOffset, *_: EventSettings) -> list[Slice]:
        return super().slices(start, end, self.settings)

    def head(self) -> int:
        return self.server_position()

    def state(self) -> StreamState:
        return StreamState(self.receiver.connected(), self.filtered(), *self.queue_bytes(), None)


class JournalDatabase:
    """See headrace.connectors.source.Source."""

    streams, snapshots_every_start = True, False

    def __init__(self, config: JournalConfig, plan: Plan, waiting: Waiting, inline: bool) -> None:
        self._config = config
        self._journal = Journal(Path(config.journal_folder))
        self._settings = EventSettings(config.topic_prefix, JournalSource())
        self.heartbeat_topic = f"{config.topic_heartbeat_prefix}.{config.topic_prefix}"
        self.metrics = ConnectorMetrics(
            StreamingMetrics(lambda _row: {}), lambda: COLLECTIONS, lambda: None
        )
        self._options = StreamOptions(
            Limit(config.headrace_range_max_bytes, config.headrace_range_max_rows),
            plan,
            spool_bytes=config.headrace_spool_max_bytes,
            acknowledge_seconds=config.headrace_acknowledge_interval / 1000,
            orphaned=waiting.orphaned,
            inline=inline,
        )
        topics = [f"{config.topic_prefix}.{collection}" for collection in COLLECTIONS]
        self.facts = list(map(JournalFacts, topics, COLLECTIONS))
        self.collections = list(COLLECTIONS)
        for nothing in ("forget_position", "forget_tables", "disconnect", "close", "drop"):
            setattr(self, nothing, lambda: None)

    def read_offset(self, data: OffsetObject) -> JournalOffset:
        return Offset.from_json(data, self._config.topic_prefix, JournalPosition.from_json)

    def offset_at(self, place: int) -> JournalOffset:
        return Offset(self._config.topic_prefix, JournalPosition(place & (1 << 64) - 1), 1)

    def validate(self, stored: JournalOffset | None) -> None:
        self._journal.read(0, 0)
        if stored is not None and not stored.is_initial:
            self.check(stored, None)

    def begin(self, epoch: int) -> tuple[JournalOffset, None]:
        end = len(self._journal.read())
        return Offset(self._config.topic_prefix, JournalPosition(end), epoch), None

    def check(self, stored: JournalOffset, snapshot: object) -> None:
        self._journal.read(0, 0)
        if stored.position.offset < self._journal.first:
            raise lost(self._journal)

    def is_lost(self, error: HeadraceError) -> bool:
        return error.code == "journal.lost"

    def stream(self, start: JournalOffset, *, greets: bool) -> JournalStream:
        topics = [facts.topic for facts in self.facts]
        reader = JournalReader(
            self._journal, self._config.journal_reader, start.position, topics, TOMBSTONES
        )
        stream = JournalStream(reader, self, start, self._options, metrics=self.metrics.streaming)
        stream.settings = self._settings
        return stream

    def log_end(self) -> int:
        return place_of(len(self._journal.read()))

    def ends_snapshot(self, error: HeadraceError) -> bool:
        return False

    def translate(self, error: Exception) -> HeadraceError | None:
        return gone(self._journal, error) if isinstance(error, OSError) else None


class JournalDefinition:
    """See headrace.connectors.definition.ConnectorDefinition."""

    name, classes, driver, demo = "journal", ("JournalConnector",), None, None
    kernels: Mapping[str, Sequence[str]] = {"tests.contract.journal.kernel": ("index_frames",)}
    worker_modules = ("headrace.streaming.slices", "tests.contract.journal.events")
    verbs: Mapping[str, str] = {}

    def configuration(self) -> type[ConnectorConfig]:
        return JournalConfig

    def open(
        self, config: Any, *, cores: int, inline: bool, orphaned: Callable[[], bool]
    ) -> Engine[JournalPosition]:
        plan = Plan(config.headrace_slices or cores, str(config.headrace_slice_order))
        waiting = Waiting(orphaned)
        beat = config.heartbeat_interval_ms / 1000
        return Engine(
            JournalDatabase(config, plan, waiting, inline),  # type: ignore[arg-type]
            EngineOptions(config.errors_max_retries, 0.1, 0),
            waiting,
            Heartbeats(beat) if beat else None,
        )

    def caught_up(self, latest: OffsetObject, end: OffsetObject) -> bool:
        return latest.get("journal") == end.get("journal")


DEFINITION = JournalDefinition()
