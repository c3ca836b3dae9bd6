"""The shapes of the captured tables' events, for the tables' current columns."""

from __future__ import annotations

from headrace.connect.records import Shape
from headrace.relational.capture import TableCapture
from headrace.relational.catalog import T, TableCatalog
from headrace.relational.events import RelationalSettings


def shapes_of(
    capture: TableCapture, settings: RelationalSettings, catalog: TableCatalog[T]
) -> list[Shape]:
    """Return the shapes of all captured tables, in the order of snapshots."""
    ids = [table.id for table in catalog.tables() if capture.reads(table.name)]
    read = catalog.read(ids)
    tables = sorted(read.tables.values(), key=lambda table: capture.order(table.name))
    return [capture.relation(table, table).shape(settings) for table in tables]
