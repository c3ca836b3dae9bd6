"""JSON payloads as structs of columns: texts are parsed, and split by their structures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.encoding import Encoding
from headrace.connect.evaluation.columns import bytes_cells, form_of
from headrace.connect.images import TEXT
from headrace.connect.json_values import MAX_CELLS, Allowance
from headrace.connect.records import Column, ColumnIdentity, Constant, Node, Records, Struct
from headrace.connect.schema import Schema
from headrace.documents.bson import Kind
from headrace.documents.cells import decoder
from headrace.documents.columns.structured_records import BsonCells, StructuredRecords, by_structure
from headrace.documents.parsing.texts import parsed_by_kernel
from headrace.documents.splitting import SplitForm, Structure
from headrace.documents.values import value_of
from headrace.transforms.debezium.outbox.json_payloads import schema_of, value_in

_FORM = SplitForm()
_ELSEWHERE = ('"$', "NaN", "Infinity", "\\ud", "\\uD")
"""Parts of texts that are read differently as Extended JSON or as a double than as JSON: members
that stand for a type, numbers that JSON does not have, halves of characters."""


@dataclass(frozen=True, eq=False)
class ExpandedPayload:
    """The node of payloads with the same structure, and its columns in the order of their leaves;
    `rendered` are the numbers of those that Python renders. Without node they do not become
    structs, or with `is_left`, the result depends on their values."""

    node: Node | None
    columns: tuple[ColumnIdentity, ...] = ()
    rendered: tuple[int, ...] = ()
    is_left: bool = False

    @staticmethod
    def of(
        rows: StructuredRecords, *, keeps_nulls: bool, most_cells: int = MAX_CELLS
    ) -> ExpandedPayload:
        """Return the expansion of these records' payloads. Raises HeadraceError
        ("connect.too_many_cells")."""
        structure = rows.structure
        if _mixes_numbers(structure):
            return ExpandedPayload(None, is_left=True)
        kind, value = rows.example
        parsed = value_of(kind, value)
        try:
            schema = schema_of(parsed, keeps_nulls=keeps_nulls)
            value_in(schema, parsed, Allowance(most_cells, 0))
        except ValueError:
            return ExpandedPayload(None)
        leaves = _Leaves(most_cells)
        node = leaves.node(structure, schema)
        return ExpandedPayload(node, tuple(leaves.columns), tuple(leaves.rendered))


def split_payloads(
    records: Records, texts: pa.LargeStringArray
) -> tuple[list[StructuredRecords], np.ndarray]:
    """Return the records grouped by the structures of their payloads, which are JSON texts; and
    which records (bool) are left to Python: texts that are neither an object nor an array, nulls,
    and rare cases."""
    left = ~np.asarray(pc.fill_null(_opens(texts), fill_value=False))
    for rare in _rare(texts):
        left |= rare
    cells = bytes_cells(texts, TEXT)
    documents_read, unread = parsed_by_kernel(np.ascontiguousarray(cells.table[~left]))
    places = np.flatnonzero(~left)
    left[places[unread]] = True
    is_read = np.ones(len(places), np.bool_)
    is_read[unread] = False
    documents = BsonCells(documents_read.cells[is_read], False, documents_read.memory)
    part = records.with_rows(~left)
    return (list(by_structure(part, documents, _FORM)) if len(part) else []), left


def _mixes_numbers(structure: Structure, kinds: set[Kind] | None = None) -> bool:
    """Whether an array has doubles and int64: some of its numbers may not fit a double. `kinds` are
    the kinds found so far in the enclosing array."""
    if structure.kind is Kind.ARRAY and kinds is None:
        kinds = set()
    if kinds is not None:
        kinds.add(structure.kind)
        if {Kind.DOUBLE, Kind.INT64} <= kinds:
            return True
    inner = [*(part for _, part in structure.members), *structure.elements]
    return any(_mixes_numbers(part, kinds) for part in inner)


def _opens(texts: pa.LargeStringArray) -> pa.Array:
    return pc.or_(pc.starts_with(texts, "{"), pc.starts_with(texts, "["))


def _rare(texts: pa.LargeStringArray) -> Iterator[np.ndarray]:
    """Yield where texts contain a part of `_ELSEWHERE`, if any text does."""
    data = texts.buffers()[2]
    whole = b"" if data is None else memoryview(data).tobytes()
    for escape in _ELSEWHERE:
        if escape.encode() in whole:
            has_it = pc.fill_null(pc.match_substring(texts, escape), fill_value=False)
            yield np.asarray(has_it)


@dataclass
class _Leaves:
    """Collects the nodes of a payload's leaves, in their order, while its structure is walked."""

    most_cells: int
    columns: list[ColumnIdentity] = field(default_factory=list)
    rendered: list[int] = field(default_factory=list)

    def node(self, structure: Structure, schema: Schema) -> Node:
        if structure.kind is Kind.DOCUMENT:
            described = {
                described_field.name: described_field.schema for described_field in schema.fields
            }
            members: list[Node] = []
            for name, inner in structure.members:
                if name in described:
                    members.append(self.node(inner, described[name]))
                else:  # an empty array, which has a leaf, or a null, which has none
                    self.columns += [ColumnIdentity() for _ in range(inner.leaf_count(_FORM))]
            return Struct(schema, tuple(members))
        if structure.kind is Kind.NULL:
            return Constant(schema, None)
        encoding, parameter, decode = form_of(schema)
        if structure.kind is Kind.ARRAY:
            encoding, decode = Encoding.PYTHON, partial(_array, schema, self.most_cells)
            if all(element.kind is Kind.STRING for element in structure.elements):
                encoding, decode = Encoding.BSON_TEXTS, decoder(Encoding.BSON_TEXTS)
        if encoding is Encoding.PYTHON:
            self.rendered.append(len(self.columns))
        column = Column(schema, ColumnIdentity(), encoding, parameter, decode)
        self.columns.append(column.identity)
        return column


def _array(schema: Schema, most_cells: int, cell: bytes) -> object:
    """Return the list in an array's cell: its type byte and its bytes."""
    return value_in(schema, value_of(cell[0], cell[1:]), Allowance(most_cells, 0))
