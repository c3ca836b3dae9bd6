"""Finds the live rows of keys in data files, and reads values of these rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from headrace.errors import HeadraceError
from headrace.sinks.replicas.files.bitmaps import bitmap
from headrace.sinks.replicas.files.reading import DataFileReader
from headrace.sinks.replicas.keys import ABSENT, KeySet

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyroaring import BitMap

    from headrace.sinks.replicas.lake import DataFile, Storage

MIN_ROWS, MAX_ROWS, ROWS_PER_KEY = 1 << 20, 1 << 24, 8
"""How many rows are looked up at a time: fewer rows take less memory, but each lookup builds a hash
table of the keys."""
_BYTES_PER_ROW = 64
"""Bytes of keys per row in the limit of a lookup: longer keys are looked up in fewer rows at a
time."""


@dataclass(frozen=True)
class Scan:
    """The result of a scan for keys."""

    positions: Mapping[str, BitMap]
    """Positions of live rows with one of the keys, by file; files without such rows are left
    out."""
    kept: pa.Table | None
    """The values of the rows that were needed; None: no row was."""
    found: BitMap
    """The numbers, in the KeySet, of the keys that have a row."""


@dataclass(frozen=True)
class _Piece:
    """Key columns of some row groups of a file."""

    file: DataFile
    groups: Sequence[int]
    group_rows: Sequence[int]
    """The number of rows in every row group of the file."""
    keys: pa.Table

    def positions(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Convert rows of `keys` to positions in the file."""
        starts = np.concatenate([[0], np.cumsum(self.group_rows)])
        read = np.array([self.group_rows[group] for group in self.groups], np.int64)
        shift = starts[list(self.groups)] - (np.cumsum(read) - read)
        return rows + np.repeat(shift, read)[rows] if len(rows) else rows


def scan(
    storage: Storage,
    files: Sequence[DataFile],
    keys: pa.Table | KeySet,
    needed: tuple[pa.Table, Sequence[str]] | None = None,
    *,
    defaults: Mapping[str, object] | None = None,
    table: str = "",
    is_unique: bool = True,
) -> Scan:
    """Find the live rows of distinct keys (the columns of the table's key), and for some of them
    the values of columns: `needed` has these keys, and the names of the columns. Row groups whose
    statistics exclude every key are not read.

    Raises HeadraceError("replicas.key_not_unique") for a key with more than one live row, unless
    `is_unique` is false: then all of its rows are found. Raises ("replicas.key_not_in_file") for a
    file without a column of the key, and OSError.
    """
    key_set = keys if isinstance(keys, KeySet) else KeySet(keys)
    return _Scanning(storage, key_set, needed, defaults or {}, table, is_unique).run(files)


def may_have_keys(storage: Storage, file: DataFile, keys: KeySet) -> bool:
    """Whether a file may have a row of a key, judged by its metadata without opening it."""
    return all(
        keys.may_have(place, file.bounds.get(storage.field_id(name)))
        for place, name in enumerate(storage.schema.key)
    )


def not_unique(table: str, key: Sequence[str], path: str) -> HeadraceError:
    """Return the error for a key with more than one live row, one of them in the file `path`."""
    return HeadraceError(
        "replicas.key_not_unique",
        f"{table or 'A table'} has more than one row of a key ({', '.join(key)}); one of them is in"
        f" {path}",
        "Look for other writers of the table, and copy it again: headrace resync "
        "FILE TABLE --checkpoint STATE.",
    )


class _Scanning:
    def __init__(
        self,
        storage: Storage,
        keys: KeySet,
        needed: tuple[pa.Table, Sequence[str]] | None,
        defaults: Mapping[str, object],
        table: str,
        is_unique: bool,
    ) -> None:
        self._storage = storage
        self._is_unique = is_unique
        self._keys = keys
        self._names = storage.schema.key
        self._most = min(max(MIN_ROWS, ROWS_PER_KEY * len(keys)), MAX_ROWS)
        self._defaults = defaults
        self._table = table
        self._columns = needed[1] if needed else ()
        self._needed = np.zeros(len(keys), np.bool_)
        if needed:
            numbers = keys.numbers_of([needed[0][name] for name in self._names])
            self._needed[numbers[numbers != ABSENT]] = True
        self._seen = np.zeros(len(keys), np.bool_)
        self._positions: dict[str, BitMap] = {}
        self._kept: list[pa.Table] = []

    def run(self, files: Sequence[DataFile]) -> Scan:
        waiting: list[_Piece] = []
        rows = size = 0
        for file in files:
            for piece in self._pieces(file):
                waiting.append(piece)
                rows += piece.keys.num_rows
                size += piece.keys.nbytes
                if self._is_enough(rows, size):
                    self._look_up(waiting)
                    waiting, rows, size = [], 0, 0
        self._look_up(waiting)
        values = pa.concat_tables(self._kept) if self._kept else None
        return Scan(self._positions, values, bitmap(np.flatnonzero(self._seen).astype(np.uint32)))

    def _is_enough(self, rows: int, size: int) -> bool:
        """Whether so many rows and bytes fill a lookup."""
        return rows >= self._most or size >= self._most * _BYTES_PER_ROW

    def _pieces(self, file: DataFile) -> Iterator[_Piece]:
        """Yield the key columns of a file, in pieces of at most one lookup."""
        if not may_have_keys(self._storage, file, self._keys):
            return
        with DataFileReader(self._storage, file) as reader:
            for name in self._names:
                if not reader.has(name):
                    raise self._without_key(file, name)
            group_rows = reader.group_rows
            groups = [
                group
                for group in range(len(group_rows))
                if all(
                    self._keys.may_have(place, reader.bounds(name, group))
                    for place, name in enumerate(self._names)
                )
            ]
            first = 0
            while first < len(groups):
                end, rows, size = first, 0, 0
                while end < len(groups) and not self._is_enough(rows, size):
                    rows += group_rows[groups[end]]
                    size += reader.bytes_of(self._names, groups[end])
                    end += 1
                keys = reader.read(self._names, groups[first:end])
                yield _Piece(file, groups[first:end], group_rows, keys)
                first = end

    def _look_up(self, pieces: Sequence[_Piece]) -> None:
        if not pieces:
            return
        keys = pa.concat_tables([piece.keys for piece in pieces])
        hits, numbers = self._keys.find(keys.columns)
        first = 0
        for piece in pieces:
            start, end = np.searchsorted(hits, [first, first + piece.keys.num_rows])
            if start < end:
                self._take(piece, hits[start:end] - first, numbers[start:end])
            first += piece.keys.num_rows

    def _take(self, piece: _Piece, rows: NDArray[np.int64], numbers: NDArray[np.int64]) -> None:
        """Record the rows found in a piece, except those that are deleted already."""
        positions = piece.positions(rows)
        if piece.file.vector is not None:
            dead = self._storage.read_vector(piece.file)
            is_live = ~_members(dead, positions)
            rows, positions, numbers = rows[is_live], positions[is_live], numbers[is_live]
        if not len(rows):
            return
        count = int(self._seen.sum())
        self._seen[numbers] = True
        if self._is_unique and int(self._seen.sum()) != count + len(numbers):
            raise not_unique(self._table, self._names, piece.file.path)
        path = piece.file.path
        bits = bitmap(positions.astype(np.uint32))
        self._positions[path] = self._positions.get(path, bitmap()) | bits
        is_needed = self._needed[numbers]
        if is_needed.any():
            keys = piece.keys.take(pa.array(rows[is_needed]))
            values = self._values(piece, positions[is_needed])
            self._kept.append(pa.table({**_columns(keys), **values}))

    def _values(self, piece: _Piece, positions: NDArray[np.int64]) -> dict[str, pa.ChunkedArray]:
        """Read columns of rows; only the row groups of these rows are read."""
        starts = np.concatenate([[0], np.cumsum(piece.group_rows)])
        tables = []
        with DataFileReader(self._storage, piece.file) as reader:
            of_groups = np.searchsorted(starts, positions, side="right") - 1
            for group in np.unique(of_groups):
                local = positions[of_groups == group] - starts[group]
                values = reader.read(self._columns, [int(group)], self._defaults)
                tables.append(values.take(pa.array(local)))
        return _columns(pa.concat_tables(tables))

    def _without_key(self, file: DataFile, name: str) -> HeadraceError:
        return HeadraceError(
            "replicas.key_not_in_file",
            f"{self._table or 'A table'}: the data file {file.path} does not have the column {name}"
            " of the key",
            "Copy the table again: headrace resync FILE TABLE --checkpoint STATE.",
        )


def _columns(rows: pa.Table) -> dict[str, pa.ChunkedArray]:
    return dict(zip(rows.column_names, rows.columns, strict=True))


def _members(members: BitMap, positions: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether each of the ascending positions is in a bitmap."""
    common = members & bitmap(positions.astype(np.uint32))
    is_member = np.zeros(len(positions), np.bool_)
    is_member[np.searchsorted(positions, np.array(common.to_array(), np.int64))] = True
    return is_member
