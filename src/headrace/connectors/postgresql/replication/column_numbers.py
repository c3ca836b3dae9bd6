"""The numbers (pg_attribute.attnum) of the columns that a relation message describes.

A relation message has names and types, and columns in the order of their numbers. The catalogue may
be newer, and a name may be another column's by then. A column that no transaction has changed since
had its name. Of the others the order is certain: numbers are never given again, and a column that
exists now has existed since the first message with a higher number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from headrace.connectors.postgresql.catalog.catalog import (
    CatalogColumn,
    CatalogReading,
    CatalogTable,
)
from headrace.connectors.postgresql.replication.pgoutput_messages import (
    RelationColumn,
    RelationMessage,
)

_MAX_OPTIONAL = 12
"""Columns that a message may have or lack; with more of them nothing is certain."""


def column_numbers(
    message: RelationMessage, present: CatalogTable, catalog: CatalogReading, xid: int
) -> list[int | None]:
    """Return the number of each column of a message of the transaction `xid`; None: not certain."""
    names = {column.name for column in message.columns}
    unchanged = {
        column.name: column
        for column in present.columns
        if column.name in names and not catalog.is_since(column.changed_by, xid)
    }
    certain = [unchanged[c.name].number if c.name in unchanged else None for c in message.columns]
    if None not in certain:
        return certain
    places = list(_places(message.columns, present, catalog, xid, unchanged))
    if len(places) > 1:
        places = _chosen(places, present, catalog, xid) or places
    if not places:
        return certain
    return [numbers[0] if len({*numbers}) == 1 else None for numbers in zip(*places, strict=True)]


def _places(
    columns: Sequence[RelationColumn],
    present: CatalogTable,
    catalog: CatalogReading,
    xid: int,
    unchanged: dict[str, CatalogColumn],
) -> Iterator[tuple[int, ...]]:
    """The columns that a message may be of: those that exist now up to some number, and of those
    that were dropped since, any."""
    fixed = {column.number: name for name, column in unchanged.items()}
    changed = [c for c in present.columns if catalog.is_since(c.changed_by, xid)]
    listed = present.history.lists_columns
    optional = [c.number for c in changed if c.generated or listed]
    always = [c.number for c in changed if not c.generated and not listed]
    dropped = present.history.dropped
    optional += [number for number, by in dropped.items() if catalog.is_since(by, xid)]
    if len(optional) > _MAX_OPTIONAL:
        return
    yielded = set[tuple[int, ...]]()
    for last in sorted({*always, *optional, *fixed}):
        if any(number > last for number in fixed):
            continue
        present_numbers = [number for number in (*always, *fixed) if number <= last]
        free = [number for number in optional if number <= last]
        missing = len(columns) - len(present_numbers)
        if not 0 <= missing <= len(free):
            continue
        for dropped_numbers in combinations(free, missing):
            numbers = tuple(sorted((*present_numbers, *dropped_numbers)))
            named = zip(columns, numbers, strict=True)
            if numbers not in yielded and all(fixed.get(n, c.name) == c.name for c, n in named):
                yielded.add(numbers)
                yield numbers


def _chosen(
    places: list[tuple[int, ...]], present: CatalogTable, catalog: CatalogReading, xid: int
) -> list[tuple[int, ...]]:
    """Return the possibilities that have each column that another, later transaction
    dropped: the order of transactions is that of their ids, and savepoints have own ids."""
    later = {
        number
        for number, by in present.history.dropped.items()
        if by != xid and catalog.is_since(by, xid)
    }
    return [
        numbers
        for numbers in places
        if all(number in numbers for number in later if number <= numbers[-1])
    ]
