"""An engine over a source, as a configuration says."""

from __future__ import annotations

from collections.abc import Callable

from headrace.config.properties.common import ConnectorConfig
from headrace.connect.slices import Plan
from headrace.connectors.engine import Engine, EngineOptions
from headrace.connectors.heartbeats import Heartbeats
from headrace.connectors.source import Source
from headrace.connectors.waiting import Waiting
from headrace.offsets.offset import P


def plan_of(config: ConnectorConfig, cores: int) -> Plan:
    """The slices of a range: headrace.slices, or one per core."""
    return Plan(config.headrace_slices or cores, str(config.headrace_slice_order))


def open_engine(
    source: Source[P],
    config: ConnectorConfig,
    waiting: Waiting,
    with_heartbeats: Callable[[], None] | None = None,
) -> Engine[P]:
    """A connector over `source`; `with_heartbeats` runs with each heartbeat."""
    options = EngineOptions(
        max_retries=config.errors_max_retries,
        retry_seconds=config.retriable_restart_connector_wait_ms / 1000,
        streaming_delay_seconds=config.streaming_delay_ms / 1000,
    )
    heartbeats = None
    if config.heartbeat_interval_ms:
        heartbeats = Heartbeats(config.heartbeat_interval_ms / 1000, with_heartbeats)
    return Engine(source, options, waiting, heartbeats)
