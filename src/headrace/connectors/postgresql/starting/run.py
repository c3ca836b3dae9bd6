"""The common objects of one run of the connector."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

import psycopg

from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog.catalog import Catalog
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import (
    CHECK_LIMIT,
    END_LIMIT_MS,
    answer_text,
    connect,
)
from headrace.connectors.postgresql.ddl.lock_watch import LockWatch
from headrace.connectors.postgresql.position import PostgresOffset, PostgresPosition
from headrace.connectors.postgresql.reading.snapshot_source import (
    PostgresSnapshot,
    PostgresSnapshotSource,
)
from headrace.connectors.postgresql.source import PostgresSettings
from headrace.connectors.run import Run
from headrace.errors import HeadraceError

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PostgresRun(Run[PostgresConfig, PostgresSettings]):
    """The common objects of one run of the connector; see Run."""

    capture: Capture
    catalog: Catalog
    watch: LockWatch

    def snapshot(self) -> PostgresSnapshot:
        """A snapshot that begins or is resumed."""
        source = PostgresSnapshotSource(
            self.config, self.capture, self.catalog, self.waiting, self.watch
        )
        return self.snapshot_of(source)

    def offset(self, position: PostgresPosition, epoch: int, system: str) -> PostgresOffset:
        """The first offset of an epoch, in the cluster `system`."""
        server, order = self.config.topic_prefix, self.plan.order
        return PostgresOffset(server, position, epoch, system, order=order)


def undo_making(
    config: PostgresConfig,
    object_name: str,
    sql: str,
    drop: Callable[[psycopg.Connection], object],
    connection: psycopg.Connection,
) -> None:
    """Drop the object `object_name` that a failed start created, on another connection if this one
    fails, which may be the reason. If it remains, warn with the `sql` that drops it; `drop` returns
    False if the object is in use."""
    try:
        try:
            dropped = drop(connection)
        except psycopg.Error:
            with connect(config, limit=CHECK_LIMIT, at_most_ms=END_LIMIT_MS) as other:
                dropped = drop(other)
        why = "it is in use" if dropped is False else ""
    except psycopg.Error as error:
        why = answer_text(error, config, "")
    except HeadraceError as error:
        why = str(error)
    if why:
        log.warning(
            "The start failed, and %s that it created stays: %s. Drop it: %s;",
            object_name,
            why,
            sql,
        )
