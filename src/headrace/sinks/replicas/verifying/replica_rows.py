"""The live rows of a replica in one state, as columns of the table and as digests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.sinks.replicas.applying.scanning import scan
from headrace.sinks.replicas.files.live_rows import live_batches
from headrace.sinks.replicas.files.reading import DataFileReader
from headrace.sinks.replicas.keys import KeySet
from headrace.sinks.replicas.lake import DELETED, MODE, ColumnChange
from headrace.sinks.replicas.modes.mode import Mode
from headrace.sinks.replicas.modes.own_columns import (
    IS_CURRENT,
    current_keys,
    without_own_columns,
)
from headrace.sinks.replicas.verifying.digests import key_digests, row_digests
from headrace.sinks.replicas.verifying.row_index import PlacedDigests, RowPlace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headrace.sinks.replicas.lake import LakeTable


class ReplicaRows:
    """The rows of one state of a table. `columns` are those to compare; rows that the source
    deleted and soft deletes keep do not count as rows, nor do closed versions of a history."""

    def __init__(self, table: LakeTable, columns: Sequence[str]) -> None:
        """Read the current state of the table. Raises HeadraceError."""
        transaction = table.begin(ColumnChange())
        self._name = str(table.name)
        self._storage, self._files = transaction.storage, transaction.files
        self._schema, self.columns = self._storage.schema, tuple(columns)
        self._mode = Mode(table.properties().get(MODE, Mode.REPLICA))
        self._key = without_own_columns(self._schema, self._mode).key
        self._read = self.columns
        if self._mode is Mode.HISTORY:
            self._read = (*self.columns, IS_CURRENT)
        elif self._schema.column(DELETED) is not None:
            self._read = (*self.columns, DELETED)

    @property
    def rows(self) -> int:
        """The number of rows of the data files that no vector deletes."""
        return sum(file.rows - file.deleted for file in self._files)

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The types of the columns."""
        return {
            column.name: column.type
            for column in self._schema.columns
            if column.name in self.columns
        }

    def digests(self) -> Iterator[PlacedDigests]:
        """Yield the digests of all rows, in batches. Raises HeadraceError, OSError."""
        key = self._key
        for file in self._files:
            for positions, rows in live_batches(self._storage, file, self._read):
                is_present = self._present(rows)
                if is_present is not None:
                    rows, positions = rows.filter(pa.array(is_present)), positions[is_present]
                yield PlacedDigests(
                    file.path, key_digests(rows, key), row_digests(rows, self.columns), positions
                )

    def find(self, keys: pa.Table) -> tuple[list[RowPlace], pa.Table]:
        """Return the rows of distinct keys: their places, and the compared columns, in the same
        order. Raises HeadraceError, OSError."""
        if self._mode is Mode.HISTORY:
            keys = current_keys(keys)
        key = self._schema.key
        rest = [name for name in self._read if name not in key] or [*self._key[:1]]
        scanned = scan(
            self._storage, self._files, keys, (keys, rest), table=self._name, is_unique=False
        )
        if scanned.kept is None:
            types = self.types
            empty = pa.schema([(name, types[name]) for name in self.columns]).empty_table()
            return [], empty
        # Values are ordered by file, and in each file by position.
        places = [
            (path, position)
            for path, positions in scanned.positions.items()
            for position in positions.to_array()
        ]
        rows = scanned.kept
        is_present = self._present(rows)
        if is_present is not None:
            rows = rows.filter(pa.array(is_present))
            places = [place for place, is_kept in zip(places, is_present, strict=True) if is_kept]
        rows = rows.select(self.columns)
        digests = row_digests(rows, self.columns).tolist()
        pairs = zip(places, digests, strict=True)
        return [RowPlace(path, position, digest) for (path, position), digest in pairs], rows

    def keys_at(self, positions: Mapping[str, NDArray[np.int64]]) -> pa.Table | None:
        """Return the distinct keys of rows at positions of data files, at least one, whether they
        are live or not; None: the table no longer has one of the files. Raises HeadraceError,
        OSError."""
        files = {file.path: file for file in self._files}
        key = self._key
        tables: list[pa.Table] = []
        for path, positions_in_file in positions.items():
            if path not in files:
                return None
            first = 0
            with DataFileReader(self._storage, files[path]) as reader:
                for rows in reader.batches(key):
                    end = first + rows.num_rows
                    here = positions_in_file[
                        np.searchsorted(positions_in_file, first) : np.searchsorted(
                            positions_in_file, end
                        )
                    ]
                    tables.append(rows.take(pa.array(here - first)))
                    first = end
        return KeySet(pa.concat_tables(tables)).keys

    def _present(self, rows: pa.Table) -> NDArray[np.bool_] | None:
        """Return a mask of the rows that the source has; None: all rows."""
        if DELETED in rows.column_names and self._mode is Mode.REPLICA:
            present = pc.invert(pc.fill_null(rows[DELETED], False))
        elif self._mode is Mode.HISTORY:
            present = pc.fill_null(rows[IS_CURRENT], False)
        else:
            return None
        mask: NDArray[np.bool_] = present.to_numpy().astype(np.bool_)
        return mask
