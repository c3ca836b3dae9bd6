"""The live rows of data files: those that no deletion vector deletes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from headrace.sinks.replicas.files.reading import DataFileReader

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headrace.sinks.replicas.lake import DataFile, Storage


def live_rows(
    storage: Storage, file: DataFile, defaults: Mapping[str, object] | None = None
) -> pa.Table:
    """Return the live rows of a file, with the columns that the table has now."""
    columns = [(column.name, column.type) for column in storage.schema.columns]
    batches = live_batches(storage, file, storage.schema.names, defaults)
    return pa.concat_tables([pa.schema(columns).empty_table(), *(rows for _, rows in batches)])


def live_batches(
    storage: Storage,
    file: DataFile,
    columns: Sequence[str],
    defaults: Mapping[str, object] | None = None,
) -> Iterator[tuple[NDArray[np.int64], pa.Table]]:
    """Yield columns of the live rows in the order of the file, in batches (see
    `DataFileReader.batches`), with the positions of the rows in the file."""
    dead = np.array([], np.int64)
    if file.vector is not None:
        dead = np.array(storage.read_vector(file).to_array(), np.int64)
    first = 0
    with DataFileReader(storage, file) as reader:
        for rows in reader.batches(columns, defaults):
            end = first + rows.num_rows
            positions = np.arange(first, end, dtype=np.int64)
            here = dead[np.searchsorted(dead, first) : np.searchsorted(dead, end)] - first
            first = end
            if len(here):
                is_live = np.ones(rows.num_rows, np.bool_)
                is_live[here] = False
                rows, positions = rows.filter(pa.array(is_live)), positions[is_live]
            yield positions, rows
