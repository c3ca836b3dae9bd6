"""The shapes of the captured tables' events, by the tables' current columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace

from headrace.connect.records import Shape
from headrace.connectors.postgresql.capture import Capture, settings_of
from headrace.connectors.postgresql.catalog.catalog import Catalog, CatalogTable
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.replica_identity_rules import rules_for
from headrace.findings import named
from headrace.snapshots.tables import TableId


def event_shapes(config: PostgresConfig) -> Sequence[Shape]:
    """See ConnectorDefinition. Tables are in the order of snapshots; a partition has no shape of
    its own if its table is captured."""
    capture = Capture(config)
    settings = settings_of(config, capture)
    with closing(Catalog(config)) as catalog:
        roots = catalog.partition_roots()
        listed = [table for table in catalog.tables() if capture.reads(table.name)]
        captured = [table.id for table in listed]
        reading = catalog.read(
            [table_id for table_id in captured if roots.get(table_id) not in captured]
        )
        identities = catalog.identities(captured)
        captured_roots = {table.name: roots[table.id] for table in listed if table.id in roots}
        left_out = _partition_reasons(config, catalog, reading.tables.values(), captured_roots)
        left_out |= catalog.left_out(config.publication_name)
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


def _partition_reasons(
    config: PostgresConfig,
    catalog: Catalog,
    tables: Iterable[CatalogTable],
    roots: Mapping[str, TableId],
) -> dict[str, str]:
    """Return, by `schema.table`, the reasons why a replica cannot follow a partitioned table: the
    publication sends its changes by another name. `roots` has the root of each captured partition,
    by the partition's name."""
    of_publication = catalog.via_root(config.publication_name)
    via_root = config.publish_via_partition_root if of_publication is None else of_publication
    publication = f"the publication {config.publication_name} names changes"
    reasons: dict[str, str] = {}
    for table in tables:
        partitions = sorted(name for name, root in roots.items() if root == table.id)
        if table.partitioned and not via_root:
            reasons[table.name] = f"{publication} by the partitions, not by the table"
        elif partitions:
            reasons[table.name] = (
                f"{publication} by the table, so its partitions {named(partitions)}, which are "
                "captured as well, get none"
            )
    return reasons


def _with_left_out(shape: Shape, left_out: str | None) -> Shape:
    assert shape.origin is not None
    return replace(shape, origin=replace(shape.origin, left_out=left_out or ""))
