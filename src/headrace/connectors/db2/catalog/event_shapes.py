"""The shapes of the captured tables' events, by the tables' current columns."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.connect.records import Shape
from headrace.connectors.db2.capture import Capture, settings_of
from headrace.connectors.db2.catalog.stored_tables import StoredTables
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import opened
from headrace.connectors.db2.errors import QUERY_LIMIT
from headrace.relational.event_shapes import shapes_of


def event_shapes(config: Db2Config) -> Sequence[Shape]:
    """See ConnectorDefinition. Tables are in the order of snapshots."""
    capture = Capture(config)
    settings = settings_of(config, capture)
    with opened(config, "Reading the tables' columns", limit=QUERY_LIMIT) as connection:
        return shapes_of(capture, settings, StoredTables(connection))
