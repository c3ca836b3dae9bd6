"""Compaction: small data files, and those with many dead rows, are rewritten as larger ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa

from headrace.sinks.replicas.files.live_rows import live_batches
from headrace.sinks.replicas.files.writing import FILE_BYTES
from headrace.sinks.replicas.lake import DataFile, Storage, TableChange
from headrace.sinks.replicas.modes.own_columns import apart
from headrace.sinks.replicas.runners import HereRunner, Runner

if TYPE_CHECKING:
    from headrace.sinks.replicas.lake import Transaction

SMALL_BYTES, SMALL_FILES = 16 << 20, 8
"""The number of files smaller than that size from which they are merged."""
MEMORY_BYTES = 128 << 20
"""The bytes of rows that a merge holds in memory at a time, before it sorts them."""
WHOLE = "-whole-"
"""Part of the names of files whose rows fill the memory limit: they are not merged, however small
they are on disk."""
DEAD_SHARE = 0.2
"""The share of dead rows above which a file is rewritten."""


def files_to_compact(files: Sequence[DataFile], *, only_small: bool = False) -> list[DataFile]:
    """Return the files to rewrite, in their order; empty if it is not worth the cost. With
    `only_small` large files with many dead rows are left out."""
    dead = {file.path for file in files if file.deleted > DEAD_SHARE * file.rows}
    dead = set() if only_small else dead
    small = {
        file.path
        for file in files
        if file.size < SMALL_BYTES and WHOLE not in file.path.rpartition("/")[2]
    }
    chosen = dead | (small if len(small) >= SMALL_FILES else set())
    return [file for file in files if file.path in chosen]


@dataclass(frozen=True)
class CompactStep:
    """The argument of the step: the files to merge."""

    storage: Storage
    files: Sequence[DataFile]
    name: str
    defaults: Mapping[str, object] = field(default_factory=dict)


def compact(
    transaction: Transaction,
    name: str,
    runner: Runner | None = None,
    *,
    defaults: Mapping[str, object] | None = None,
    only_small: bool = False,
) -> TableChange | None:
    """Rewrite the live rows of the files that are worth it; None: no such files. `name` is part of
    the names of the new files; `defaults` are values of columns that older files lack. Raises
    HeadraceError, OSError."""
    chosen = files_to_compact(transaction.files, only_small=only_small)
    if not chosen:
        return None
    runner = runner or HereRunner(threads=1)
    return TableChange(
        added=_merged(transaction.storage, chosen, name, runner, defaults or {}),
        removed=chosen,
        is_compaction=True,
    )


def fill(
    transaction: Transaction, name: str, runner: Runner, defaults: Mapping[str, object]
) -> TableChange:
    """Rewrite every live row, with these values in columns that its file lacks. Raises
    HeadraceError, OSError."""
    files = transaction.files
    added = _merged(transaction.storage, files, name, runner, defaults)
    return TableChange(added=added, removed=list(files))


def _merged(
    storage: Storage,
    files: Sequence[DataFile],
    name: str,
    runner: Runner,
    defaults: Mapping[str, object],
) -> list[DataFile]:
    steps = [CompactStep(storage, group, name, defaults) for group in _groups(files)]
    return [file for merged in runner.run(merge_files, steps) for file in merged]


def merge_files(step: CompactStep) -> list[DataFile]:
    """Write the live rows of some files to new files, each in the order of the key. Takes memory
    for a few times MEMORY_BYTES, regardless of the size of the files."""
    storage, files = step.storage, list[DataFile]()
    waiting, size = list[pa.Table](), 0

    def write(name: str) -> None:
        if not waiting:
            return
        rows = pa.concat_tables(waiting)
        waiting.clear()
        rows = rows.sort_by([(column, "ascending") for column in storage.schema.key])
        for part in apart(rows, storage.schema.key):
            files.append(storage.write_rows(part, f"{name}{uuid4()}"))

    for file in step.files:
        for _, rows in live_batches(storage, file, storage.schema.names, step.defaults):
            if waiting and size + rows.nbytes > MEMORY_BYTES:
                write(f"{step.name}{WHOLE}")
                size = 0
            if rows.num_rows:
                waiting.append(rows)
                size += rows.nbytes
    write(f"{step.name}-")
    return files


def _groups(files: Sequence[DataFile]) -> list[list[DataFile]]:
    """Group files that become about one new file."""
    groups: list[list[DataFile]] = []
    size = 0.0
    for file in files:
        live = file.size * (1 - file.deleted / max(file.rows, 1))
        if not groups or size + live > FILE_BYTES:
            groups.append([])
            size = 0.0
        groups[-1].append(file)
        size += live
    return groups
