"""BSON values split into structures and leaves, many at a time.

Values of the same structure (types and names in the same order, recursively) have the same number
of leaves in the same order, so each leaf is a column. The `Structure` gives the meaning of each
leaf.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from headrace.connect.kernels.memory import address_of
from headrace.documents.bson import ARRAY, CODE_WITH_SCOPE, DOCUMENT, NO_ROOM, Kind, broken
from headrace.documents.kernels.split_kernel import (
    LEAVES_PER_BYTE,
    NUMBERED,
    SIGNED_SECONDS,
    SMALL_LONGS,
    SPARE_PER_BYTE,
    SPARE_SLACK,
    SPLIT_WORDS,
    scatter_leaves,
    split_values,
)
from headrace.documents.values import elements_of, scoped_code

_LENGTH = 2
"""Column of cells (kind, address, length)."""
_TWO_LEAVES = (Kind.REGEX, Kind.DB_POINTER)
_NO_LEAF = (Kind.NULL, Kind.UNDEFINED, Kind.MIN_KEY, Kind.MAX_KEY)


@dataclass(frozen=True)
class SplitForm:
    """Options for reading values.

    `small_longs`: an int64 that fits 32 bits is an int32, as in relaxed Extended JSON. `numbered`:
    an array's elements are leaves like fields; otherwise an array is one leaf, its type byte and
    its bytes. `signed_seconds`: the seconds of a timestamp are an int32, negative after 2038.
    """

    small_longs: bool = False
    numbered: bool = False
    signed_seconds: bool = False

    @property
    def flags(self) -> int:
        """The options as the kernel's flags."""
        return (
            SMALL_LONGS * self.small_longs
            | NUMBERED * self.numbered
            | SIGNED_SECONDS * self.signed_seconds
        )


@dataclass(frozen=True)
class Structure:
    """The type and the parts of a value.

    `members` are those of a document or of the scope of code, by name. `elements` are those of an
    array: all of them if they are numbered, otherwise without those equal to the element before.
    """

    kind: Kind
    members: tuple[tuple[str, Structure], ...] = ()
    elements: tuple[Structure, ...] = ()

    def leaf_count(self, form: SplitForm) -> int:
        """The number of leaves of a value of this structure."""
        if self.kind in _NO_LEAF:
            return 0
        if self.kind is Kind.ARRAY and not form.numbered:
            return 1
        inner = [inner for _, inner in self.members] + list(self.elements)
        count = sum(part.leaf_count(form) for part in inner)
        if self.kind in (Kind.DOCUMENT, Kind.ARRAY):
            return count
        return count + (2 if self.kind in _TWO_LEAVES else 1)


def structure_of(kind: int, value: bytes, form: SplitForm) -> Structure:
    """Return the structure of one valid value: a type and the bytes after it."""
    if kind == DOCUMENT:
        members = ((name, structure_of(k, v, form)) for k, name, v in elements_of(value))
        return Structure(Kind.DOCUMENT, tuple(members))
    if kind == ARRAY:
        inner = [structure_of(k, v, form) for k, _, v in elements_of(value)]
        if not form.numbered:
            inner = [
                element for i, element in enumerate(inner) if i == 0 or inner[i - 1] != element
            ]
        return Structure(Kind.ARRAY, elements=tuple(inner))
    if kind == CODE_WITH_SCOPE:
        scope = structure_of(DOCUMENT, scoped_code(value)[1], form)
        return Structure(Kind.CODE_WITH_SCOPE, scope.members)
    if kind == Kind.INT64 and form.small_longs:
        number = int.from_bytes(value, "little", signed=True)
        kind = Kind.INT32 if -(1 << 31) <= number < 1 << 31 else Kind.INT64
    return Structure(Kind(kind))


@dataclass(frozen=True)
class SplitGroup:
    """Values of the same structure: `hash_value` identifies it, `members` are the values' numbers
    (int64)."""

    hash_value: int
    members: np.ndarray


@dataclass(frozen=True)
class SplitValues:
    """Split values: for each value (a row of `splits`) the hash of its structure and its leaves in
    `leaves`, which are cells (kind, address, length). `memory` owns the bytes that they point to,
    except those of the values themselves."""

    splits: np.ndarray
    leaves: np.ndarray
    memory: tuple[object, ...] = field(repr=False)

    def groups(self) -> Iterator[SplitGroup]:
        """The values grouped by structure."""
        hashes = self.splits[:, 0]
        if len(hashes) == 0:
            return
        if (hashes == hashes[0]).all():
            yield SplitGroup(int(hashes[0]), np.arange(len(hashes)))
            return
        order = np.argsort(hashes, kind="stable")
        ordered = hashes[order]
        cuts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
        parts = np.split(order, cuts)
        for members in sorted(parts, key=lambda part: int(part[0])):
            yield SplitGroup(int(hashes[members[0]]), members)

    def leaf_count(self, group: SplitGroup) -> int:
        """The number of leaves of each value of a group."""
        first = self.splits[group.members[0]]
        return int(first[2] - first[1])

    @property
    def most_leaves(self) -> int:
        """The largest number of leaves of a value."""
        return int((self.splits[:, 2] - self.splits[:, 1]).max(initial=0))

    def scatter(self, group: SplitGroup, rows: np.ndarray, tables: np.ndarray) -> np.ndarray:
        """Copy the leaves of a group to `tables`, int64 of (leaf, row, 3): those of the value
        `group.members[i]` to row `rows[i]` (int64). Returns the tables of the group's leaves;
        groups with different rows may share them."""
        leaf_count = self.leaf_count(group)
        firsts = np.ascontiguousarray(self.splits[group.members, 1])
        rows = np.ascontiguousarray(rows, np.int64)
        scatter_leaves(
            address_of(self.leaves), address_of(firsts), address_of(rows), len(rows), leaf_count,
            address_of(tables), tables.shape[1],
        )  # fmt: skip
        return tables[:leaf_count]


def split(cells: np.ndarray, form: SplitForm) -> SplitValues:
    """Split the values in `cells`: int64 (kind, address, length), each a type byte and its value.
    The memory that they point to must outlive the result, and have PADDING after its end.

    Raises HeadraceError `documents.value_not_understood` for the first invalid BSON.
    """
    cells = np.ascontiguousarray(cells, np.int64)
    total = int(cells[:, _LENGTH].sum())
    splits = np.zeros((len(cells), SPLIT_WORDS), np.int64)
    # Most documents have fewer and longer fields than the limit allows.
    leaf_room, spare_room = total // 8 + 64, total + SPARE_SLACK
    while True:
        leaves = np.empty((leaf_room, 3), np.int64)
        spare = np.empty(spare_room, np.uint8)
        answer = int(
            split_values(
                address_of(cells), len(cells), form.flags, address_of(leaves), leaf_room,
                address_of(spare), spare_room, address_of(splits),
            )
        )  # fmt: skip
        if answer >= 0:
            return SplitValues(splits, leaves, (leaves, spare))
        if answer >> 32 != NO_ROOM:
            raise broken(answer >> 32, "a document")
        leaf_room = total // LEAVES_PER_BYTE + 2 * len(cells) + 64
        spare_room = SPARE_PER_BYTE * total + SPARE_SLACK * (len(cells) + 1)
