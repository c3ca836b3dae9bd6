"""Reads cells of streamed rows again: their images get the current values of the table.

Runs in the task before anything is rendered, so masks also apply to these values.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import ctypes
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from headrace.connect.images import ABSENT, cells, has_any, make_image
from headrace.connect.kernels.functions import entry
from headrace.connect.kernels.memory import PADDING, address_of, load8, store8
from headrace.connect.rows import Flag, RowTable
from headrace.errors import HeadraceError
from headrace.relational.events import RelationFacts
from headrace.relational.reselection import Lookup
from headrace.streaming.facts import Facts

log = logging.getLogger(__name__)

ROWS_PER_QUERY = 1000
_NEW_ROW = (ord("c"), ord("u"))

Cell = bytes | None
"""Text, or null; an unavailable cell is ABSENT."""


class RowQueries(Protocol):
    """A connection that finds rows by their keys. Its methods raise HeadraceError."""

    def rows(
        self, facts: RelationFacts, lookup: Lookup, keys: Sequence[Sequence[str]]
    ) -> dict[int, list[Cell]]:
        """The current cells of `lookup.columns`, by number of the row in `keys`, which has the
        texts of the columns `lookup.key` per row. Rows that no longer exist are left out."""
        ...

    def close(self) -> None:
        """Close the connection; never raises."""
        ...


class RowDatabase(Protocol):
    """The database in which rows are looked up. Picklable."""

    def open(self, *, patient: bool) -> RowQueries:
        """Connect; unless `patient`, a query ends after a minute. Raises HeadraceError."""
        ...


@dataclass(frozen=True)
class RowLookup:
    """Runs the look-ups of the tables in `database`; a slice calls it in its task."""

    database: RowDatabase

    def __call__(self, table: RowTable, relations: Mapping[int, Facts]) -> RowTable:
        """Return the rows with the looked-up cells. Raises HeadraceError
        `relational.reselect_failed` if a look-up is strict."""
        operations = table.rows["operation"]
        changed = np.isin(operations, _NEW_ROW) & (table.rows["new"] != 0)
        queries: RowQueries | None = None
        rows, memory = table.rows, list(table.memory)
        try:
            for index in np.unique(rows["relation"][changed]).tolist():
                facts = relations[index]
                if not isinstance(facts, RelationFacts) or facts.lookup is None:
                    continue
                places = np.flatnonzero(changed & (rows["relation"] == index))
                places = _lacking(rows, places, facts, facts.lookup)
                for start in range(0, len(places), ROWS_PER_QUERY):
                    queried_places = places[start : start + ROWS_PER_QUERY]
                    try:
                        if queries is None:
                            queries = self.database.open(patient=facts.lookup.strict)
                        present = _rows_now(queries, facts, facts.lookup, rows, queried_places)
                    except HeadraceError as error:
                        _failed(facts, facts.lookup, error.message)
                        continue
                    if len(present) < len(queried_places):
                        gone = f"{len(queried_places) - len(present)} rows are gone"
                        _failed(facts, facts.lookup, gone)
                    if rows is table.rows:
                        rows = rows.copy()
                    memory.append(_replace(rows, queried_places, facts.lookup, present))
        finally:
            if queries is not None:
                queries.close()
        return replace(table, rows=rows, memory=tuple(memory))


def _failed(facts: RelationFacts, lookup: Lookup, why: str) -> None:
    message = f"columns of {facts.name} could not be read again: {why}"
    if lookup.strict:
        raise HeadraceError(
            "relational.reselect_failed",
            message,
            "Set reselect.error.handling.mode=warn to continue with the values of the log.",
            retriable=True,
        )
    log.warning("%s", message)


@entry
def _mark_lacking(images, count, has_old, columns, unavailable, null, marks):
    """Mark the rows (uint8) whose image (int64, its address) lacks one of `columns` (uint8 per
    column); `has_old` is uint8 per row."""
    for i in range(count):
        lacks = unavailable and not load8(has_old + i)
        store8(marks + i, 1 if has_any(images[i], columns, lacks, null) else 0)


def _lacking(
    rows: np.ndarray, places: np.ndarray, facts: RelationFacts, lookup: Lookup
) -> np.ndarray:
    """The rows at `places` with a missing value. An unavailable cell has the value of the row
    before the change, if the log contains that row completely."""
    columns = np.zeros(len(facts.columns) + PADDING, np.uint8)
    columns[list(lookup.columns)] = 1
    whole = _has_whole_old(rows[places])
    whole[whole] = ~_marks(rows["old"][places[whole]], columns, unavailable=True)
    lacks = _marks(
        rows["new"][places], columns, whole, unavailable=lookup.unavailable, null=lookup.null
    )
    return np.asarray(places[lacks])


def _has_whole_old(rows: np.ndarray | np.void) -> Any:
    """Whether the log contains the complete rows before the change."""
    return ((rows["flags"] & int(Flag.FULL_OLD)) != 0) & (rows["old"] != 0)


def _marks(
    images: np.ndarray,
    columns: np.ndarray,
    has_old: np.ndarray | None = None,
    *,
    unavailable: bool,
    null: bool = False,
) -> np.ndarray:
    """A mask of the images (addresses) that lack one of the columns; see `_mark_lacking`."""
    images = np.ascontiguousarray(images)
    marks = np.zeros(len(images), np.uint8)
    has_old = np.zeros(len(images), np.bool_) if has_old is None else has_old
    _mark_lacking(
        address_of(images),
        len(images),
        address_of(has_old),
        address_of(columns),
        int(unavailable),
        int(null),
        address_of(marks),
    )
    return np.asarray(marks != 0)


def _cells(row: np.void, image_name: str = "new") -> list[Cell]:
    """The cells of the row's new image, or of its old one."""
    image = (ctypes.c_char * int(row["size"])).from_address(int(row[image_name]))
    return cells(memoryview(image).cast("B"), unavailable=ABSENT)


def _rows_now(
    queries: RowQueries, facts: RelationFacts, lookup: Lookup, rows: np.ndarray, places: np.ndarray
) -> dict[int, list[Cell]]:
    """Look up the current cells of the rows at `places`, by number in `places`."""
    keys: list[list[str]] = []
    numbers: list[int] = []
    for number, place in enumerate(places.tolist()):
        image = _cells(rows[place])
        key = [cell for cell in (image[column] for column in lookup.key) if cell is not None]
        if len(key) == len(lookup.key) and not any(cell is ABSENT for cell in key):
            numbers.append(number)
            keys.append([cell.decode() for cell in key])
    present = queries.rows(facts, lookup, keys)
    return {numbers[number]: row for number, row in present.items()}


def _replace(
    rows: np.ndarray, places: np.ndarray, lookup: Lookup, present: Mapping[int, list[Cell]]
) -> np.ndarray:
    """Give the rows images with the cells of `present`; returns the memory of the images."""
    images, starts = bytearray(), []
    for number, values in present.items():
        row = rows[int(places[number])]
        image = _cells(row)
        before = _cells(row, "old") if _has_whole_old(row) else None
        for column, value in zip(lookup.columns, values, strict=True):
            cell = image[column]
            if (cell is None and lookup.null) or (
                cell is ABSENT
                and lookup.unavailable
                and (before is None or before[column] is ABSENT)
            ):
                image[column] = value
        starts.append((int(places[number]), len(images)))
        images += make_image(image)
    buffer = np.frombuffer(bytes(images) + bytes(PADDING), np.uint8)
    base = address_of(buffer)
    end = len(images)
    for place, start in reversed(starts):
        rows["new"][place] = base + start
        rows["size"][place] += end - start
        end = start
    return buffer
