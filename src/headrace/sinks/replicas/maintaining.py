"""Upkeep of replicas: merges small files, rewrites files with many dead rows, and expires old
snapshots. Tables are correct without it."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.connect.disk import replace_text
from headrace.errors import HeadraceError
from headrace.findings import counted
from headrace.sinks.replicas import refusals
from headrace.sinks.replicas.files.compacting import compact
from headrace.sinks.replicas.files.erasing import EraseStep, erase_keys
from headrace.sinks.replicas.files.s3 import answering
from headrace.sinks.replicas.files.unfinished import (
    Committing,
    Unfinished,
    UnfinishedFiles,
    not_noted,
)
from headrace.sinks.replicas.lake import (
    BATCH,
    CONFLICT,
    MODE,
    NAME_NOT_TAKEN,
    QUERY,
    ColumnChange,
    DataFile,
    Lake,
    LakeTable,
    Storage,
    TableChange,
    TableName,
    Transaction,
)
from headrace.sinks.replicas.modes.mode import Mode
from headrace.sinks.replicas.modes.own_columns import without_own_columns

if TYPE_CHECKING:
    from headrace.sinks.replicas.runners import Runner

log = logging.getLogger(__name__)
_TABLES = "replicas.json"
_MAX_TRIES = 3
_FILES = "headrace-"
"""The prefix of the names of all files that headrace writes."""
_ERASURE = f"{_FILES}erasure-"
"""The prefix of the names of files that an erasure writes."""
_KEPT = ("parts", "stopped", "waiting", "staged")
"""Folders of the sink's state with files of changes."""
_COMPARISONS = "verify"
"""The folder of the sink's state with keys and rows that interrupted comparisons have found."""


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
    lake: Lake, state: Path, names: Iterable[TableName], runner: Runner, older_than: datetime
) -> Iterator[Upkeep]:
    """Maintain tables one after the other; their query may be running. Files that a killed process
    left are deleted first; `state` is the folder of the sink's state. Snapshots that were replaced
    before `older_than` expire, unless somebody else has changed rows: they show it to the query.
    Raises HeadraceError, OSError."""
    unfinished = UnfinishedFiles(state)
    with unfinished.maintenance(is_alone=False):
        yield from _maintained(lake, unfinished, names, runner, older_than)


def _maintained(
    lake: Lake,
    unfinished: UnfinishedFiles,
    names: Iterable[TableName],
    runner: Runner,
    older_than: datetime,
) -> Iterator[Upkeep]:
    unfinished.finish(lambda note: not _is_of_erasure(note), partial(_delete_left, lake))
    for name in names:
        try:
            table = lake.table(name)
        except HeadraceError as error:
            if error.code != NAME_NOT_TAKEN:
                raise
            table = None  # a stopped table
        if table is None:
            continue
        merged, added = merge_small_files(table, runner, unfinished=unfinished)
        if foreign := table.foreign_changes():
            log.warning(
                "%s: its former versions are kept, because somebody else changed rows: %s",
                name,
                "; ".join(foreign),
            )
        else:
            table.expire(older_than)
        yield Upkeep(name, merged, added)


def _is_of_erasure(note: Unfinished) -> bool:
    return note.prefix.startswith(_ERASURE)


def _delete_left(lake: Lake, note: Unfinished) -> None:
    """Delete files that a killed process left, unless they may be in a version of the table. Raises
    HeadraceError, OSError."""
    try:
        table = lake.table(note.name)
    except HeadraceError as error:
        if error.code != NAME_NOT_TAKEN:
            raise
        return
    if table is None:
        return
    begun = table.begin(ColumnChange())
    if not note.is_committing:
        if deleted := begun.storage.sweep(note.prefix):
            log.info("%s: %s of a killed process deleted", note.name, counted(deleted, "file"))
    elif not any(note.prefix in file.path.rpartition("/")[2] for file in begun.files):
        log.warning(
            "%s: a process was killed while it committed files whose names begin with %s: they "
            "stay, because a version of the table may have them",
            note.name,
            note.prefix,
        )


def erase_from(
    lake: Lake,
    state: Path,
    name: str,
    key: str,
    runner: Runner,
    release: Callable[[TableName], int],
) -> Iterator[str]:
    """Erase the rows of a key, a JSON object, from a table that a query keeps; yield lines about
    what was erased and what may still have the key. `state` is the folder of the sink's state;
    `release` takes a table out of the consistent cuts, and returns the number of those that had it.
    Raises as `erase`, and HeadraceError("replicas.no_such_table"), ("replicas.maintained") if a
    merge is running, which would commit files that have the key."""
    table_name = next((noted for noted in noted_tables(state) if str(noted) == name), None)
    table = None if table_name is None else lake.table(table_name)
    if table_name is None or table is None:
        raise HeadraceError(
            "replicas.no_such_table",
            f"The query keeps no table {name}",
            "Name the table as headrace maintain prints it: NAMESPACE.TABLE.",
        )
    try:
        values = json.loads(key)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise _no_such_key(table_name, "is not a JSON object", "its columns")
    _keys_of(table, values)  # a refused erasure releases nothing
    _require_unchanged(table)
    unfinished = UnfinishedFiles(state)
    with unfinished.maintenance(is_alone=True):
        if released := release(table_name):
            cuts = counted(released, "consistent cut")
            yield f"{name}: released from {cuts}, which may have the key"
        erased = erase(table, values, runner, unfinished)
        unfinished.finish(
            lambda note: note.name == table_name, partial(_finish_erasure, table), is_alone=True
        )
        if not table.has_former_versions():
            # A process that was killed while it expired versions has left files of them.
            begun = table.begin(ColumnChange())
            begun.storage.sweep(_FILES, begun.files)
    yield f"{name}: {counted(erased.rows, 'row')} erased, {counted(erased.files, 'file')} rewritten"
    if table.has_former_versions():
        yield (
            f"{name}: former versions of the table stay, and may have the key until they expire, "
            "or in Delta until VACUUM deletes their files"
        )
    for folder in _KEPT:
        if any((state / folder).rglob("*.arrow")):
            yield f"{state / folder} keeps changes that may have the key until they are applied"
    if any((state / _COMPARISONS).rglob("*.json")):
        yield (
            f"{state / _COMPARISONS} keeps results of an interrupted comparison that may have the "
            "key until headrace verify has finished it"
        )
    yield "Not erased: rows of former keys, the row at the source, and copies of the table's files"


@dataclass(frozen=True)
class Erased:
    """The result of the erasure of a key: the live rows and the data files that were erased."""

    rows: int
    files: int


def erase(
    table: LakeTable,
    key: Mapping[str, object],
    runner: Runner,
    unfinished: UnfinishedFiles | None = None,
) -> Erased:
    """Erase every row of a key: files that contain one are rewritten and deleted, and older
    snapshots expire. `key` has values of columns as in JSON. The query of the table must not run:
    deleted files may be read by it. Raises HeadraceError, ("replicas.no_such_key") for other
    columns than those of the key, or values that these cannot have, and
    ("replicas.changed_by_others"): the erasure would hide these changes from the query.
    `unfinished` notes the files until they are committed."""
    for attempt in range(1, _MAX_TRIES + 1):
        transaction = table.begin(ColumnChange())
        _require_unchanged(table)
        keys = _keys_of(table, key)
        name = f"{_ERASURE}{uuid.uuid4().hex[:8]}-"
        with _noted(unfinished, table.name, name) as committing:
            try:
                return _erased(table, transaction, keys, name, runner, committing)
            except HeadraceError as error:
                if not _is_conflict(error) or attempt == _MAX_TRIES:
                    raise
    raise AssertionError


def _erased(
    table: LakeTable,
    transaction: Transaction,
    keys: pa.Table,
    name: str,
    runner: Runner,
    committing: Committing,
) -> Erased:
    """Erase the rows of the keys. After a conflict the new files are deleted. Raises as
    `erase`."""
    steps = [EraseStep(transaction.storage, [file], keys, name) for file in transaction.files]
    try:
        erasures = runner.run(erase_keys, steps)
    except Exception:
        transaction.storage.sweep(name)
        raise
    removed = [file for erasure in erasures for file in erasure.removed]
    added = [file for erasure in erasures for file in erasure.added]
    if removed:
        own_properties = {n: v for n, v in table.properties().items() if n in (QUERY, BATCH)}
        committing(file.path for file in removed)
        try:
            transaction.commit(TableChange(added, removed=removed), own_properties)
        except HeadraceError as error:
            # After a failure that is no conflict it is not known whether the commit was made.
            if not _is_conflict(error) or not _is_committed(table, added, name):
                raise
    table.expire(datetime.now(UTC))
    _delete(transaction.storage, (file.path for file in removed))
    return Erased(sum(erasure.rows for erasure in erasures), len(removed))


def _finish_erasure(table: LakeTable, note: Unfinished) -> None:
    """Delete the files that a killed process left or would have deleted. All former versions of the
    table have expired. Raises HeadraceError, OSError."""
    begun = table.begin(ColumnChange())
    begun.storage.sweep(note.prefix, begun.files)
    _delete(begun.storage, {*note.deletes} - {file.path for file in begun.files})


def _delete(storage: Storage, paths: Iterable[str]) -> None:
    for path in paths:
        with answering(path), suppress(FileNotFoundError):
            storage.filesystem.delete_file(path)


def _require_unchanged(table: LakeTable) -> None:
    if foreign := table.foreign_changes():
        raise refusals.changed_by_others(table.name, foreign)


def _is_conflict(error: Exception) -> bool:
    return isinstance(error, HeadraceError) and error.code == CONFLICT


def _is_committed(table: LakeTable, added: Sequence[DataFile], name: str) -> bool:
    """Return, after a conflict, whether the table has the added files nevertheless: a catalog's
    client that sends a commit again may meet its own. Delete the files whose names begin with
    `name` and that the table does not have. Raises HeadraceError, OSError."""
    begun = table.begin(ColumnChange())
    begun.storage.sweep(name, begun.files)
    live = {file.path for file in begun.files}
    return any(file.path in live for file in added)


def _keys_of(table: LakeTable, key: Mapping[str, object]) -> pa.Table:
    """Return a key as a table of one row. Raises HeadraceError("replicas.no_such_key")."""
    schema = table.schema()
    mode = Mode(table.properties().get(MODE, Mode.REPLICA))
    key_columns = without_own_columns(schema, mode).key
    columns = {name: schema.column(name) for name in key}
    is_known = bool(key) and all(columns.values())
    if not is_known or (key_columns and {*key_columns} != {*key}):
        names = ", ".join(key_columns) or "columns that identify a row"
        raise _no_such_key(table.name, f"has the columns {', '.join(key) or 'none'}", names)
    arrays = {}
    for name in key_columns or key:
        column = columns[name]
        assert column is not None
        try:
            arrays[name] = pa.array([key[name]]).cast(column.type)
        except (pa.ArrowException, TypeError):
            reason = f"has a value of the column {name} that is no {column.type}"
            raise _no_such_key(table.name, reason, name) from None
    return pa.table(arrays)


def _no_such_key(table: TableName, reason: str, columns: str) -> HeadraceError:
    return HeadraceError(
        "replicas.no_such_key",
        f"The key to erase from {table} is not valid: it {reason}",
        f"Name the key as a JSON object with {columns}.",
    )


def merge_small_files(
    table: LakeTable,
    runner: Runner,
    *,
    name: str = f"{_FILES}compaction-",
    only_small: bool = False,
    properties: Mapping[str, str] | None = None,
    unfinished: UnfinishedFiles | None = None,
) -> tuple[int, int]:
    """Merge the files of a table that are worth it; returns the number of these, and of the new
    files, whose names begin with `name`. With `only_small` large files with many dead rows stay.
    `properties` are set by the commit; `unfinished` notes the files until then. Gives up if the
    table's query keeps committing. Leaves no files if it fails before the commit. Raises
    HeadraceError, OSError."""
    for _ in range(_MAX_TRIES):
        transaction = table.begin(ColumnChange())
        file_name = f"{name}{uuid.uuid4().hex[:8]}"
        with _noted(unfinished, table.name, file_name) as committing:
            try:
                change = compact(transaction, file_name, runner, only_small=only_small)
            except Exception:
                transaction.storage.sweep(file_name)
                raise
            if change is None:
                return 0, 0
            committing(())
            try:
                transaction.commit(change, properties or {})
            except HeadraceError as error:
                # After a failure that is no conflict it is not known whether the commit was made.
                if not _is_conflict(error):
                    raise
                if not _is_committed(table, change.added, file_name):
                    log.info("%s: its query has committed meanwhile; once more", table.name)
                    continue
        return len(change.removed), len(change.added)
    return 0, 0


def _noted(
    unfinished: UnfinishedFiles | None, table: TableName, prefix: str
) -> AbstractContextManager[Committing]:
    if unfinished is None:
        return nullcontext(not_noted)
    return unfinished.writing(table, prefix)
