"""Ends the current versions in a history table that no change of their key ends: after a TRUNCATE,
and those of rows that a new copy of the table lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.sinks.replicas.applying.versions import Truncate, closed
from headrace.sinks.replicas.files.bitmaps import bitmap
from headrace.sinks.replicas.files.live_rows import live_batches
from headrace.sinks.replicas.files.writing import new_vector, write_files
from headrace.sinks.replicas.keys import KeySet
from headrace.sinks.replicas.modes.own_columns import FROM_PLACE, IS_CURRENT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headrace.sinks.replicas.lake import DataFile, Storage

_MEMORY_BYTES = 128 << 20
"""The bytes of closed versions that are in memory before they are written."""


@dataclass(frozen=True)
class CloseStep:
    """The argument of the step: the data files, the prefix of the names of new files, and the place
    and time at which current versions end. Versions of the keys in the file `keys` (None: no keys)
    do not end: they are removed from the data files and written unchanged to a file in the folder
    `work`. With `drops_begun_after` versions that begin after this place are removed: a snapshot
    has read them after a TRUNCATE, and the log brings them again."""

    storage: Storage
    files: Sequence[DataFile]
    name: str
    end: Truncate
    work: Path | None = None
    keys: Path | None = None
    drops_begun_after: bool = False


@dataclass(frozen=True)
class Closed:
    """The result of the step: new deletion vectors, files without remaining rows, files of closed
    versions, the number of closed versions, and a file of the versions of the keys (None: no
    versions)."""

    vectors: Sequence[tuple[DataFile, str, int]]
    removed: Sequence[DataFile]
    files: Sequence[DataFile]
    closed: int
    kept: Path | None


def close_versions(step: CloseStep) -> Closed:
    """Close the current versions in some data files. Raises HeadraceError, OSError."""
    storage, columns = step.storage, list(step.storage.schema.names)
    keys = None if step.keys is None else KeySet(read_rows(step.keys))
    key = storage.schema.key[1:]  # a history's key begins with IS_CURRENT
    output = _Output(step)
    touched_of_files: list[pa.Table] = []
    for file in step.files:
        dead = bitmap()
        for positions, rows in _current_batches(storage, file, columns):
            dead |= bitmap(positions.astype(np.uint32))
            if keys is not None:
                touched = pa.array(keys.mask([rows[name] for name in key]))
                touched_of_files.append(rows.filter(touched))
                rows = rows.filter(pc.invert(touched))
            if step.drops_begun_after:
                rows = rows.filter(pc.less_equal(rows[FROM_PLACE], step.end[0]))
            output.add(rows)
        if dead:
            output.add_vector(file, new_vector(storage, file, dead, step.name))
    output.write()
    touched_rows = [rows for rows in touched_of_files if rows.num_rows]
    path = None
    if touched_rows and step.work is not None:
        path = write_rows(pa.concat_tables(touched_rows), step.work)
    return Closed(output.vectors, output.removed, output.files, output.closed, path)


def _current_batches(
    storage: Storage, file: DataFile, columns: Sequence[str]
) -> Iterator[tuple[NDArray[np.int64], pa.Table]]:
    """Yield the current versions of a file in batches, with their positions in it."""
    bounds = file.bounds.get(storage.field_id(IS_CURRENT))
    if bounds is not None and bounds[1] is False:
        return
    for positions, rows in live_batches(storage, file, columns):
        is_current = rows[IS_CURRENT].fill_null(False)
        mask = is_current.to_numpy().astype(np.bool_)
        if mask.any():
            yield positions[mask], rows.filter(is_current)


class _Output:
    """The files and vectors that a step has written."""

    def __init__(self, step: CloseStep) -> None:
        self._step = step
        self._held: list[pa.Table] = []
        self._size = 0
        self.files: list[DataFile] = []
        self.vectors: list[tuple[DataFile, str, int]] = []
        self.removed: list[DataFile] = []
        self.closed = 0

    def add(self, rows: pa.Table) -> None:
        """Close and hold versions, and write them once they are large enough."""
        if not rows.num_rows:
            return
        self._held.append(closed(rows, self._step.end))
        self.closed += rows.num_rows
        self._size += rows.nbytes
        if self._size > _MEMORY_BYTES:
            self.write()

    def write(self) -> None:
        """Write the versions that are held, in the order of their key."""
        if not self._held:
            return
        storage = self._step.storage
        rows = pa.concat_tables(self._held)
        rows = rows.sort_by([(name, "ascending") for name in storage.schema.key])
        self.files += write_files(storage, rows, self._step.name)
        self._held, self._size = [], 0

    def add_vector(self, file: DataFile, vector: tuple[DataFile, str, int] | None) -> None:
        """Add the vector of a file; None: no row remains."""
        if vector is None:
            self.removed.append(file)
        else:
            self.vectors.append(vector)


def write_rows(rows: pa.Table, work: Path) -> Path:
    """Write rows to a new file in a folder, for another step. Raises OSError."""
    path = work / f"{uuid4()}.arrow"
    with pa.ipc.new_file(str(path), rows.schema) as writer:
        writer.write_table(rows)
    return path


def read_rows(path: Path) -> pa.Table:
    """Read the rows of a file of `write_rows`, which are mapped into memory. Raises OSError."""
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()
