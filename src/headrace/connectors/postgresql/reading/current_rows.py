"""The present rows of PostgreSQL's tables, read independently of the stream: see
`snapshots.incremental.current_rows`."""

from __future__ import annotations

from functools import partial

from headrace.connectors.postgresql.capture import Capture, settings_of
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.position import PostgresPosition, format_lsn
from headrace.connectors.postgresql.reading.chunk_source import PostgresChunkSource
from headrace.connectors.postgresql.reading.dialect import SQL
from headrace.connectors.postgresql.replication.log_end import flushed_log_end
from headrace.offsets.offset import Offset
from headrace.relational.reading.key_conditions import key_condition
from headrace.snapshots.incremental.current_rows import CurrentRows


def current_rows(config: PostgresConfig) -> CurrentRows:
    """See ConnectorDefinition. Each chunk is read on a snapshot, which sees no commit after the end
    of the log at a later moment."""
    config = config.marked()
    capture = Capture(config)
    return CurrentRows(
        PostgresChunkSource(config, capture),
        settings_of(config, capture),
        lambda data: Offset.from_json(data, config.topic_prefix, PostgresPosition.from_json),
        lambda: flushed_log_end(config),
        format_lsn,
        partial(key_condition, SQL.dialect.quoted),
    )
