"""Records: the records of a slice with one topic, key schema and value schema, as lazy columns.

A value is a tree of nodes. A leaf names where its data is (a cell of a row's image, a field of
the row table, a constant) and holds none, so a transform that unwraps, renames, routes or adds
rearranges the tree and touches no data. Converters compile the tree and run it over the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np

from headrace.connect.encoding import Encoding
from headrace.connect.rows import RowTable
from headrace.connect.schema import Field, Schema, Type


class Image(IntEnum):
    """Which image a cell is read from."""

    OLD = 0
    NEW = 1
    COUNTERPART = 2  # of the other half of a key change
    EXTRA = 3  # the row's source fields that are texts
    TRANSACTION = 4  # its transaction's source fields that are texts
    KEY = 5  # the new image where there is one, else the old one


@dataclass(frozen=True, eq=False)
class Cell:
    """A column of an image: null, unavailable, or a value in the form that `encoding` names; null
    in rows that lack the image.

    `null` is the value for a null on the wire (the made-up value of a NOT NULL column, else
    None), `unavailable` the value a converter shows for one the log does not carry. `decode` turns
    the cell's bytes into a Connect value, where a compiled encoder gives up.
    """

    schema: Schema
    image: Image
    column: int
    encoding: Encoding
    parameter: int
    decode: Callable[[bytes], object]
    null: object = None
    unavailable: object = None


@dataclass(frozen=True, eq=False)
class RowField:
    """An integer field of the row table; `character` prints it as a one-letter string,
    or null where it is 0."""

    schema: Schema
    name: str
    character: bool = False


@dataclass(frozen=True, eq=False)
class TransactionField:
    """An integer field of the row's transaction; NULL reads as null."""

    schema: Schema
    name: str


@dataclass(frozen=True, eq=False)
class OrderField:
    """A field of the row's order in its transaction (rows of a counted table only)."""

    schema: Schema
    name: str


@dataclass(frozen=True, eq=False)
class Choice:
    """A text by the value of a byte of the row; None is null, and `otherwise` is for values that
    `texts` does not have."""

    schema: Schema
    name: str
    texts: tuple[tuple[int, str | None], ...]
    otherwise: str | None = None


@dataclass(frozen=True, eq=False)
class ProcessingTime:
    """When the batch is converted; `unit` is ms, us or ns."""

    schema: Schema
    unit: str


@dataclass(frozen=True, eq=False)
class Constant:
    """The same value in every row."""

    schema: Schema
    value: object


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a Concat: a number or text between two constant texts.

    Where the node is null, `null` stands in place of all three; None: the whole Concat is null.
    """

    node: Cell | RowField | TransactionField | OrderField | ProcessingTime | Choice | Constant
    before: str = ""
    after: str = ""
    null: str | None = None


@dataclass(frozen=True, eq=False)
class Concat:
    """A text made of parts, as in `771:23803690`."""

    schema: Schema
    parts: tuple[Part, ...]


@dataclass(frozen=True, eq=False)
class Struct:
    """A struct of nodes; null in rows that lack `image` (None: never null)."""

    schema: Schema
    members: tuple[Node, ...]
    image: Image | None = None


Node = (
    Cell
    | RowField
    | TransactionField
    | OrderField
    | Choice
    | Concat
    | ProcessingTime
    | Constant
    | Struct
)


def struct_of(name: str | None, members: dict[str, Node], **schema: object) -> Struct:
    """A struct node whose schema has the members' schemas as fields, in order."""
    described = Schema(
        **{  # type: ignore[arg-type]
            "type": Type.STRUCT,
            "name": name,
            "fields": tuple(Field(key, node.schema) for key, node in members.items()),
            **schema,
        }
    )
    return Struct(described, tuple(members.values()))


@dataclass(frozen=True, eq=False)
class Header:
    """A header of every record, or (`key_change`) of both halves of a key change only: an image
    of the other half's key. `delete` headers go on the delete and its tombstone."""

    name: str
    node: Node
    on: str = "all"  # all | delete | create


@dataclass(frozen=True, eq=False)
class Shape:
    """What all records of one relation version have in common; made once, shared by slices.

    A record whose `key` or `value` is null has none: a tombstone, with and without schemas.
    """

    topic: str
    key: Struct | None
    value: Struct
    headers: tuple[Header, ...] = ()


@dataclass(frozen=True, eq=False)
class Records:
    """Records of one shape.

    `rows` indexes `table` (int64, one entry per record); `place` (int64) restores total order
    across the Records of a slice. A record whose row has operation 0 is a tombstone: its value
    and value schema are absent.
    """

    shape: Shape
    table: RowTable
    rows: np.ndarray
    place: np.ndarray = field(repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    def with_shape(self, shape: Shape) -> Records:
        """The same rows seen as another topic, key, value or headers."""
        return replace(self, shape=shape)


def group_by_shape(table: RowTable, shapes: dict[int, Shape]) -> list[Records]:
    """Records of a whole slice, one per relation version, in order of first appearance.

    Grouping is over the slice, not over runs of neighbours, so interleaved tables stay cheap.
    """
    relation = table.rows["relation"]
    if len(relation) == 0:
        return []
    low, high = int(relation.min()), int(relation.max())
    place = np.arange(len(relation), dtype=np.int64)
    if low == high:
        return [Records(shapes[low], table, place, place)]
    # A stable sort of small integers is a radix sort.
    narrow = (relation - low).astype(np.uint16 if high - low < 65536 else np.int64)
    order = np.argsort(narrow, kind="stable")
    ordered = narrow[order]
    cuts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    return [
        Records(shapes[int(relation[rows[0]])], table, rows, rows) for rows in np.split(order, cuts)
    ]
