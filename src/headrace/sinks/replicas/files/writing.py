"""Writes data files of a suitable size, and new deletion vectors of existing files."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa

if TYPE_CHECKING:
    from pyroaring import BitMap

    from headrace.sinks.replicas.lake import DataFile, Storage

FILE_BYTES = 128 << 20
"""The approximate size of a data file."""
_COMPRESSION = 3
"""The approximate ratio of the size of its rows in memory to the file's."""


def write_files(storage: Storage, rows: pa.Table, name: str) -> list[DataFile]:
    """Write rows, which are in the order of their key, as data files. Raises OSError."""
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
    """Write a vector of a file's former and more dead rows; returns the file, the vector and the
    number of its dead rows; None: no row remains."""
    if file.vector is not None:
        dead = dead | storage.read_vector(file)
    if len(dead) >= file.rows:
        return None
    return file, storage.write_vector(file, dead, f"{name}-{uuid4()}"), len(dead)
