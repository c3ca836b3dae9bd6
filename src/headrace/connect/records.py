"""Records: the records of a slice with one topic, key schema and value schema, as lazy columns.

A value is a tree of nodes. A leaf names where its data is (a cell of a row's image, a field of the
row table, a constant) and contains none, so a transform that unwraps, renames, routes or adds
rearranges the tree and touches no data. Converters compile the tree and run it over the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum

import numpy as np

from headrace.connect.encoding import Encoding
from headrace.connect.rows import RowTable
from headrace.connect.schema import Field, Schema, Type

UNCERTAIN_ID = "?"
"""The id of a column that may be any of several columns that its table had under this name."""


@dataclass(frozen=True)
class ColumnOrigin:
    """A column. `id` distinguishes it from others of its table, also from a former one with its
    name (empty: unknown; or UNCERTAIN_ID). `filler` is the Connect value of rows that are older
    than the column, and `is_known` says whether that value is known."""

    id: str = ""
    filler: object = None
    is_known: bool = True


@dataclass(frozen=True)
class TableOrigin:
    """A table: its name in the database, an `id` that distinguishes it from a former one with its
    name (empty: unknown), its columns by name, its key columns that the database's log does not
    have for deleted rows, a description of what is left out before headrace reads it (empty:
    nothing that is known), and why rows may share or exchange values of the key (empty: they
    cannot, or it is not known)."""

    name: str
    id: str = ""
    columns: Mapping[str, ColumnOrigin] = field(default_factory=dict)
    not_in_deletes: tuple[str, ...] = ()
    left_out: str = ""
    key_doubt: str = ""


class Image(IntEnum):
    """The image that a cell is read from."""

    OLD = 0
    NEW = 1
    COUNTERPART = 2  # the image of the other half of a key change
    EXTRA = 3  # the row's source fields that are texts
    TRANSACTION = 4  # the source fields of its transaction that are texts
    KEY = 5  # the new image if the row has one, else the old one


@dataclass(frozen=True, eq=False)
class Cell:
    """A column of an image: null, unavailable, or a value in the form of `encoding`; null in rows
    that lack the image.

    `null` is the value for a null in the log (the replacement for a null of a NOT NULL column, else
    None), `unavailable` the value a converter shows for one that the log does not carry. `decode`
    turns the cell's bytes into a Connect value, if a compiled encoder gives up.
    """

    schema: Schema
    image: Image
    column: int
    encoding: Encoding
    parameter: int
    decode: Callable[[bytes], object]
    null: object = None
    unavailable: object = None


class ColumnIdentity:
    """The identity of a column of made values, shared by `Column` nodes and `Records.columns`. It
    is one object as long as its shape lives, so a tree stays the same from slice to slice."""


@dataclass(frozen=True, eq=False)
class Column:
    """Values that a transform made: the cell of the row in `Records.columns[identity]`.

    The cell has the form of `encoding` and `parameter`, like a cell of an image; `decode` turns its
    bytes into a Connect value. `null` is the value for a null.
    """

    schema: Schema
    identity: ColumnIdentity
    encoding: Encoding
    parameter: int
    decode: Callable[[bytes], object]
    null: object = None


@dataclass(frozen=True, eq=False)
class RowField:
    """An integer field of the row table; `character`: as a one-letter string, or null if it is
    0."""

    schema: Schema
    name: str
    character: bool = False


@dataclass(frozen=True, eq=False)
class TransactionField:
    """An integer field of the row's transaction; NULL is null."""

    schema: Schema
    name: str


@dataclass(frozen=True, eq=False)
class OrderField:
    """A field of the row's order in its transaction (rows of a counted table only)."""

    schema: Schema
    name: str


@dataclass(frozen=True, eq=False)
class Choice:
    """A text chosen by the value of a byte of the row; None is null, and `otherwise` is the text
    for values that `texts` does not have."""

    schema: Schema
    name: str
    texts: tuple[tuple[int, str | None], ...]
    otherwise: str | None = None


@dataclass(frozen=True, eq=False)
class ProcessingTime:
    """The time at which the batch is converted; `unit` is ms, us or ns."""

    schema: Schema
    unit: str


@dataclass(frozen=True, eq=False)
class Instant:
    """Milliseconds since 1970 as a text, `2026-01-02T03:04:05.678Z`; null where the node is null,
    and before 1970."""

    schema: Schema
    node: RowField | TransactionField


@dataclass(frozen=True, eq=False)
class Constant:
    """A constant value for every row."""

    schema: Schema
    value: object


@dataclass(frozen=True, eq=False)
class TextPart:
    """A part of a Concat: an integer, a text, or bytes in base64, between two constant texts. A
    decimal cannot be a part.

    Where the node is null, `null` replaces all three; None: the whole Concat is null.
    """

    node: (
        Cell
        | Column
        | RowField
        | TransactionField
        | OrderField
        | ProcessingTime
        | Choice
        | Constant
        | Guarded
    )
    before: str = ""
    after: str = ""
    null: str | None = None


@dataclass(frozen=True, eq=False)
class Concat:
    """A text made of parts, as in `771:23803690`."""

    schema: Schema
    parts: tuple[TextPart, ...]


@dataclass(frozen=True, eq=False)
class Struct:
    """A struct of nodes; null in rows that lack `image`, and where `presence` is null (None:
    without this condition).

    `unshown` are nodes by name that the struct does not show, for transforms that need them.
    """

    schema: Schema
    members: tuple[Node, ...]
    image: Image | None = None
    presence: Cell | Column | None = None
    unshown: Mapping[str, Node] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Guarded:
    """A node that was moved out of a struct: null where that struct is null, whatever the node's
    own value. `image` and `presence` are the struct's."""

    node: Node
    image: Image | None = None
    presence: Cell | Column | None = None

    @property
    def schema(self) -> Schema:
        """The node's schema."""
        return self.node.schema


Node = (
    Cell
    | Column
    | RowField
    | TransactionField
    | OrderField
    | Choice
    | Concat
    | ProcessingTime
    | Instant
    | Constant
    | Struct
    | Guarded
)


def struct_of(name: str | None, members: dict[str, Node], **schema: object) -> Struct:
    """Return a struct node whose schema has the members' schemas as fields, in order."""
    described = Schema(
        **{  # type: ignore[arg-type]
            "type": Type.STRUCT,
            "name": name,
            "fields": tuple(Field(key, node.schema) for key, node in members.items()),
            **schema,
        }
    )
    return Struct(described, tuple(members.values()))


class On(Enum):
    """The records that have a header."""

    EVERY = "every"
    DELETE = "delete"  # the delete of a key change, and its tombstone
    CREATE = "create"  # the create of a key change


@dataclass(frozen=True, eq=False)
class Header:
    """A header: its node is rendered for each record that it is on, and may be null."""

    name: str
    node: Node
    on: On = On.EVERY


@dataclass(frozen=True, eq=False)
class Shape:
    """The common properties of all records of one relation version; made once, shared by slices.

    `key` and `value` are any nodes; None: these records have no key or value, and no schema of it.
    A record whose `key` or `value` node is null has none either (a tombstone, with and without
    schemas) unless `null_has_schema`: then it is null with the node's schema. `timestamp` is the
    record's own time, an int64 of milliseconds since 1970-01-01 UTC; most records of a connector
    have none. `origin` describes the table of the records; None: unknown.
    """

    topic: str
    key: Node | None
    value: Node | None
    headers: tuple[Header, ...] = ()
    null_has_schema: bool = False
    timestamp: Node | None = None
    origin: TableOrigin | None = None


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a column that a transform made.

    `table` is int64, contiguous, one row of (kind, address, length) per row of the row table: the
    kinds of `headrace.connect.images`, and NO_CELL in rows without a cell of the column. `memory`
    owns what the addresses point into, with PADDING readable bytes after each value.
    """

    table: np.ndarray
    memory: tuple[object, ...] = field(default=(), repr=False)


NO_PARTITION = -1
"""The entry of `Records.partition` that leaves the choice to the sink."""


@dataclass(frozen=True, eq=False)
class Records:
    """Records of one shape.

    `rows` indexes `table` (int64, one entry per record); `place` (int64) restores total order
    across the Records of a slice, and is unique in a slice. A record whose row has operation 0 is a
    tombstone: its value and value schema are absent. `columns` are the cells of the shape's
    `Column` nodes. `partition` is int32, one per record, or NO_PARTITION; None: no record has a
    partition.
    """

    shape: Shape
    table: RowTable
    rows: np.ndarray
    place: np.ndarray = field(repr=False)
    columns: Mapping[ColumnIdentity, Cells] = field(default_factory=dict, repr=False)
    partition: np.ndarray | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    def with_shape(self, shape: Shape) -> Records:
        """Return the same rows with another topic, key, value or headers."""
        return self if shape is self.shape else replace(self, shape=shape)

    def with_rows(self, mask: np.ndarray) -> Records:
        """Return the records for which `mask` (bool, one per record) is true."""
        if bool(mask.all()):
            return self
        partition = None if self.partition is None else self.partition[mask]
        return replace(self, rows=self.rows[mask], place=self.place[mask], partition=partition)

    def with_column(self, identity: ColumnIdentity, cells: Cells) -> Records:
        """Return the records with the cells of one more column, or with other cells of the
        column."""
        return replace(self, columns={**self.columns, identity: cells})

    def with_partition(self, partition: np.ndarray | None) -> Records:
        """Return the records with these partitions (int32, one per record)."""
        return replace(self, partition=partition)


def group_by_shape(table: RowTable, shapes: dict[int, Shape]) -> list[Records]:
    """Return the records of a whole slice, one Records per relation version, in order of first
    appearance. `shapes` are those of all versions to which rows refer.

    Grouping is over the slice, not over runs of neighbours, so interleaved tables stay cheap.
    """
    relation = table.rows["relation"]
    if len(relation) == 0:
        return []
    place = np.arange(len(relation), dtype=np.int64)
    if len(shapes) == 1:
        (shape,) = shapes.values()
        return [Records(shape, table, place, place)]
    low, high = int(relation.min()), int(relation.max())
    if low == high:
        return [Records(shapes[low], table, place, place)]
    # numpy sorts small integers by radix, if the sort is stable.
    narrow = (relation - low).astype(np.uint16 if high - low < 65536 else np.int64)
    order = np.argsort(narrow, kind="stable")
    ordered = narrow[order]
    cuts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    return [
        Records(shapes[int(relation[rows[0]])], table, rows, rows) for rows in np.split(order, cuts)
    ]
