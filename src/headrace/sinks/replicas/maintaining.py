"""Upkeep of replicas: small files are merged, files with many dead rows written again, and old
snapshots forgotten. Nothing of it is needed for a table to be right."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.connect.disk import replace_text
from headrace.errors import HeadraceError
from headrace.sinks.replicas.files.compacting import compact
from headrace.sinks.replicas.lake import (
    CONFLICT,
    NAME_NOT_TAKEN,
    ColumnChange,
    Lake,
    LakeTable,
    TableName,
)

if TYPE_CHECKING:
    from headrace.sinks.replicas.runners import Runner

log = logging.getLogger(__name__)
_TABLES = "replicas.json"
_MOST_TRIES = 3


@dataclass(frozen=True)
class Upkeep:
    """What was done to a table: files that were merged, and into how many."""

    name: TableName
    merged: int
    made: int


def note_tables(state: Path, names: Iterable[TableName]) -> None:
    """Keep in the sink's state folder which tables its query keeps. Raises OSError."""
    known = [[*name.namespace, name.name] for name in sorted(names, key=str)]
    replace_text(state / _TABLES, json.dumps(known))


def noted_tables(state: Path) -> list[TableName]:
    """The tables that a query keeps; empty where it has not begun."""
    try:
        known = json.loads((state / _TABLES).read_text())
    except FileNotFoundError:
        return []
    return [TableName(tuple(outer), name) for *outer, name in known]


def maintain(
    lake: Lake, names: Iterable[TableName], runner: Runner, keep: timedelta
) -> Iterator[Upkeep]:
    """Look after tables, one after the other, while their query may run. Snapshots older than
    `keep` expire. Raises HeadraceError."""
    for name in names:
        try:
            table = lake.table(name)
        except HeadraceError as error:
            if error.code != NAME_NOT_TAKEN:
                raise
            table = None  # a table that is stopped
        if table is None:
            continue
        merged, made = merge_small_files(table, runner)
        table.expire(datetime.now(UTC) - keep)
        yield Upkeep(name, merged, made)


def merge_small_files(
    table: LakeTable,
    runner: Runner,
    *,
    name: str = "headrace-compaction-",
    only_small: bool = False,
) -> tuple[int, int]:
    """Merge the files of a table that are worth it: how many, and into how many. The names of new
    ones begin with `name`. With `only_small` files that are large and have many dead rows stay.
    Gives up where the table's query commits all the time. Raises HeadraceError, OSError, and
    nothing is left behind then."""
    for _ in range(_MOST_TRIES):
        transaction = table.begin(ColumnChange())
        own = f"{name}{uuid.uuid4().hex[:8]}"
        is_committing = False
        try:
            change = compact(transaction, own, runner, only_small=only_small)
            if change is None:
                return 0, 0
            is_committing = True
            transaction.commit(change, {})
        except Exception as error:
            is_conflict = isinstance(error, HeadraceError) and error.code == CONFLICT
            # Of a commit that failed in another way it is not known that it did.
            if is_conflict or not is_committing:
                transaction.storage.sweep(own)
            if not is_conflict:
                raise
            log.info("%s: its query has committed meanwhile; once more", table.name)
            continue
        return len(change.removed), len(change.added)
    return 0, 0
