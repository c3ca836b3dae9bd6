"""The current rows of Oracle's tables, read while the query streams: see
`snapshots.incremental.current_rows`."""

from __future__ import annotations

from functools import partial

from headrace.connectors.oracle.capture import Capture, settings_of
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.position import OraclePosition
from headrace.connectors.oracle.reading.chunk_source import OracleChunkSource
from headrace.connectors.oracle.scn import scn_of
from headrace.connectors.oracle.sql import quoted
from headrace.offsets.offset import Offset
from headrace.relational.reading.key_conditions import key_condition
from headrace.snapshots.incremental.current_rows import CurrentRows


def current_rows(config: OracleConfig) -> CurrentRows:
    """See ConnectorDefinition. Chunks are read as of an SCN."""
    capture = Capture(config)
    chunks = OracleChunkSource(config, capture)
    return CurrentRows(
        chunks,
        settings_of(config, capture),
        lambda data: Offset.from_json(data, config.topic_prefix, OraclePosition.from_json),
        chunks.position,
        # A place is one more than the last SCN that the rows contain.
        lambda place: f"SCN {scn_of(place) - 1}",
        partial(key_condition, quoted),
    )
