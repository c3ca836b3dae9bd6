"""Data files of a good size, and new deletion vectors of old ones."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa

if TYPE_CHECKING:
    from pyroaring import BitMap

    from headrace.sinks.replicas.lake import DataFile, Storage

FILE_BYTES = 128 << 20
"""About how large a data file becomes."""
_COMPRESSION = 3
"""How many times larger its rows are in memory, about."""


def write_files(storage: Storage, rows: pa.Table, name: str) -> list[DataFile]:
    """Write rows that are in the order of their key as data files. Raises OSError."""
    if not rows.num_rows:
        return []
    files = -(-rows.nbytes // (FILE_BYTES * _COMPRESSION))
    most = -(-rows.num_rows // files)
    return [
        storage.write_rows(rows.slice(first, most), f"{name}-{uuid4()}")
        for first in range(0, rows.num_rows, most)
    ]


def new_vector(
    storage: Storage, file: DataFile, dead: BitMap, name: str
) -> tuple[DataFile, str, int] | None:
    """A file with a vector of its former and more dead rows; None: no row is left in it."""
    if file.vector is not None:
        dead = dead | storage.read_vector(file)
    if len(dead) >= file.rows:
        return None
    return file, storage.write_vector(file, dead, f"{name}-{uuid4()}"), len(dead)
