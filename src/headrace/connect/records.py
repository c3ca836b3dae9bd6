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
    """Which image of a row a cell is read from."""

    OLD = 0
    NEW = 1
    OTHER = 2  # the other half of a key change
    KEY = 3  # the new image where there is one, else the old one


@dataclass(frozen=True, eq=False)
class Cell:
    """A column of an image: null, text, or unavailable; null in rows that lack the image.

    `null` is the value for a null on the wire (the made-up value of a NOT NULL column, else
    None), `unavailable` the value a converter shows for one the log does not carry. `render`
    turns text into JSON where the compiled encoders give up; `decode` into a Connect value.
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
class TransactionLsn:
    """The transaction's number and the row's LSN, as in `771:23803690`; null without number."""

    schema: Schema


@dataclass(frozen=True, eq=False)
class Marker:
    """`source.snapshot`: the row's marker."""

    schema: Schema


@dataclass(frozen=True, eq=False)
class LsnPair:
    """`source.sequence`: a JSON array, as text, of last commit LSN and own LSN."""

    schema: Schema


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
class Struct:
    """A struct of nodes; null in rows that lack `image` (None: never null)."""

    schema: Schema
    members: tuple[Node, ...]
    image: Image | None = None

    def member(self, name: str) -> Node | None:
        """The node of the field `name`, or None."""
        for described, node in zip(self.schema.fields, self.members, strict=True):
            if described.name == name:
                return node
        return None


Node = (
    Cell
    | RowField
    | TransactionField
    | OrderField
    | TransactionLsn
    | Marker
    | LsnPair
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

    @property
    def tombstone(self) -> np.ndarray:
        """Mask of the records without a value, bool."""
        return np.asarray(np.equal(self.table.rows["operation"][self.rows], 0))

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
