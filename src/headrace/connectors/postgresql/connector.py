"""The PostgreSQL connector: a Source composed of catalogue, slot, snapshot and stream."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace

import numpy as np
import psycopg

from headrace.connect.slices import Plan
from headrace.connectors.connector_metrics import ConnectorMetrics
from headrace.connectors.engine import Engine, open_engine
from headrace.connectors.metrics import StreamingMetrics
from headrace.connectors.postgresql.capture import Capture, settings_of
from headrace.connectors.postgresql.catalog.catalog import Catalog
from headrace.connectors.postgresql.checks.database import require
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import CHECK_LIMIT, END_LIMIT_MS, connect, translate
from headrace.connectors.postgresql.ddl.lock_watch import LockWatch
from headrace.connectors.postgresql.heartbeats import heartbeat_query
from headrace.connectors.postgresql.position import PostgresOffset, PostgresPosition
from headrace.connectors.postgresql.reading.snapshot_source import PostgresSnapshot
from headrace.connectors.postgresql.replication.log_end import flushed_log_end
from headrace.connectors.postgresql.replication.slot import drop_when_free
from headrace.connectors.postgresql.replication.slot_watch import watch_slot
from headrace.connectors.postgresql.replication.slot_xmin import SlotXmin
from headrace.connectors.postgresql.starting.beginning import Beginning
from headrace.connectors.postgresql.starting.log_stream import Log
from headrace.connectors.postgresql.starting.readiness import Readiness, check_system
from headrace.connectors.postgresql.starting.run import PostgresRun
from headrace.connectors.postgresql.starting.stored_position import StoredPosition
from headrace.connectors.source import Lost, OpenSnapshot, Source
from headrace.connectors.waiting import Waiting
from headrace.errors import HeadraceError
from headrace.streaming.streaming import Streaming

log = logging.getLogger(__name__)


class PostgresDatabase(Source[PostgresPosition]):
    """See headrace.connectors.source.Source."""

    position_type = PostgresPosition

    def __init__(self, run: PostgresRun) -> None:
        config = run.config
        self._run, self._config, self.server = run, config, config.topic_prefix
        self._readiness = Readiness(run)
        self._beginning = Beginning(run, self._readiness)
        self.lost_log = self._position = StoredPosition(run, self._readiness)
        rule = self._readiness.rule
        self.streams, self.snapshots_every_start = rule.streams, rule.at_every
        self._heartbeat_query = heartbeat_query(config)
        if self._heartbeat_query is not None:
            self.heartbeat_action = self._heartbeat_query.run
        self.metrics = ConnectorMetrics(
            lambda: self._readiness.captured,
            StreamingMetrics(_source_position),
            lambda: watch_slot(config),
        )
        self._xmin = SlotXmin(config)
        self._log = Log(run, self._readiness, self._position, self.metrics, self._xmin)

    def offset_at(self, place: int) -> PostgresOffset:
        """See Source; `place` is an LSN."""
        return PostgresOffset(self.server, PostgresPosition(place), 1, self._position.system)

    # -- positions ------------------------------------------------------------------------------

    def validate(self, stored: PostgresOffset | None) -> None:
        """Run the checks of `headrace check`, and check whether the stored position fits."""
        self._run.watch.begin()
        connection, _ = self._readiness.prepare(stored)
        with connection, closing(self._run.catalog):
            if self._heartbeat_query is not None and self._config.heartbeat_interval_ms:
                self._heartbeat_query.examine().require(log)  # logs the warnings
            resumes = stored is not None and not stored.is_initial
            continues = stored is not None and resumes and stored.snapshot is None
            if stored is not None and resumes:
                check_system(stored, self._readiness.cluster(connection))
                # An interrupted snapshot may begin again, with another slot.
                if continues and self.streams:
                    self._position.lost(connection, stored)
        require(self._config, continues=continues, resumes=resumes)

    def begin(self, epoch: int) -> tuple[PostgresOffset, PostgresSnapshot | None]:
        """Create or find publication and slot."""
        self._run.watch.begin()
        self._position.is_known = False
        start, snapshot = self._beginning.begin(epoch)
        self._position.believe(start)
        return start, snapshot

    def begin_at(
        self, after: PostgresOffset
    ) -> tuple[PostgresOffset, OpenSnapshot[PostgresPosition]]:
        """See Source; as in Debezium, `sequence` has no commit before the snapshot."""
        if after.position.transaction is None:
            after = after.at(replace(after.position, last_commit=None))
        return super().begin_at(after)

    def check(
        self, stored: PostgresOffset, snapshot: OpenSnapshot[PostgresPosition] | None
    ) -> Lost | None:
        """Check server, slot and publication."""
        self._run.watch.begin()
        return self._position.check(stored, snapshot)

    def give_up_snapshot(self) -> None:
        """See Source; drops the slot, because the next snapshot needs a new one."""
        self._position.drop()

    def forget_position(self) -> None:
        """See Source."""
        self._position.is_known = False

    # -- snapshot and stream --------------------------------------------------------------------

    def snapshot(self) -> PostgresSnapshot:
        """See Source."""
        return self._run.snapshot()

    def stream(self, start: PostgresOffset, *, greets: bool) -> Streaming[PostgresPosition]:
        """Wait for the slot, and read from it."""
        return self._log.open(start, greets=greets)

    def log_end(self) -> int:
        """See Source; an LSN."""
        return flushed_log_end(self._config)

    # -- errors and the end ---------------------------------------------------------------------

    def ends_snapshot(self, error: HeadraceError) -> bool:
        """See Source: the snapshot's own locks may block the session that it waits for."""
        is_timeout = error.code == "postgresql.lock_timeout"
        return is_timeout and str(self._config.snapshot_locking_mode) == "shared"

    def translate(self, error: Exception) -> HeadraceError | None:
        """See Source."""
        return translate(error, self._config) if isinstance(error, psycopg.Error) else None

    def forget_tables(self) -> None:
        """See Source."""
        self._readiness.forget()

    def disconnect(self) -> None:
        """See Source."""
        self._run.catalog.close()

    @property
    def warnings(self) -> Sequence[str]:
        """Warnings about captured tables that the publication lacks."""
        return self._readiness.publication.warnings

    def close(self) -> None:
        """See Source."""
        self._readiness.publication.close()
        if self._heartbeat_query is not None:
            self._heartbeat_query.close()
        self.metrics.close()
        self._xmin.close()
        self._run.catalog.close()
        self._run.watch.close()

    def drop(self) -> None:
        """Drop the slot at the end, if slot.drop.on.stop says so."""
        if not self.streams or not self._config.slot_drop_on_stop:
            return
        try:
            with connect(self._config, limit=CHECK_LIMIT, at_most_ms=END_LIMIT_MS) as connection:
                if not drop_when_free(connection, self._config.slot_name):
                    log.warning("the slot %s is in use and stays", self._config.slot_name)
        except (HeadraceError, psycopg.Error) as error:
            log.warning("the slot %s could not be dropped: %s", self._config.slot_name, error)


def _source_position(row: np.void | None) -> dict[str, int | None]:
    """The SourceEventPosition metric of the last row."""
    return {"lsn": None if row is None else int(row["place"]), "xmin": None}


def open_connector(
    config: PostgresConfig, *, cores: int, inline: bool, orphaned: Callable[[], bool]
) -> Engine[PostgresPosition]:
    """A connector for one slot; see ConnectorDefinition.open."""
    config = config.marked()
    capture = Capture(config)
    settings = settings_of(config, capture)

    def database(plan: Plan, waiting: Waiting) -> PostgresDatabase:
        watch = LockWatch(config, waiting.report)
        catalog = Catalog(config)
        run = PostgresRun(config, settings, plan, waiting, inline, capture, catalog, watch)
        return PostgresDatabase(run)

    return open_engine(config, database, cores=cores, orphaned=orphaned)
