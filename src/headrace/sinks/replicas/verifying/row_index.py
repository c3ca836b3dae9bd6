"""An index of the rows that a replica had in one state: digests of keys and rows, and the places of
the rows, in files of the state folder.

It takes 25 bytes a row on disk. Rows are divided by the first byte of their key's digest and sorted
part by part, so that memory does not grow with the table.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from headrace.connect.disk import replace_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ENTRY = np.dtype([("key", "<u8"), ("row", "<u8"), ("file", "<u4"), ("position", "<u4")])
_PARTS = 256
_ROWS, _SEEN, _FILES = "rows", "seen", "files.json"


class RowPlace(NamedTuple):
    """A row of a replica: the data file, its position in the file, and its digest. A row that is
    rewritten, even with the same values, has another place."""

    file: str
    position: int
    digest: int


@dataclass(frozen=True)
class PlacedDigests:
    """Digests of rows of one data file, with their positions in it."""

    file: str
    keys: NDArray[np.uint64]
    rows: NDArray[np.uint64]
    positions: NDArray[np.int64]


class RowIndex:
    """The index that the module describes. `entries` are sorted by the digest of the key; `seen`
    marks those that belong to a row of the source."""

    def __init__(self, folder: Path) -> None:
        """Open an index that `build` wrote. Raises OSError and ValueError."""
        self._files: list[str] = json.loads((folder / _FILES).read_text())
        count = (folder / _ROWS).stat().st_size // _ENTRY.itemsize
        self.entries: NDArray[np.void] = np.zeros(0, _ENTRY)
        self.seen: NDArray[np.bool_] = np.zeros(0, np.bool_)
        if count:
            self.entries = np.memmap(folder / _ROWS, _ENTRY, "r", shape=(count,))
            self.seen = np.memmap(folder / _SEEN, np.bool_, "r+", shape=(count,))
        self._keys = self.entries["key"]

    @staticmethod
    def build(folder: Path, rows: Iterable[PlacedDigests]) -> RowIndex:
        """Write an index of these rows to a folder without one. Raises OSError."""
        folder.mkdir(parents=True, exist_ok=True)
        files: dict[str, int] = {}
        parts = [folder / f"part-{number:03d}" for number in range(_PARTS)]
        for part in parts:
            part.unlink(missing_ok=True)
        for placed in rows:
            entries = np.empty(len(placed.keys), _ENTRY)
            entries["key"], entries["row"] = placed.keys, placed.rows
            entries["file"] = files.setdefault(placed.file, len(files))
            entries["position"] = placed.positions
            numbers = (entries["key"] >> np.uint64(56)).astype(np.int64)
            entries = entries[np.argsort(numbers, kind="stable")]
            ends = np.searchsorted(np.sort(numbers), np.arange(_PARTS), "right")
            first = 0
            for part, end in zip(parts, ends.tolist(), strict=True):
                if end > first:
                    with part.open("ab") as file:
                        file.write(entries[first:end].tobytes())
                first = end
        count = 0
        with (folder / _ROWS).open("wb") as file:
            for part in parts:
                if part.exists():
                    entries_of_part = np.fromfile(part, _ENTRY)
                    file.write(
                        entries_of_part[np.argsort(entries_of_part["key"], kind="stable")].tobytes()
                    )
                    count += len(entries_of_part)
                    part.unlink()
        with (folder / _SEEN).open("wb") as file:
            file.truncate(count)
        replace_text(folder / _FILES, json.dumps(list(files)))
        return RowIndex(folder)

    def __len__(self) -> int:
        return len(self.entries)

    def ranges(self, keys: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the first entry of each key's digest, and the end of its entries."""
        return np.searchsorted(self._keys, keys), np.searchsorted(self._keys, keys, "right")

    def are_equal(self, keys: NDArray[np.uint64], rows: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return whether the replica has exactly one row of each key, equal to that of the source.
        Marks all entries of these keys as seen."""
        firsts, ends = self.ranges(keys)
        is_one = ends - firsts == 1
        equal: NDArray[np.bool_] = is_one.copy()
        equal[is_one] = self.entries["row"][firsts[is_one]] == rows[is_one]
        self.seen[firsts[is_one]] = True
        for first, end in zip(firsts[~is_one].tolist(), ends[~is_one].tolist(), strict=True):
            self.seen[first:end] = True
        return equal

    def places(self, keys: NDArray[np.uint64]) -> list[tuple[RowPlace, ...]]:
        """Return the rows of each key's digest, in the order of their places."""
        firsts, ends = self.ranges(keys)
        pairs = zip(firsts.tolist(), ends.tolist(), strict=True)
        return [
            tuple(sorted(self.place(number) for number in range(first, end)))
            for first, end in pairs
        ]

    def place(self, number: int) -> RowPlace:
        """Return the place of an entry."""
        entry = self.entries[number]
        return RowPlace(self._files[int(entry["file"])], int(entry["position"]), int(entry["row"]))

    def unseen(self) -> NDArray[np.int64]:
        """Return the numbers of the entries that are not marked as seen."""
        return np.flatnonzero(~self.seen)

    def by_file(self, numbers: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
        """Return the positions of entries by data file, in ascending order."""
        chosen = self.entries[numbers]
        return {
            self._files[int(file)]: np.sort(chosen["position"][chosen["file"] == file]).astype(
                np.int64
            )
            for file in np.unique(chosen["file"])
        }

    def flush(self) -> None:
        """Write the marks to disk. Raises OSError."""
        if isinstance(self.seen, np.memmap):
            self.seen.flush()


def pieces(numbers: NDArray[np.int64], size: int) -> Sequence[NDArray[np.int64]]:
    """Split numbers into pieces of at most `size`."""
    return [numbers[first : first + size] for first in range(0, len(numbers), size)]
