"""ExtractChangedRecordState: the names of changed and unchanged columns in headers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.config.configuration import Configuration
from headrace.config.kinds import TEXT
from headrace.config.property import Group, Property
from headrace.connect.encoding import Encoding
from headrace.connect.evaluation.columns import column_of, with_distinct
from headrace.connect.evaluation.comparing import same_cells
from headrace.connect.evaluation.values import connect_values, nulls, tombstones, values
from headrace.connect.records import Cell, Column, Header, Node, Records, Shape
from headrace.connect.schema import DECIMAL, Schema, Type
from headrace.connect.trees import as_struct, fields, member
from headrace.errors import HeadraceError
from headrace.transforms.debezium.envelopes import envelope_of
from headrace.transforms.example import Example
from headrace.transforms.transform import Declaration, Ordering, PerShape

_OPTIONAL_TEXT = Schema(Type.STRING, optional=True)


class ExtractChangedRecordStateOptions(Configuration):
    """Options of ExtractChangedRecordState."""

    header_changed_name = Property(
        "header.changed.name",
        TEXT,
        "",
        Group.CONVERTERS,
        "The header with the names of changed columns; if it is empty, there is no header.",
    )
    header_unchanged_name = Property(
        "header.unchanged.name",
        TEXT,
        "",
        Group.CONVERTERS,
        "The header with the names of unchanged columns; if it is empty, there is no header.",
    )


@dataclass(frozen=True)
class _Compared:
    """A shape with the headers, the columns of the headers, and the nodes that are compared."""

    shape: Shape
    lists: tuple[tuple[Column, bool], ...]
    """Columns of the headers, and whether each lists the changed columns."""
    before: Node
    after: Node
    columns: tuple[tuple[str, Node, Node], ...]
    """Columns by name, with the nodes before and after the change."""


class ExtractChangedRecordState:
    """See DECLARATION. Records whose value is not an envelope pass unchanged; the lists are empty
    for a change that has only one row."""

    ordering = Ordering.KEEPS_KEY
    passes_records = True
    takes_schemas_only = True

    def __init__(self, options: ExtractChangedRecordStateOptions) -> None:
        named = ((options.header_changed_name, True), (options.header_unchanged_name, False))
        self._headers = tuple((name, changed) for name, changed in named if name)
        self._compared = PerShape(self._compare)
        self._are_shared = False

    def share_headers(self) -> None:
        """See SharesHeaders: the lists of a tombstone are empty, like those of its delete."""
        self._are_shared = True

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform. Raises HeadraceError("transforms.row_is_no_struct")."""
        if not self._headers or envelope_of(records.shape) is None:
            yield records
            return
        absent = tombstones(records)
        if absent.any() and not self._are_shared:
            yield records.with_rows(absent)
            records = records.with_rows(~absent)
            if not len(records):
                return
        compared = self._compared(records.shape)
        is_compared = ~nulls(records, compared.before) & ~nulls(records, compared.after)
        both = records.with_rows(is_compared)
        names = [name for name, _, _ in compared.columns]
        changed = np.zeros((len(records), len(names)), np.bool_)
        if len(both):
            if not compared.columns and as_struct(compared.after) is None:
                raise HeadraceError(
                    "transforms.row_is_no_struct",
                    f"before and after of {records.shape.topic} are of type "
                    f"{compared.after.schema.type.value}",
                    "Rows are structs; give the transform a predicate.",
                )
            changed[is_compared] = _changed(both, compared.columns)
        for column, has_changed in compared.lists:
            chosen = is_compared[:, None] & (changed == has_changed)
            records = with_distinct(records, column, *_lists(names, chosen))
        yield records.with_shape(compared.shape)

    def _compare(self, shape: Shape) -> _Compared:
        envelope = envelope_of(shape)
        assert envelope is not None
        images = fields(envelope)
        before, after = images["before"], images["after"]
        rows = as_struct(before), as_struct(after)
        columns: tuple[tuple[str, Node, Node], ...] = ()
        if rows[0] is not None and rows[1] is not None:
            of_before = fields(rows[0])
            columns = tuple(
                (name, member(rows[0], name), member(rows[1], name))
                for name in fields(rows[1])
                if name in of_before
            )
        lists = []
        headers = list(shape.headers)
        for name, has_changed in self._headers:
            schema = Schema(Type.ARRAY, optional=True, name=name, values=_OPTIONAL_TEXT)
            column = column_of(schema)
            headers.append(Header(name, column))
            lists.append((column, has_changed))
        with_headers = replace(shape, headers=tuple(headers))
        return _Compared(with_headers, tuple(lists), before, after, columns)


def _changed(records: Records, columns: Sequence[tuple[str, Node, Node]]) -> np.ndarray:
    """Return which columns have different values after the change (bool, records × columns). Only
    cells whose bytes differ are decoded."""
    changed = np.ones((len(records), len(columns)), np.bool_)
    alike = {
        place: (before, after)
        for place, (_, before, after) in enumerate(columns)
        if isinstance(before, Cell) and isinstance(after, Cell) and _are_of_one_form(before, after)
    }
    if alike:
        changed[:, list(alike)] = ~same_cells(records, list(alike.values()))
    for place, (_, before, after) in enumerate(columns):
        suspected = changed[:, place]
        if suspected.any():
            suspected_records = records.with_rows(suspected)
            changed[suspected, place] = _differ(suspected_records, before, after)
    return changed


def _are_of_one_form(left: Cell, right: Cell) -> bool:
    """Whether equal bytes in both cells mean equal values."""
    is_read_alike = left.decode is right.decode or Encoding.PYTHON not in (
        left.encoding, right.encoding,
    )  # fmt: skip
    forms = [(c.schema, c.encoding, c.parameter, c.null, c.unavailable) for c in (left, right)]
    return is_read_alike and forms[0] == forms[1]


_COMPARED_BY_ARROW = frozenset(
    {Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.BOOLEAN, Type.STRING, Type.BYTES}
)
_BITS = {Type.FLOAT32: np.int32, Type.FLOAT64: np.int64}


def _differ(records: Records, before: Node, after: Node) -> np.ndarray:
    """Return where two nodes have different values (bool), by Java's `equals`: nulls are equal, and
    so are NaNs; 0.0 and -0.0 differ."""
    kinds = {before.schema.type, after.schema.type}
    if DECIMAL in (before.schema.name, after.schema.name):
        kinds = {Type.ANY}
    if kinds <= _COMPARED_BY_ARROW:
        former, later = values(records, before), values(records, after)
        unequal = pc.fill_null(pc.not_equal(former, later), fill_value=False)
        return np.asarray(pc.or_(unequal, pc.xor(pc.is_null(former), pc.is_null(later))))
    if len(kinds) == 1 and kinds <= _BITS.keys():
        bits = _BITS[before.schema.type]
        former, later = values(records, before), values(records, after)
        unequal = _numbers(former).view(bits) != _numbers(later).view(bits)
        return np.asarray(unequal | (np.asarray(former.is_null()) != np.asarray(later.is_null())))
    pairs = zip(connect_values(records, before), connect_values(records, after), strict=True)
    return np.array([not _are_equal(former, later) for former, later in pairs])


def _numbers(array: pa.Array) -> np.ndarray:
    return np.ascontiguousarray(pc.fill_null(array, 0.0).to_numpy(zero_copy_only=False))


def _are_equal(left: object, right: object) -> bool:
    """Whether structured values are equal; NaNs are."""
    return left == right or repr(left) == repr(right)


def _lists(names: list[str], chosen: np.ndarray) -> tuple[list[list[str]], np.ndarray]:
    """The distinct combinations of chosen names, and the index of each record's combination."""
    packed = np.ascontiguousarray(np.packbits(chosen, axis=1))
    count, size = packed.shape
    if not size:
        return [[]], np.zeros(count, np.int64)
    buffers = [None, pa.py_buffer(packed)]
    encoded = pa.Array.from_buffers(pa.binary(size), count, buffers).dictionary_encode()
    kinds = np.frombuffer(b"".join(encoded.dictionary.to_pylist()), np.uint8).reshape(-1, size)
    bits = np.unpackbits(kinds, axis=1, count=len(names)).astype(np.bool_)
    lists = [[name for name, bit in zip(names, row, strict=True) if bit] for row in bits.tolist()]
    return lists, np.asarray(encoded.indices)


DECLARATION = Declaration(
    "ExtractChangedRecordState",
    "Adds headers with the names of the columns that an update changed, and of those that it did "
    "not.",
    ExtractChangedRecordStateOptions,
    ExtractChangedRecordState,
    example=Example(
        {"before": {"id": 1, "n": 5}, "after": {"id": 1, "n": 7}, "op": "u"},
        {"header.changed.name": "changed", "header.unchanged.name": "unchanged"},
        key={"id": 1},
        topic="s.orders",
        names={"value": "s.orders.Envelope"},
    ),
    kernels=("headrace.connect.evaluation.comparing",),
)
