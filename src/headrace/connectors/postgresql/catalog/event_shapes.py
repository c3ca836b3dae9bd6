"""What events of the captured tables look like, as the catalogue has the tables now."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from headrace.connect.records import Shape
from headrace.connectors.postgresql.capture import Capture, settings_of
from headrace.connectors.postgresql.catalog.catalog import Catalog
from headrace.connectors.postgresql.config import PostgresConfig


def event_shapes(config: PostgresConfig) -> Sequence[Shape]:
    """See ConnectorDefinition. Tables are in the order of snapshots; a partition is part of its
    table where that is captured."""
    capture = Capture(config)
    settings = settings_of(config, capture)
    with closing(Catalog(config)) as catalog:
        roots = catalog.partition_roots()
        captured = [table.id for table in catalog.tables() if capture.reads(table.name)]
        reading = catalog.read([each for each in captured if roots.get(each) not in captured])
    tables = sorted(reading.tables.values(), key=lambda table: capture.order(table.name))
    return [capture.relation(table, table).shape(settings) for table in tables]
