"""The PostgreSQL connector: the database under the engine, composed of catalogue, slot, snapshot
and stream."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable

import numpy as np
import psycopg

from headrace.connect.slices import Plan
from headrace.connectors.connector_metrics import ConnectorMetrics
from headrace.connectors.engine import Engine, EngineOptions
from headrace.connectors.heartbeats import Heartbeats
from headrace.connectors.metrics import StreamingMetrics
from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog.catalog import Catalog
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect, translate
from headrace.connectors.postgresql.heartbeats import HeartbeatQuery
from headrace.connectors.postgresql.position import (
    PostgresOffset,
    PostgresPosition,
    read_offset,
)
from headrace.connectors.postgresql.reading.snapshot_source import PostgresSnapshot
from headrace.connectors.postgresql.replication.log_end import flushed_log_end
from headrace.connectors.postgresql.replication.publication import ensure_publication
from headrace.connectors.postgresql.replication.slot import (
    check_slot,
    drop_when_free,
    find_slot,
)
from headrace.connectors.postgresql.replication.slot_watch import SlotWatch
from headrace.connectors.postgresql.replication.slot_xmin import SlotXmin
from headrace.connectors.postgresql.source import PostgresSettings, PostgresSource
from headrace.connectors.postgresql.starting.beginning import Beginning
from headrace.connectors.postgresql.starting.log_stream import Log
from headrace.connectors.postgresql.starting.lost_slot import LostSlot
from headrace.connectors.postgresql.starting.readiness import Readiness, check_system
from headrace.connectors.postgresql.starting.stored_position import StoredPosition
from headrace.connectors.source import Lost, OpenSnapshot, Source
from headrace.connectors.waiting import Waiting
from headrace.debezium.event_format import FORMATS
from headrace.errors import HeadraceError
from headrace.offsets.offset import OffsetObject
from headrace.streaming.streaming import Streaming

log = logging.getLogger(__name__)


class PostgresDatabase(Source[PostgresPosition]):
    """See headrace.connectors.source.Source. `inline`: slices carry their bytes."""

    def __init__(
        self, config: PostgresConfig, plan: Plan, waiting: Waiting, *, inline: bool
    ) -> None:
        self._config = config
        self._capture = Capture(config)
        self._catalog = Catalog(config)
        settings = _event_settings(config, self._capture)
        self._readiness = Readiness(config, self._capture, self._catalog)
        self._rule = self._readiness.rule
        self._beginning = Beginning(
            config, self._capture, self._catalog, plan, self._readiness, settings, waiting
        )
        self._position = StoredPosition(config, self._readiness)
        self._lost_slot = LostSlot(config, self._position, self._beginning)
        self._xmin = SlotXmin(config)
        query = config.heartbeat_action_query
        self.heartbeat_query = HeartbeatQuery(config, query) if query else None
        self._metrics = ConnectorMetrics(
            StreamingMetrics(_source_position),
            lambda: self._readiness.captured,
            lambda: SlotWatch.of(config),
        )
        self._log = Log(
            config,
            self._capture,
            settings,
            self._readiness,
            self._position,
            plan,
            self._metrics,
            self._xmin,
            waiting.orphaned,
            inline,
        )

    @property
    def streams(self) -> bool:
        """See Source."""
        return self._rule.streams

    @property
    def snapshots_every_start(self) -> bool:
        """See Source."""
        return self._rule.at_every

    @property
    def heartbeat_topic(self) -> str:
        """See Source."""
        return self._capture.topics.heartbeats

    @property
    def metrics(self) -> ConnectorMetrics:
        """See Source."""
        return self._metrics

    @property
    def lost_log(self) -> LostSlot:
        """See Source."""
        return self._lost_slot

    def read_offset(self, data: OffsetObject) -> PostgresOffset:
        """See Source."""
        return read_offset(data, self._config.topic_prefix)

    def offset_at(self, place: int) -> PostgresOffset:
        """See Source; `place` is an LSN."""
        server, system = self._config.topic_prefix, self._position.system
        return PostgresOffset(server, PostgresPosition(place), 1, system)

    # -- positions ------------------------------------------------------------------------------

    def validate(self, stored: PostgresOffset | None) -> None:
        """Server, role, tables, slot and publication, as far as a look tells."""
        connection, tables = self._readiness.prepare()
        try:
            system = self._readiness.cluster(connection)
            if stored is not None and not stored.is_initial:
                check_system(stored, system)
                # A snapshot that was interrupted may begin again, with another slot.
                if stored.snapshot is None and self._rule.streams:
                    self._position.lost(connection, stored)
            if not self._rule.streams:
                return
            slot = find_slot(connection, self._config.slot_name)
            if slot is not None and not self._rule.repairs:
                check_slot(slot, self._config)
            if str(self._config.publication_autocreate_mode) == "disabled":
                ensure_publication(connection, self._config, [(t.schema, t.table) for t in tables])
        finally:
            connection.close()
            self._catalog.close()

    def begin(self, epoch: int) -> tuple[PostgresOffset, PostgresSnapshot | None]:
        """Publication and slot are made or found."""
        self._position.is_known = False
        start, snapshot = self._beginning.begin(epoch)
        self._position.believe(start)
        return start, snapshot

    def begin_at(self, after: PostgresOffset) -> tuple[PostgresOffset, PostgresSnapshot]:
        """See Source."""
        return self._beginning.again(after)

    def check(
        self, stored: PostgresOffset, snapshot: OpenSnapshot[PostgresPosition] | None
    ) -> Lost | None:
        """Server, slot and publication."""
        error = self._position.check(stored, snapshot)
        return None if error is None else Lost(error, self._position.follows(error, stored))

    def give_up_snapshot(self) -> None:
        """The next snapshot needs a slot of its own."""
        self._beginning.drop_slot()

    def forget_position(self) -> None:
        """See Source."""
        self._position.is_known = False

    # -- snapshot and stream --------------------------------------------------------------------

    def snapshot(self) -> PostgresSnapshot:
        """See Source."""
        return self._beginning.snapshot()

    def stream(self, start: PostgresOffset, *, greets: bool) -> Streaming[PostgresPosition]:
        """Waits for the slot, and reads from it."""
        return self._log.open(start, greets=greets)

    def log_end(self) -> int:
        """See Source; an LSN."""
        return flushed_log_end(self._config)

    # -- errors and the end ---------------------------------------------------------------------

    def ends_snapshot(self, error: HeadraceError) -> bool:
        """A snapshot that could not lock its tables would be too old when it can."""
        return error.code == "postgresql.lock_timeout"

    def translate(self, error: Exception) -> HeadraceError | None:
        """See Source."""
        return translate(error, self._config) if isinstance(error, psycopg.Error) else None

    def forget_tables(self) -> None:
        """See Source."""
        self._readiness.forget()

    def disconnect(self) -> None:
        """See Source."""
        self._catalog.close()

    def close(self) -> None:
        """See Source."""
        if self.heartbeat_query is not None:
            self.heartbeat_query.close()
        self.metrics.close()
        self._xmin.close()
        self._catalog.close()

    def drop(self) -> None:
        """slot.drop.on.stop"""
        if not self._rule.streams or not self._config.slot_drop_on_stop:
            return
        try:
            with connect(self._config) as connection:
                if not drop_when_free(connection, self._config.slot_name):
                    log.warning("the slot %s is in use and stays", self._config.slot_name)
        except (HeadraceError, psycopg.Error) as error:
            log.warning("the slot %s could not be dropped: %s", self._config.slot_name, error)


def _source_position(row: np.void | None) -> dict[str, int | None]:
    """SourceEventPosition of the last row."""
    return {"lsn": None if row is None else int(row["place"]), "xmin": None}


def _event_settings(config: PostgresConfig, capture: Capture) -> PostgresSettings:
    event_format = FORMATS[str(config.event_format_version)]
    with_context = config.extended_headers_enabled and event_format.context_headers
    return PostgresSettings(
        config.topic_prefix,
        PostgresSource(config.database_dbname, config.xmin_fetch_interval_ms > 0),
        str(uuid.uuid4()) if with_context else "",
        counted=config.provide_transaction_metadata,
        format=event_format,
        names=capture.names,
        converting=str(config.event_converting_failure_handling_mode),
        types=capture.types,
    )


def open_connector(
    config: PostgresConfig, *, cores: int, inline: bool, orphaned: Callable[[], bool]
) -> Engine[PostgresPosition]:
    """A connector for one slot; see ConnectorDefinition.open."""
    waiting = Waiting(orphaned)
    plan = Plan(config.headrace_slices or cores, str(config.headrace_slice_order))
    database = PostgresDatabase(config, plan, waiting, inline=inline)
    query = database.heartbeat_query
    heartbeats = Heartbeats.of(config, None if query is None else query.run)
    return Engine(database, EngineOptions.of(config), waiting, heartbeats)
