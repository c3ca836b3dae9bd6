"""Opens the configured schema history."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headrace.config.properties.history import HistoryKind, SchemaHistoryConfig
from headrace.relational.history.file_store import FileStore
from headrace.relational.history.history import PlaceOf, SchemaHistory
from headrace.relational.history.store import HistoryStore, MemoryStore

if TYPE_CHECKING:
    from headrace.relational.history.kafka_store import KafkaStore


def open_history(
    config: SchemaHistoryConfig,
    server: str,
    place_of: PlaceOf,
    memory: MemoryStore | None = None,
) -> SchemaHistory:
    """Return the history of `server` (topic.prefix), without any request. `memory` is the process's
    store, for a history that is only kept in memory; None: a new one. Raises HeadraceError
    `relational.no_kafka_client` and `relational.kafka_setting`."""
    return SchemaHistory(_store(config, memory), server, place_of)


def kafka_store(config: SchemaHistoryConfig) -> KafkaStore:
    """Return the store for the configured topic; raises as `open_history`."""
    from headrace.relational.history.kafka_store import KafkaStore  # its client is optional

    attempts = config.schema_history_internal_kafka_recovery_attempts
    interval = config.schema_history_internal_kafka_recovery_poll_interval_ms
    return KafkaStore(
        config.schema_history_internal_kafka_topic or "",
        config.schema_history_internal_kafka_bootstrap_servers or "",
        config.schema_history_internal_consumer,
        config.schema_history_internal_producer,
        seconds=attempts * interval / 1000,
    )


def _store(config: SchemaHistoryConfig, memory: MemoryStore | None) -> HistoryStore:
    match config.history_kind():
        case HistoryKind.KAFKA:
            return kafka_store(config)
        case HistoryKind.FILE:
            return FileStore(Path(config.history_file() or ""))
    return MemoryStore() if memory is None else memory
