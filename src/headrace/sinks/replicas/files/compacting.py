"""Small data files, and those with many dead rows, written again as larger ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa

from headrace.sinks.replicas.files.live_rows import live_batches
from headrace.sinks.replicas.files.writing import FILE_BYTES
from headrace.sinks.replicas.lake import DataFile, Storage, TableChange
from headrace.sinks.replicas.runners import HereRunner, Runner

if TYPE_CHECKING:
    from headrace.sinks.replicas.lake import Transaction

SMALL_BYTES, SMALL_FILES = 16 << 20, 8
"""So many files smaller than that are worth being merged."""
MEMORY_BYTES = 128 << 20
"""How many bytes of rows are in memory at a time while files are merged, before they are sorted."""
WHOLE = "-whole-"
"""In the names of files that have as many rows as memory takes: they are not worth being merged,
however small they are on disk."""
DEAD_SHARE = 0.2
"""A file with a larger share of dead rows is written again."""


def files_to_compact(files: Sequence[DataFile], *, only_small: bool = False) -> list[DataFile]:
    """Which files should be written again, in their order; none where it is not worth it. With
    `only_small` files that are large and have many dead rows are not."""
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
    """What the step is called with: files that are merged."""

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
    """Write the live rows of files that are worth it again; None: there are no such. `name` is in
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
    """Write every live row again, with these values in columns that its file lacks. Raises
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
    return [file for made in runner.run(merge_files, steps) for file in made]


def merge_files(step: CompactStep) -> list[DataFile]:
    """Write the live rows of some files as new ones, each in the order of the key. Takes memory for
    a few times MEMORY_BYTES, however large the files are."""
    storage, made = step.storage, list[DataFile]()
    held, size = list[pa.Table](), 0

    def write(name: str) -> None:
        if not held:
            return
        rows = pa.concat_tables(held)
        held.clear()
        rows = rows.sort_by([(column, "ascending") for column in storage.schema.key])
        made.append(storage.write_rows(rows, f"{name}{uuid4()}"))

    for file in step.files:
        for _, rows in live_batches(storage, file, storage.schema.names, step.defaults):
            if held and size + rows.nbytes > MEMORY_BYTES:
                write(f"{step.name}{WHOLE}")
                size = 0
            if rows.num_rows:
                held.append(rows)
                size += rows.nbytes
    write(f"{step.name}-")
    return made


def _groups(files: Sequence[DataFile]) -> list[list[DataFile]]:
    """Files that become about one."""
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
