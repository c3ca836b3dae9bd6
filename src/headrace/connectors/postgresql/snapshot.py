"""Snapshots of PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable

from headrace.connect.slices import Plan
from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog.catalog import Catalog
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.position import PostgresPosition
from headrace.connectors.postgresql.reading.keeper import Keeper
from headrace.connectors.postgresql.reading.snapshot_source import PostgresSnapshotSource
from headrace.snapshots.snapshot import Snapshot
from headrace.streaming.facts import EventSettings

PostgresSnapshot = Snapshot[PostgresPosition, Keeper]


def open_snapshot(
    config: PostgresConfig,
    capture: Capture,
    catalog: Catalog,
    plan: Plan,
    check: Callable[[], None],
    settings: EventSettings,
) -> PostgresSnapshot:
    """A snapshot to begin or to go on with. `check` is called while it waits, and may raise."""
    source = PostgresSnapshotSource(config, capture, catalog, check)
    return Snapshot(config, source, plan, settings)
