"""Records grouped by the structures of their documents, with the leaves as columns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

import numpy as np

from headrace.connect.records import Cells, ColumnIdentity, Node, Records, Shape
from headrace.connect.sized_cache import SizedCache
from headrace.documents.splitting import SplitForm, Structure, split, structure_of
from headrace.transforms.documents.cells import BsonCells, bson_cells
from headrace.transforms.documents.released import check_equal_arrays, has_arrays_of_arrays
from headrace.transforms.documents.struct_form import StructForm
from headrace.transforms.transform import PerShape

T = TypeVar("T")

StructureKey = tuple[int, int, bool]
"""What stands for a structure: its hash, its leaves, and whether int64 are read as int32."""


_MOST_STRUCTURES = 1024
"""Kept per shape of events; documents of a collection may have any number of structures."""


class PerStructure(Generic[T]):
    """What a transform makes of a shape and of what else it depends on, such as the structures of
    documents: the last ones used, as long as the shape lives."""

    def __init__(self) -> None:
        self._made: PerShape[SizedCache[Hashable, T]] = PerShape(
            lambda _: SizedCache(_MOST_STRUCTURES)
        )

    def __call__(self, shape: Shape, marks: Hashable, make: Callable[[], T]) -> T:
        """What was made of a shape and of what `marks` stand for."""
        return self._made(shape).of(marks, make)


@dataclass(frozen=True)
class StructuredRecords:
    """Records whose documents have one structure.

    `tables` is int64 of (leaf, row of the table, 3), `memory` what its cells point into.
    """

    records: Records
    key: StructureKey
    form: SplitForm
    tables: np.ndarray
    example: tuple[int, bytes] = field(repr=False)
    memory: tuple[object, ...] = field(repr=False)

    @property
    def structure(self) -> Structure:
        """The structure, found out from one of the values."""
        kind, value = self.example
        return structure_of(kind, value, self.form)

    def with_columns(self, records: Records, columns: Sequence[ColumnIdentity]) -> Records:
        """`records`, some of these, with the leaves as the columns of these identities."""
        held = {
            identity: Cells(table, self.memory)
            for identity, table in zip(columns, self.tables, strict=True)
        }
        return replace(records, columns={**records.columns, **held})


def structured(records: Records, node: Node, form: StructForm) -> Iterator[StructuredRecords]:
    """The records by the structures of the values at `node`, which is null for none of them."""
    if not len(records):
        return
    documents = bson_cells(records, node)
    split_form = form.split_form(small_longs=documents.small_longs)
    made = split(documents.cells, split_form)
    # The groups have other rows each, so they share their tables.
    shared = np.zeros((made.most_leaves, len(records.table), 3), np.int64)
    memory = (made.memory, documents.memory, shared)
    for group in made.groups():
        mask = np.zeros(len(records), np.bool_)
        mask[group.members] = True
        part = records.with_rows(mask)
        tables = made.scatter(group, part.rows, shared)
        key = (group.hash_value, made.leaf_count(group), documents.small_longs)
        example = documents.value(int(group.members[0]))
        if form.as_released and split_form.numbered:
            _check_values(documents, group.members, structure_of(*example, split_form))
        yield StructuredRecords(part, key, split_form, tables, example, memory)


def _check_values(documents: BsonCells, members: np.ndarray, structure: Structure) -> None:
    """Refuses values that Debezium 3.6 refuses for what they hold."""
    if has_arrays_of_arrays(structure):
        for index in members.tolist():
            check_equal_arrays(*documents.value(index))
