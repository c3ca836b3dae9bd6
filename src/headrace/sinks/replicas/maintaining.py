"""Upkeep of replicas: merges small files, rewrites files with many dead rows, and expires old
snapshots. Tables are correct without it."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
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
    """The result of a table's upkeep: the number of files that were merged, and of the new
    files."""

    name: TableName
    merged: int
    made: int


def note_tables(state: Path, names: Iterable[TableName]) -> None:
    """Write to the sink's state folder which tables its query keeps. Raises OSError."""
    known = [[*name.namespace, name.name] for name in sorted(names, key=str)]
    replace_text(state / _TABLES, json.dumps(known))


def noted_tables(state: Path) -> list[TableName]:
    """Return the tables that a query keeps; empty before its start."""
    try:
        known = json.loads((state / _TABLES).read_text())
    except FileNotFoundError:
        return []
    return [TableName(tuple(outer), name) for *outer, name in known]


def maintain(
    lake: Lake, names: Iterable[TableName], runner: Runner, older_than: datetime
) -> Iterator[Upkeep]:
    """Maintain tables one after the other; their query may be running. Snapshots that were replaced
    before `older_than` expire. Raises HeadraceError."""
    for name in names:
        try:
            table = lake.table(name)
        except HeadraceError as error:
            if error.code != NAME_NOT_TAKEN:
                raise
            table = None  # a stopped table
        if table is None:
            continue
        merged, made = merge_small_files(table, runner)
        table.expire(older_than)
        yield Upkeep(name, merged, made)


def merge_small_files(
    table: LakeTable,
    runner: Runner,
    *,
    name: str = "headrace-compaction-",
    only_small: bool = False,
) -> tuple[int, int]:
    """Merge the files of a table that are worth it; returns the number of these, and of the new
    files, whose names begin with `name`. With `only_small` large files with many dead rows stay.
    Gives up if the table's query keeps committing. Raises HeadraceError, OSError, and leaves no
    files then."""
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
            # After another failure it is not known whether the commit was made.
            if is_conflict or not is_committing:
                transaction.storage.sweep(own)
            if not is_conflict:
                raise
            log.info("%s: its query has committed meanwhile; once more", table.name)
            continue
        return len(change.removed), len(change.added)
    return 0, 0
