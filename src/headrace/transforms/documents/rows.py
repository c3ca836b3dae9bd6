"""Records grouped by the structures of their documents, with the leaves as columns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

import numpy as np

from headrace.connect.records import Node, Records, Shape
from headrace.connect.sized_cache import SizedCache
from headrace.documents.columns.structured_records import BsonCells, StructuredRecords, by_structure
from headrace.documents.splitting import Structure
from headrace.transforms.documents.cells import bson_cells
from headrace.transforms.documents.compatibility import check_equal_arrays, has_arrays_of_arrays
from headrace.transforms.documents.struct_form import StructForm
from headrace.transforms.transform import PerShape

T = TypeVar("T")

_MAX_STRUCTURES = 1024
"""The most structures kept per shape of events; a collection may have any number of structures."""


class CachePerShape(Generic[T]):
    """Objects that a transform makes for a shape and other keys, such as the structures of
    documents: keeps the last ones used, as long as the shape lives."""

    def __init__(self) -> None:
        self._made: PerShape[SizedCache[Hashable, T]] = PerShape(
            lambda _: SizedCache(_MAX_STRUCTURES)
        )

    def __call__(self, shape: Shape, marks: Hashable, make: Callable[[], T]) -> T:
        """Return the object for a shape and `marks`, made by `make` if necessary."""
        return self._made(shape).of(marks, make)


def structured(records: Records, node: Node, form: StructForm) -> Iterator[StructuredRecords]:
    """Yield the records grouped by the structures of the values at `node`, which is null for none
    of them."""
    if not len(records):
        return
    documents = bson_cells(records, node)
    split_form = form.split_form(small_longs=documents.small_longs)
    for rows in by_structure(records, documents, split_form):
        if form.is_debezium_compatible and split_form.numbered:
            _check_values(documents, rows.members, rows.structure)
        yield rows


def _check_values(documents: BsonCells, members: np.ndarray, structure: Structure) -> None:
    """Reject values whose contents Debezium 3.6 rejects."""
    if has_arrays_of_arrays(structure):
        for index in members.tolist():
            check_equal_arrays(*documents.value(index))
