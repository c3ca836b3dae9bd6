"""The values of nodes over Records, as arrays of Spark's types (see `types`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.encoding import Encoding
from headrace.connect.evaluation import gathering
from headrace.connect.evaluation.values import Evaluation, distinct_values, fast_values
from headrace.connect.kernels.memory import address_of
from headrace.connect.records import (
    Cell,
    Column,
    Constant,
    Guarded,
    Node,
    Records,
    Struct,
    struct_of,
)
from headrace.connect.schema import Schema
from headrace.converters.typed.types import INSTANT, TEXT, typed, typed_array, typed_constants
from headrace.debezium import temporal
from headrace.debezium.decimals import VARIABLE_SCALE_DECIMAL_NAME
from headrace.documents.bson import DOCUMENT
from headrace.documents.dialects import DIALECTS
from headrace.documents.extended_json import column_to_extended_json
from headrace.documents.target_schema.conversion import Converted, node_of
from headrace.documents.target_schema.parts import PartDecoder

_DOCUMENT_BYTES = 1 << 30  # most bytes of documents that become texts in one Arrow array
_PLAIN_NUMBER = "^-?[0-9]+(\\.[0-9]*[1-9])?$"


def typed_values(records: Records, node: Node) -> pa.Array:
    """The node's values, one per record, as an array of `typed(node.schema)`.

    Raises HeadraceError("converters.value_not_representable"), and the errors of
    `headrace.connect.evaluation.values.values` and of the decoder of a cell.
    """
    return _TypedEvaluation(records, node).array(node)


class _TypedEvaluation(Evaluation):
    """An evaluation whose arrays have Spark's types."""

    def type_of(self, schema: Schema) -> pa.DataType:
        return typed(schema)

    def constants(self, schema: Schema, values: Sequence[object]) -> pa.Array:
        return typed_constants(schema, values)

    def array(self, node: Node) -> pa.Array:
        match node:
            case Cell() | Column() | Constant() | Guarded() | Struct():
                return super().array(node)
        # The other nodes are texts of parts, which show Connect's values.
        return typed_array(node.schema, Evaluation(self.records, node).array(node))

    def cell_values(self, node: Cell | Column, cells: np.ndarray, valid: np.ndarray) -> pa.Array:
        array = _typed_cells(node, cells, valid)
        return super().cell_values(node, cells, valid) if array is None else array


class CarriedValues:
    """Values of several nodes as arrays of Spark's types, only as far as the log carries them:
    nulls that a converter would replace, and unavailable values, are null."""

    def __init__(self, records: Records, nodes: Sequence[Node]) -> None:
        """The nodes' cells are gathered once."""
        members = {str(number): node for number, node in enumerate(nodes)}
        self._evaluation = _CarriedEvaluation(records, struct_of(None, members))

    def array(self, node: Node) -> pa.Array:
        """The values of one of the nodes. Raises as `typed_values`."""
        return self._evaluation.array(node)

    def unavailable(self, node: Node) -> np.ndarray:
        """Whether the log does not carry the value of one of the nodes, or a part of it (bool, one
        per record)."""
        return self._evaluation.unavailable(node)


class _CarriedEvaluation(_TypedEvaluation):
    """A typed evaluation without replacements for nulls and unavailable values."""

    def stand_ins(
        self,
        node: Cell | Column,  # noqa: ARG002
        kinds: np.ndarray,  # noqa: ARG002
        valid: np.ndarray,  # noqa: ARG002
    ) -> Iterator[tuple[object, np.ndarray]]:
        return iter(())


def typed_documents(column: Converted) -> pa.Array:
    """Converted values (see `headrace.documents.target_schema.conversion`) as an array of
    `typed(column.schema)`.

    Raises HeadraceError("converters.value_not_representable").
    """
    kind = typed(column.schema)
    members = [typed_documents(member) for member in column.members]
    if pa.types.is_struct(kind):
        mask = pa.array(~column.valid)
        return pa.StructArray.from_arrays(members, fields=list(kind), mask=mask)
    if column.ends is None:
        node = node_of(column.schema)
        array = _typed_cells(node, column.cells, column.valid)
        if array is None:
            distinct, index = distinct_values(node, column.cells, column.valid)
            array = typed_constants(column.schema, distinct).take(index)
        return array
    absent = pa.py_buffer(np.packbits(column.valid, bitorder="little"))
    if pa.types.is_map(kind):
        ends = pa.py_buffer(column.ends.astype(np.int32))
        entries = pa.StructArray.from_arrays(members, fields=[kind.key_field, kind.item_field])
        return pa.Array.from_buffers(kind, len(column), [absent, ends], children=[entries])
    ends = pa.py_buffer(column.ends)
    return pa.Array.from_buffers(kind, len(column), [absent, ends], children=members)


def _typed_cells(node: Cell | Column, cells: np.ndarray, valid: np.ndarray) -> pa.Array | None:
    """The values of cells that can be decoded as a column; None if they have to be decoded one by
    one."""
    if isinstance(node.decode, PartDecoder):
        return typed_documents(node.decode.column(cells))
    array = _direct(node, cells, valid)
    if array is not None:
        return array
    array = fast_values(node, cells, valid)
    return None if array is None else typed_array(node.schema, array)


def _direct(node: Cell | Column, cells: np.ndarray, valid: np.ndarray) -> pa.Array | None:
    """The values of cells whose bytes convert directly, without Connect values; None if they do
    not."""
    name, encoding = node.schema.name, node.encoding
    try:
        if encoding is Encoding.TIMESTAMPTZ and name == temporal.ZONED_TIMESTAMP.name:
            return pc.cast(pc.cast(gathering.as_binary(cells, valid), TEXT), INSTANT)
        if encoding is Encoding.VARIABLE_DECIMAL and name == VARIABLE_SCALE_DECIMAL_NAME:
            text = pc.cast(gathering.as_binary(cells, valid), TEXT)
            is_plain = pc.all(pc.match_substring_regex(text, _PLAIN_NUMBER)).as_py()
            return text if is_plain is not False else None
    except pa.ArrowInvalid:
        return None
    if encoding in DIALECTS:
        return _documents(node, cells, valid)
    return None


def _documents(node: Cell | Column, cells: np.ndarray, valid: np.ndarray) -> pa.Array | None:
    """The Extended JSON of cells that hold documents; None if some hold something else."""
    total = int(cells[valid, gathering.LENGTH].sum())
    if total > _DOCUMENT_BYTES:
        return None
    raw = gathering.as_binary(cells, valid)
    ends = np.frombuffer(raw.buffers()[1], np.int64)[: len(raw) + 1]
    data = np.frombuffer(raw.buffers()[2], np.uint8)
    if not valid.any() or (data[ends[:-1][valid]] != DOCUMENT).any():
        return None
    documents = np.array(cells)
    base = address_of(data)
    documents[:, gathering.ADDRESS] = base + ends[:-1] + 1
    documents[:, gathering.LENGTH] -= 1
    column = gathering.as_binary(documents, valid).cast(pa.binary())
    return pc.cast(column_to_extended_json(column, DIALECTS[node.encoding]), TEXT)
