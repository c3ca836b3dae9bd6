"""Records grouped by the structures of their BSON values, whose leaves become columns."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from headrace.connect.evaluation import gathering
from headrace.connect.records import Cells, ColumnIdentity, Records
from headrace.documents.splitting import SplitForm, Structure, split, structure_of

StructureKey = tuple[int, int, bool]
"""The key of a structure: its hash, the number of its leaves, and whether int64 are read as
int32."""


@dataclass(frozen=True)
class BsonCells:
    """A BSON value for each record: int64 (kind, address, length), a type byte and its value each.

    `small_longs`: an int64 that fits 32 bits is read as an int32, because the texts of the events
    do not distinguish them. `memory` owns the parsed bytes.
    """

    cells: np.ndarray
    small_longs: bool
    memory: tuple[object, ...] = field(default=(), repr=False)

    def value(self, index: int) -> tuple[int, bytes]:
        """Return type and bytes of one value."""
        _, address, length = self.cells[index].tolist()
        raw = ctypes.string_at(address, length)
        return raw[0], raw[1:]


@dataclass(frozen=True)
class StructuredRecords:
    """Records whose values have the same structure; `members` are their numbers among all (int64).

    `values` are cells as in BsonCells, one per record. `tables` is int64 of (leaf, row of the
    table, 3), `memory` owns the bytes that its cells point to.
    """

    records: Records
    members: np.ndarray
    values: np.ndarray
    key: StructureKey
    form: SplitForm
    tables: np.ndarray
    example: tuple[int, bytes] = field(repr=False)
    memory: tuple[object, ...] = field(repr=False)

    @property
    def structure(self) -> Structure:
        """The structure, derived from one of the values."""
        kind, value = self.example
        return structure_of(kind, value, self.form)

    def with_columns(
        self, records: Records, columns: Sequence[ColumnIdentity], rendered: Sequence[int] = ()
    ) -> Records:
        """Return `records`, some of these, with the leaves as columns with these identities.
        `rendered` are the numbers of leaves that Python renders: equal ones get the same address,
        so that they are rendered only once."""
        for number in rendered:
            _share(self.tables[number], records.rows)
        cells = {
            identity: Cells(table, self.memory)
            for identity, table in zip(columns, self.tables, strict=True)
        }
        return replace(records, columns={**records.columns, **cells})


def _share(table: np.ndarray, rows: np.ndarray) -> None:
    """Give equal cells in these rows of a table the address of the first one; all have bytes."""
    cells = table[rows]
    encoded = gathering.as_binary(cells, np.ones(len(cells), np.bool_)).dictionary_encode()
    index = np.asarray(encoded.indices)
    first = np.zeros(len(encoded.dictionary), np.int64)
    first[index[::-1]] = np.arange(len(cells))[::-1]
    table[rows, gathering.ADDRESS] = cells[first[index], gathering.ADDRESS]


def by_structure(
    records: Records, documents: BsonCells, form: SplitForm
) -> Iterator[StructuredRecords]:
    """The records grouped by the structures of their values, which are split in this form.

    Raises HeadraceError `documents.value_not_understood` for the first invalid BSON.
    """
    splits = split(documents.cells, form)
    # The groups have different rows, so they share their tables.
    shared = np.zeros((splits.most_leaves, len(records.table), 3), np.int64)
    memory = (splits.memory, documents.memory, shared)
    for group in splits.groups():
        part, values = records, documents.cells
        if len(group.members) < len(records):
            values = values[group.members]
            mask = np.zeros(len(records), np.bool_)
            mask[group.members] = True
            part = records.with_rows(mask)
        tables = splits.scatter(group, part.rows, shared)
        key = (group.hash_value, splits.leaf_count(group), documents.small_longs)
        example = documents.value(int(group.members[0]))
        yield StructuredRecords(part, group.members, values, key, form, tables, example, memory)
