"""The tables that a signal names, of those that are captured or being read."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from headrace.signals.data_collections import matching, named, unquoted
from headrace.signals.progress import Pending
from headrace.signals.signal import ExecuteSnapshot

log = logging.getLogger(__name__)


def tables_to_read(
    identity: str, action: ExecuteSnapshot, captured: Sequence[str], qualifier: str = ""
) -> list[Pending]:
    """Return the tables of a snapshot that the signal `identity` asks for, each with its filter: of
    the first entry of `additional-conditions` that names the table, else `additional-condition`.
    `qualifier`: see `matching`."""
    names: dict[str, None] = {}
    for expression in action.collections:
        matched = matching(expression, captured, qualifier)
        other = unquoted(expression).removeprefix(qualifier)
        names.update(dict.fromkeys(matched or [other]))
    filters: dict[str, str] = {}
    for entry in reversed(action.conditions):
        filtered = named(entry.collection, list(names), qualifier)
        if not filtered:
            log.warning(
                "signal %s: its filter for %s matches none of its tables",
                identity,
                entry.collection,
            )
        filters |= dict.fromkeys(filtered, entry.filter)
    return [
        Pending(name, identity, filters.get(name, action.condition), action.surrogate_key)
        for name in names
    ]


def followed_tables(
    identity: str, tables: Sequence[Pending], silent: Mapping[str, str]
) -> list[Pending]:
    """Return the `tables` of the signal `identity` without those of `silent`, whose changes never
    arrive; `silent` has the reason and the remedy by name. Raises ValueError when none is left."""
    followed = [table for table in tables if table.name not in silent]
    if silent and not followed:
        raise ValueError("; ".join(silent.values()))
    for why in silent.values():
        log.warning("signal %s leaves a table out: %s", identity, why)
    return followed


def tables_to_stop(
    collections: Sequence[str], tables: Sequence[Pending], qualifier: str = ""
) -> list[Pending]:
    """Return the `tables` that `collections` name; all if it is empty. `qualifier`: see
    `matching`."""
    names = [table.name for table in tables]
    try:
        chosen = {
            name for collection in collections for name in named(collection, names, qualifier)
        }
    except ValueError as problem:  # an earlier version wrote the expression into the offset
        log.warning("a stop-snapshot is ignored: %s", problem)
        return []
    return [table for table in tables if not collections or table.name in chosen]
