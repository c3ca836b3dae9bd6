"""Applies a batch of changes to the files of a table; the result is committed at once.

A small batch is scanned, folded and written in this process. The steps of a large one run
elsewhere: `plan_keys` and `write_rows_of` for groups of keys, `scan_files` for groups of data
files, where each file is in one group. The steps exchange their data in files.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa

from headrace.sinks.replicas.applying.change_log import (
    LogStep,
    log_groups,
    truncates_of,
    write_log,
)
from headrace.sinks.replicas.applying.closing import (
    CloseStep,
    close_versions,
    read_rows,
    write_rows,
)
from headrace.sinks.replicas.applying.folding import Folding
from headrace.sinks.replicas.applying.scanning import may_have_keys, not_unique, scan
from headrace.sinks.replicas.applying.versions import Truncate, Versions
from headrace.sinks.replicas.changes.part import Part
from headrace.sinks.replicas.changes.parts_reading import have_same_buckets, read_part
from headrace.sinks.replicas.files.bitmaps import bitmap
from headrace.sinks.replicas.files.writing import new_vector, write_files
from headrace.sinks.replicas.keys import BUCKETS, SomeKeys
from headrace.sinks.replicas.lake import DataFile, Storage, TableChange, TableSchema, Transaction
from headrace.sinks.replicas.modes.mode import Mode
from headrace.sinks.replicas.modes.own_columns import apart
from headrace.sinks.replicas.runners import HereRunner, Runner

if TYPE_CHECKING:
    from pyroaring import BitMap

_MAX_SHARES = 1024
"""The maximum number of shares into which a bucket is divided."""


@dataclass(frozen=True)
class Limits:
    """The limits up to which a batch is applied in this process: changes and their bytes, and the
    rows of the data files that may have their keys. A usual range stays below them: for it, tasks
    would start their own workers, and fold twice. `task_rows` is about how many rows of data files
    a task scans; each task begins with a hash table of all keys."""

    changes: int = 400_000
    change_bytes: int = 128 << 20
    file_rows: int = 40_000_000
    task_rows: int = 10_000_000


@dataclass(frozen=True)
class Applied:
    """The result of a batch: rows written, keys that it deleted, bytes and number of the data
    files, and rows that were left out (see `Batch.is_copied`)."""

    upserted: int
    deleted: int
    bytes: int
    files: int
    left_out: int = 0


@dataclass(frozen=True)
class Batch:
    """The changes of one table in a micro-batch. `schema` has the columns of the table, without
    those that headrace adds in its mode, and the source's key. `name` is part of the names of its
    files; `defaults` are values of columns that older parts and files lack; `renamed` maps former
    to new names of columns, by the path of the part. `table` is for messages. Picklable."""

    parts: Sequence[Part]
    folder: Path
    schema: TableSchema
    name: str
    table: str = ""
    mode: Mode = Mode.REPLICA
    soft_deletes: bool = False
    defaults: Mapping[str, object] = field(default_factory=dict)
    renamed: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    is_copied: bool = False
    """Whether the table is being copied while its changes are applied: rows with a value that
    neither changes nor the table have are left out, because the copy brings them, and the table may
    have several rows of a key, written by others."""
    foreign: frozenset[str] = frozenset()
    """Columns that the source does not have: rows of a replica keep their values there; other rows
    have null."""

    @property
    def truncated(self) -> str:
        """The place of the last TRUNCATE of a replica; empty: no TRUNCATE."""
        if self.mode.keeps_rows:
            return ""
        return max((part.truncated for part in self.parts), default="")

    @property
    def truncates(self) -> list[Truncate]:
        """Every TRUNCATE of a history or a change log, in order."""
        return truncates_of(self.parts) if self.mode.keeps_rows else []

    def folding(self, some_keys: SomeKeys | None = None) -> Folding:
        """Return the fold of the changes of some keys, or of all."""
        key = self.schema.key
        parts = [part for part in self.parts if part.path]
        tables = [
            read_part(self.folder, part, key, some_keys, self.renamed.get(part.path))
            for part in parts
        ]
        if self.mode is Mode.HISTORY:
            return Versions(
                tables,
                self.schema,
                self.truncates,
                drops_unknown=self.is_copied,
                defaults=self.defaults,
                table=self.table,
                shown_until=[part.shown_until for part in parts],
            )
        return Folding(
            tables,
            self.schema,
            self.truncated,
            soft_deletes=self.soft_deletes,
            drops_unknown=self.is_copied,
            defaults=self.defaults,
            foreign=self.foreign,
            table=self.table,
            shown_until=[part.shown_until for part in parts],
        )


def apply_batch(
    transaction: Transaction,
    batch: Batch,
    runner: Runner | None = None,
    limits: Limits | None = None,
) -> tuple[TableChange, Applied]:
    """Write the files of a batch. The rows of a replica are those that the table has after its
    changes, each once, whether or not the table has had some of them already.

    Raises HeadraceError (see Folding and scan) and OSError.
    """
    runner, limits = runner or HereRunner(), limits or Limits()
    work = batch.folder / f"apply-{uuid4()}"
    work.mkdir(parents=True)
    try:
        return _Application(transaction, batch, runner, limits, work).run()
    finally:
        shutil.rmtree(work, ignore_errors=True)


@dataclass(frozen=True)
class Planned:
    """The input that the fold of some keys needs from the table: a file of the keys, and a file of
    the keys whose values in `columns` are needed (None: no values are needed)."""

    keys: Path
    needed: Path | None
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Scanned:
    """The result of the scan of a group of data files: their new deletion vectors, files without
    remaining rows, the keys that have a row (as `Scan.found`), and a file of values (None: none
    were needed)."""

    vectors: Sequence[tuple[DataFile, str, int]]
    removed: Sequence[DataFile]
    found: BitMap
    kept: Path | None


@dataclass(frozen=True)
class Written:
    """Data files of some keys, and how many of these keys have a row, are deleted and are left
    out."""

    files: Sequence[DataFile]
    upserted: int
    deleted: int
    left_out: int


@dataclass(frozen=True)
class KeysStep:
    """The argument of the steps that process some of the keys."""

    batch: Batch
    some_keys: SomeKeys | None
    work: Path
    storage: Storage
    kept: Sequence[Path] = ()


@dataclass(frozen=True)
class FileStep:
    """The argument of the step that scans data files."""

    batch: Batch
    files: Sequence[DataFile]
    work: Path
    storage: Storage
    planned: Sequence[Planned]


def plan_keys(step: KeysStep) -> Planned:
    """Return the keys that the changes touch, and those whose stored values are needed."""
    return _planned(step.batch.folding(step.some_keys), step.work)


def scan_files(step: FileStep) -> Scanned:
    """Find the rows of the keys in some data files, and write the deletion vectors of these
    files."""
    batch, storage = step.batch, step.storage
    keys = pa.concat_tables([read_rows(planned.keys) for planned in step.planned])
    needing = [planned for planned in step.planned if planned.needed is not None]
    needed = None
    if needing:
        columns = tuple(dict.fromkeys(name for planned in needing for name in planned.columns))
        tables = [read_rows(planned.needed) for planned in needing if planned.needed is not None]
        needed = pa.concat_tables(tables), columns
    scanned = scan(
        storage,
        step.files,
        keys,
        needed,
        defaults=batch.defaults,
        table=batch.table,
        is_unique=not batch.is_copied,
    )
    vectors, removed = _new_vectors(storage, step.files, scanned.positions, batch.name)
    stored_rows = None if scanned.kept is None else write_rows(scanned.kept, step.work)
    return Scanned(vectors, removed, scanned.found, stored_rows)


def write_rows_of(step: KeysStep) -> Written:
    """Write the rows that remain after the changes of some keys."""
    stored_rows = pa.concat_tables(map(read_rows, step.kept)) if step.kept else None
    return _written(step.batch.folding(step.some_keys), stored_rows, step.storage, step.batch.name)


class _Application:
    def __init__(
        self,
        transaction: Transaction,
        batch: Batch,
        runner: Runner,
        limits: Limits,
        work: Path,
    ) -> None:
        self._storage = transaction.storage
        self._batch = batch
        self._runner = runner
        self._limits = limits
        self._work = work
        self._files = list(transaction.files)
        rows = sum(part.rows for part in batch.parts)
        size = sum(part.size for part in batch.parts)
        self._is_large = rows > limits.changes or size > limits.change_bytes
        self._groups = _groups_of_keys(
            batch, max(rows // limits.changes, size // limits.change_bytes)
        )

    def run(self) -> tuple[TableChange, Applied]:
        if self._batch.mode is Mode.APPEND:
            return self._run_log()
        if self._batch.truncates:
            return self._run_truncated()
        return self._run_elsewhere() if self._is_large else self._run_here()

    def _run_log(self) -> tuple[TableChange, Applied]:
        """Append the changes: those of a small batch are in order over all of its files."""
        batch, limits, truncates = self._batch, self._limits, self._batch.truncates
        groups = log_groups(batch.parts, limits.changes, limits.change_bytes) or [[]]
        runner = self._runner if len(groups) > 1 else HereRunner()
        steps = [
            LogStep(
                group,
                batch.folder,
                batch.schema,
                self._storage,
                batch.name,
                batch.renamed,
                truncates if group is groups[0] else (),
                batch.table,
            )
            for group in groups
        ]
        written_logs = runner.run(write_log, steps)
        return _change([], [], [Written(files, rows, 0, 0) for files, rows in written_logs])

    def _run_truncated(self) -> tuple[TableChange, Applied]:
        """Close all current versions of a history, those that changes closed before it included."""
        batch, storage = self._batch, self._storage
        folding = batch.folding()
        keys = write_rows(folding.keys, self._work)
        groups = _groups_of_files(self._files, self._limits.task_rows)
        steps = [
            CloseStep(
                storage,
                group,
                batch.name,
                batch.truncates[0],
                self._work,
                keys,
                drops_begun_after=True,
            )
            for group in groups
        ]
        closings = (self._runner if len(groups) > 1 else HereRunner()).run(close_versions, steps)
        stored_rows = [read_rows(closed.kept) for closed in closings if closed.kept is not None]
        written = _written(
            folding, pa.concat_tables(stored_rows) if stored_rows else None, storage, batch.name
        )
        return _change(
            [vector for closed in closings for vector in closed.vectors],
            [file for closed in closings for file in closed.removed],
            [written, *(Written(closed.files, 0, closed.closed, 0) for closed in closings)],
        )

    def _run_here(self) -> tuple[TableChange, Applied]:
        batch, storage = self._batch, self._storage
        folding = batch.folding()
        if batch.truncated:
            vectors: list[tuple[DataFile, str, int]] = []
            removed, stored_rows = self._files, None
        elif self._rows_to_scan(folding) > self._limits.file_rows:
            vectors, removed, paths = self._scan_elsewhere([_planned(folding, self._work)])
            stored_rows = pa.concat_tables(map(read_rows, paths)) if paths else None
        else:
            scanned = scan(
                storage,
                self._files,
                folding.scanned,
                folding.needed(),
                defaults=batch.defaults,
                table=batch.table,
                is_unique=not batch.is_copied,
            )
            vectors, removed = _new_vectors(storage, self._files, scanned.positions, batch.name)
            stored_rows = scanned.kept
        return _change(vectors, removed, [_written(folding, stored_rows, storage, batch.name)])

    def _rows_to_scan(self, folding: Folding) -> int:
        keys = folding.scanned
        return sum(file.rows for file in self._files if may_have_keys(self._storage, file, keys))

    def _run_elsewhere(self) -> tuple[TableChange, Applied]:
        steps = [
            KeysStep(self._batch, some_keys, self._work, self._storage)
            for some_keys in self._groups
        ]
        vectors: list[tuple[DataFile, str, int]] = []
        removed, paths = self._files, list[Path]()
        if not self._batch.truncated:
            planned = self._runner.run(plan_keys, steps)
            vectors, removed, paths = self._scan_elsewhere(planned)
        steps = [
            KeysStep(self._batch, some_keys, self._work, self._storage, paths)
            for some_keys in self._groups
        ]
        return _change(vectors, removed, self._runner.run(write_rows_of, steps))

    def _scan_elsewhere(
        self, planned: Sequence[Planned]
    ) -> tuple[list[tuple[DataFile, str, int]], list[DataFile], list[Path]]:
        groups = _groups_of_files(self._files, self._limits.task_rows)
        scanned = self._runner.run(
            scan_files,
            [FileStep(self._batch, group, self._work, self._storage, planned) for group in groups],
        )
        found_keys = bitmap()
        for scan_of_group, group in zip(scanned, groups, strict=True):
            if not self._batch.is_copied and found_keys.intersect(scan_of_group.found):
                raise not_unique(self._batch.table, self._batch.schema.key, group[0].path)
            found_keys |= scan_of_group.found
        return (
            [vector for scan_of_group in scanned for vector in scan_of_group.vectors],
            [file for scan_of_group in scanned for file in scan_of_group.removed],
            [scan_of_group.kept for scan_of_group in scanned if scan_of_group.kept is not None],
        )


def _change(
    vectors: Sequence[tuple[DataFile, str, int]],
    removed: Sequence[DataFile],
    written: Sequence[Written],
) -> tuple[TableChange, Applied]:
    files = [file for written_rows in written for file in written_rows.files]
    applied = Applied(
        sum(written_rows.upserted for written_rows in written),
        sum(written_rows.deleted for written_rows in written),
        sum(file.size for file in files),
        len(files),
        sum(written_rows.left_out for written_rows in written),
    )
    return TableChange(files, list(vectors), list(removed)), applied


def _groups_of_keys(batch: Batch, tasks: int) -> list[SomeKeys | None]:
    """Return groups of keys that are folded together: a single group of all keys (None) if a change
    needs the row of another key, or if parts differ in their buckets."""
    if (
        tasks < 2
        or any(part.has_old_keys for part in batch.parts)
        or not have_same_buckets(batch.folder, batch.parts, batch.schema.key)
    ):
        return [None]
    if tasks <= BUCKETS:
        return [SomeKeys(frozenset(range(first, BUCKETS, tasks))) for first in range(tasks)]
    shares = min(-(-tasks // BUCKETS), _MAX_SHARES)
    return [
        SomeKeys(frozenset([bucket]), share, shares)
        for bucket in range(BUCKETS)
        for share in range(shares)
    ]


def _groups_of_files(files: Sequence[DataFile], rows: int) -> list[list[DataFile]]:
    """Group files, with about `rows` rows in each group."""
    groups: list[list[DataFile]] = []
    count = rows
    for file in files:
        if count >= rows:
            groups.append([])
            count = 0
        groups[-1].append(file)
        count += file.rows
    return groups


def _new_vectors(
    storage: Storage, files: Sequence[DataFile], positions: Mapping[str, BitMap], name: str
) -> tuple[list[tuple[DataFile, str, int]], list[DataFile]]:
    """Write the deletion vectors of files in which rows were found; returns these, and the files
    without remaining rows."""
    vectors, removed = [], []
    for file in files:
        if file.path in positions:
            vector = new_vector(storage, file, positions[file.path], name)
            if vector is None:
                removed.append(file)
            else:
                vectors.append(vector)
    return vectors, removed


def _planned(folding: Folding, work: Path) -> Planned:
    needed = folding.needed()
    return Planned(
        write_rows(folding.scanned.keys, work),
        None if needed is None else write_rows(needed[0], work),
        () if needed is None else needed[1],
    )


def _written(
    folding: Folding, stored_rows: pa.Table | None, storage: Storage, name: str
) -> Written:
    rows = folding.rows(stored_rows).select(storage.schema.names)
    divided = apart(rows, storage.schema.key)
    files = [file for part in divided for file in write_files(storage, part, name)]
    upserted = folding.upserted - folding.left_out
    return Written(files, upserted, folding.deleted, folding.left_out)
