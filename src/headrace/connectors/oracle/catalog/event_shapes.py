"""The shapes of the captured tables' events, by the tables' current columns."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.connect.records import Shape
from headrace.connectors.oracle.capture import Capture, settings_of
from headrace.connectors.oracle.catalog.stored_tables import StoredTables
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import opened
from headrace.connectors.oracle.errors import QUERY_LIMIT
from headrace.relational.event_shapes import shapes_of


def event_shapes(config: OracleConfig) -> Sequence[Shape]:
    """See ConnectorDefinition. Tables are in the order of snapshots."""
    capture = Capture(config)
    settings = settings_of(config, capture)
    with opened(config, "Reading the tables' columns", limit=QUERY_LIMIT) as connection:
        catalog = StoredTables(connection, comments=capture.reads_comments)
        return shapes_of(capture, settings, catalog)
