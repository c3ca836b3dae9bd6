"""The shapes of the captured tables' events, by the tables' current columns."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from headrace.connect.records import Shape
from headrace.connectors.postgresql.capture import Capture, settings_of
from headrace.connectors.postgresql.catalog.catalog import Catalog
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.replica_identity_rules import rules_for


def event_shapes(config: PostgresConfig) -> Sequence[Shape]:
    """See ConnectorDefinition. Tables are in the order of snapshots; a partition is part of its
    table if that is captured."""
    capture = Capture(config)
    settings = settings_of(config, capture)
    with closing(Catalog(config)) as catalog:
        roots = catalog.partition_roots()
        captured = [table.id for table in catalog.tables() if capture.reads(table.name)]
        reading = catalog.read([each for each in captured if roots.get(each) not in captured])
        identities = catalog.identities(captured)
        left_out = catalog.left_out(config.publication_name)
    rules = config.replica_identity_autoset_values
    described = [
        # A table that a rule names gets its identity at the start.
        replace(
            table, identity_columns=None if rules_for(rules, table.name) else identities.get(id_)
        )
        for id_, table in reading.tables.items()
    ]
    tables = sorted(described, key=lambda table: capture.order(table.name))
    return [
        _with_left_out(capture.relation(table, table).shape(settings), left_out.get(table.name))
        for table in tables
    ]


def _with_left_out(shape: Shape, what: str | None) -> Shape:
    assert shape.origin is not None
    return replace(shape, origin=replace(shape.origin, left_out=what or ""))
