"""The values of a node in each of the Records' rows: as Arrow arrays, as Python values, as nulls.

An unavailable value is replaced by the one that a converter shows for it, and a null by the node's
value for nulls. Arrays have the types of `headrace.connect.evaluation.arrow.arrow_type`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.encoding import Encoding
from headrace.connect.evaluation import gathering
from headrace.connect.evaluation.arrow import arrow_array, arrow_type, connect_value
from headrace.connect.evaluation.time_texts import in_iso, instants
from headrace.connect.images import NO_CELL, UNAVAILABLE
from headrace.connect.java_numbers import java_double, java_float
from headrace.connect.json_values import dump_value
from headrace.connect.records import (
    Cell,
    Choice,
    Column,
    Concat,
    Constant,
    Guarded,
    Header,
    Image,
    Instant,
    Node,
    On,
    OrderField,
    ProcessingTime,
    Records,
    RowField,
    Struct,
    TextPart,
    TransactionField,
    struct_of,
)
from headrace.connect.rows import NULL, Flag
from headrace.connect.schema import DECIMAL, Schema, Type

_NANOSECONDS = {"ms": 1_000_000, "us": 1_000, "ns": 1}
_LITTLE_ENDIAN: dict[Encoding, np.dtype[Any]] = {
    Encoding.BINARY_BOOLEAN: np.dtype(np.uint8),
    Encoding.INT16_LE: np.dtype(np.int16),
    Encoding.INT32_LE: np.dtype(np.int32),
    Encoding.INT64_LE: np.dtype(np.int64),
    Encoding.FLOAT32_LE: np.dtype(np.float32),
    Encoding.FLOAT64_LE: np.dtype(np.float64),
}
_PARSED = {Encoding.RAW, Encoding.DOUBLE, Encoding.FLOAT, Encoding.NUMERIC_DOUBLE}
"""Texts that Arrow parses as numbers of the schema's type."""
_TEXT = pa.large_string()
_CREATE_PART = 2  # part of a create from a key change


def values(records: Records, node: Node) -> pa.Array:
    """Return the node's values, one per record; null where it is null.

    Raises HeadraceError("connect.value_not_in_arrow") for values that Arrow cannot represent, and
    the errors of a cell's decoder.
    """
    return Evaluation(records, node).array(node)


def values_of(records: Records, nodes: Sequence[Node]) -> list[pa.Array]:
    """Return the values of several nodes, as `values` of one; their cells are gathered once."""
    if not nodes:
        return []
    all_nodes = struct_of(None, {str(number): node for number, node in enumerate(nodes)})
    evaluation = Evaluation(records, all_nodes)
    return [evaluation.array(node) for node in nodes]


def encoded_texts(records: Records, node: Node) -> pa.DictionaryArray:
    """Return `values` of a node of texts, dictionary-encoded; distinct texts are decoded once."""
    if (
        isinstance(node, Cell | Column)
        and node.encoding is Encoding.STRING
        and node.schema.type is Type.STRING
    ):
        cells, valid = Evaluation(records, node)._found(node)
        if valid.all():
            encoded = gathering.as_binary(cells, valid).dictionary_encode()
            return pa.DictionaryArray.from_arrays(encoded.indices, _texts(encoded.dictionary))
    return values(records, node).dictionary_encode()


def connect_values(records: Records, node: Node) -> list[object]:
    """Return the node's Connect values in Python, one per record: exact for every type and slow."""
    return Evaluation(records, node).objects(node)


def nulls(records: Records, node: Node | None) -> np.ndarray:
    """Return where the node is null (bool, one per record); everywhere if there is no node."""
    if node is None:
        return np.ones(len(records), np.bool_)
    return Evaluation(records, node, only_presence=True).nulls(node)


def tombstones(records: Records) -> np.ndarray:
    """Return the records without a value (bool, one per record): their value is null or absent."""
    absent = records.table.rows["operation"][records.rows] == 0
    return np.asarray(absent | nulls(records, records.shape.value))


def carries(records: Records, header: Header) -> np.ndarray:
    """Return the records that have the header (bool, one per record)."""
    if header.on is On.EVERY:
        return np.ones(len(records), np.bool_)
    rows = records.table.rows
    changed = np.asarray((rows["flags"][records.rows] & int(Flag.KEY_CHANGE)) != 0)
    if not changed.any():
        return changed
    creates = rows["part"][records.rows] == _CREATE_PART
    return np.asarray(changed & (creates if header.on is On.CREATE else ~creates))


def _cells_in(node: Node, *, only_presence: bool) -> Iterator[Cell]:
    match node:
        case Cell():
            yield node
        case Struct():
            if node.presence is not None:
                yield from _cells_in(node.presence, only_presence=only_presence)
            if not only_presence:
                for member in node.members:
                    yield from _cells_in(member, only_presence=False)
        case Guarded():
            if node.presence is not None:
                yield from _cells_in(node.presence, only_presence=only_presence)
            yield from _cells_in(node.node, only_presence=only_presence)
        case Concat():
            for part in node.parts:
                yield from _cells_in(part.node, only_presence=only_presence)


class Evaluation:
    """Evaluates one node over some records: its cells are gathered once.

    A class for another form than `arrow_type` derives from it and overrides the type of a schema
    (`type_of`), constants (`constants`), arrays of cells (`cell_values`), and the values in place
    of missing ones (`stand_ins`).
    """

    def __init__(self, records: Records, node: Node, *, only_presence: bool = False) -> None:
        self.records = records
        self.count = len(records)
        cells = list(dict.fromkeys(_cells_in(node, only_presence=only_presence)))
        self._gathered = gathering.gather(records, cells)

    def type_of(self, schema: Schema) -> pa.DataType:
        """Return the type of arrays of a schema's values."""
        return arrow_type(schema)

    def constants(self, schema: Schema, values: Sequence[object]) -> pa.Array:
        """Return Connect values of a schema as an array of `type_of`."""
        return arrow_array(schema, values)

    def array(self, node: Node) -> pa.Array:
        """Return the node's values as an array of `type_of` its schema."""
        match node:
            case Cell() | Column():
                return self._cells(node)
            case RowField():
                return self._row_field(node)
            case TransactionField():
                numbers = self._transactions()[node.name]
                numbers = numbers[self.records.table.rows["transaction"][self.records.rows]]
                return pa.array(numbers, mask=numbers == NULL).cast(arrow_type(node.schema))
            case OrderField():
                assert self.records.table.orders is not None
                numbers = self.records.table.orders[node.name][self.records.rows]
                return pa.array(np.ascontiguousarray(numbers)).cast(arrow_type(node.schema))
            case Choice():
                return self._choice(node)
            case Concat():
                return self._concat(node)
            case ProcessingTime():
                now = time.time_ns() // _NANOSECONDS[node.unit]
                return pa.array(np.full(self.count, now, np.int64)).cast(arrow_type(node.schema))
            case Instant():
                return instants(self.array(node.node))
            case Constant():
                constant = self.constants(node.schema, [node.value])
                return constant.take(pa.array(np.zeros(self.count, np.int8)))
            case Guarded():
                return _nulled(self.array(node.node), self._guarded(node))
            case Struct():
                members = [self.array(member) for member in node.members]
                absent = self._guarded(node)
                if not members:
                    return pa.array([{}] * self.count, self.type_of(node.schema), mask=absent)
                # Not `type_of(schema)`, which would be asked for once more at each level.
                fields = [
                    pa.field(field.name, member.type)
                    for field, member in zip(node.schema.fields, members, strict=True)
                ]
                return pa.StructArray.from_arrays(members, fields=fields, mask=pa.array(absent))

    def objects(self, node: Node) -> list[object]:
        match node:
            case Cell() | Column():
                cells, valid = self._found(node)
                return self._decoded(node, cells, valid)
            case Guarded():
                inner, absent = self.objects(node.node), self._guarded(node).tolist()
                return [
                    None if a else inner_value for inner_value, a in zip(inner, absent, strict=True)
                ]
            case Constant():
                return [node.value] * self.count
            case Struct():
                names = [field.name for field in node.schema.fields]
                members = [self.objects(member) for member in node.members]
                absent = self._guarded(node).tolist()
                rows = zip(*members, strict=True) if members else iter([()] * self.count)
                return [
                    None if a else dict(zip(names, row, strict=True))
                    for row, a in zip(rows, absent, strict=True)
                ]
        return [connect_value(node.schema, value) for value in self.array(node).to_pylist()]

    def nulls(self, node: Node) -> np.ndarray:
        match node:
            case Cell() | Column():
                cells, valid = self._found(node)
                kinds = cells[:, gathering.KIND]
                made_up = np.zeros(self.count, np.bool_)
                if node.null is not None:
                    made_up |= ~valid & (kinds != NO_CELL)
                elif isinstance(node, Cell) and node.unavailable is not None:
                    made_up |= kinds == UNAVAILABLE
                absent = ~(valid | made_up)
                if node.encoding is Encoding.PYTHON and valid.any():
                    # A part of a value may be null although the value is not.
                    absent |= _null_values(node, cells, valid)
                return absent
            case Struct():
                return self._guarded(node)
            case Guarded():
                return np.asarray(self._guarded(node) | self.nulls(node.node))
            case Constant():
                return np.full(self.count, node.value is None)
        return np.asarray(self.array(node).is_null())

    def unavailable(self, node: Node) -> np.ndarray:
        """Return where the log does not carry the node's value, or a part of it (bool)."""
        match node:
            case Cell() | Column():
                return np.asarray(self._cells_of(node)[:, gathering.KIND] == UNAVAILABLE)
            case Guarded():
                return np.asarray(self.unavailable(node.node) & ~self._guarded(node))
            case Struct():
                parts = [self.unavailable(member) for member in node.members]
                absent = self._guarded(node)
            case Concat():
                parts = [self.unavailable(part.node) for part in node.parts]
                absent = np.zeros(self.count, np.bool_)
            case _:
                return np.zeros(self.count, np.bool_)
        return np.asarray(np.logical_or.reduce(parts, axis=0, initial=False) & ~absent)

    def _guarded(self, node: Struct | Guarded) -> np.ndarray:
        """Return where the node's image or presence makes it null."""
        absent = np.zeros(self.count, np.bool_)
        if node.image is not None:
            absent |= ~has_image(self.records, node.image)
        if node.presence is not None:
            absent |= self.nulls(node.presence)
        return absent

    def _transactions(self) -> np.ndarray:
        return self.records.table.transactions

    def _found(self, node: Cell | Column) -> tuple[np.ndarray, np.ndarray]:
        """Return the node's cells, and whether they have bytes."""
        cells = self._cells_of(node)
        return cells, gathering.has_values(cells)

    def _cells_of(self, node: Cell | Column) -> np.ndarray:
        if isinstance(node, Cell):
            return self._gathered[node]
        return gathering.column_cells(self.records, node)

    def _cells(self, node: Cell | Column) -> pa.Array:
        cells, valid = self._found(node)
        array = self.cell_values(node, cells, valid)
        return self._with_stand_ins(node, array, cells, valid)

    def cell_values(self, node: Cell | Column, cells: np.ndarray, valid: np.ndarray) -> pa.Array:
        """Return the values of gathered cells, null where they are not `valid` (bool)."""
        if not valid.any():
            return pa.nulls(self.count, self.type_of(node.schema))
        array = fast_values(node, cells, valid)
        if array is None:
            distinct, index = distinct_values(node, cells, valid)
            array = self.constants(node.schema, distinct).take(index)
        return array

    def _with_stand_ins(
        self, node: Cell | Column, array: pa.Array, cells: np.ndarray, valid: np.ndarray
    ) -> pa.Array:
        """Return the array with the node's values for nulls and for unavailable values."""
        if valid.all():
            return array
        kinds = cells[:, gathering.KIND]
        for value, place in self.stand_ins(node, kinds, valid):
            constant = self.constants(node.schema, [value])
            if isinstance(array.type, pa.StructType | pa.ListType | pa.LargeListType | pa.MapType):
                index = np.where(place, self.count, np.arange(self.count))
                array = pa.concat_arrays([array, constant]).take(pa.array(index))
            else:
                array = pc.if_else(pa.array(place), constant[0], array)
        return array

    def stand_ins(
        self, node: Cell | Column, kinds: np.ndarray, valid: np.ndarray
    ) -> Iterator[tuple[object, np.ndarray]]:
        """Yield the values in place of nulls and of unavailable values, each with its rows
        (bool)."""
        unavailable = kinds == UNAVAILABLE
        if isinstance(node, Cell) and node.unavailable is not None and unavailable.any():
            yield node.unavailable, unavailable
        elif node.null is not None and unavailable.any():
            yield node.null, unavailable
        if node.null is not None:
            null = ~valid & ~unavailable & (kinds != NO_CELL)
            if null.any():
                yield node.null, null

    def _decoded(self, node: Cell | Column, cells: np.ndarray, valid: np.ndarray) -> list[object]:
        distinct, index = distinct_values(node, cells, valid)
        decoded = [None if at is None else distinct[at] for at in index.to_pylist()]
        for value, place in self.stand_ins(node, cells[:, gathering.KIND], valid):
            for at in np.flatnonzero(place).tolist():
                decoded[at] = value
        return decoded

    def _row_field(self, node: RowField) -> pa.Array:
        numbers = self.records.table.rows[node.name][self.records.rows]
        if not node.character:
            return pa.array(np.ascontiguousarray(numbers)).cast(arrow_type(node.schema))
        letters = pa.array([None, *map(chr, range(1, 128))], _TEXT)
        return letters.take(pa.array(np.ascontiguousarray(numbers)))

    def _choice(self, node: Choice) -> pa.Array:
        texts = [node.otherwise] * 256
        for value, text in node.texts:
            texts[value] = text
        numbers = self.records.table.rows[node.name][self.records.rows]
        return pa.array(texts, _TEXT).take(pa.array(np.ascontiguousarray(numbers)))

    def _concat(self, node: Concat) -> pa.Array:
        texts = [self._part(part) for part in node.parts]
        if not texts:
            return pa.array([""] * self.count, _TEXT)
        return pc.binary_join_element_wise(*texts, pa.scalar("", _TEXT))

    def _part(self, part: TextPart) -> pa.Array:
        text = _as_text(self.array(part.node), part.node.schema)
        before, after = pa.scalar(part.before, _TEXT), pa.scalar(part.after, _TEXT)
        text = pc.binary_join_element_wise(before, text, after, pa.scalar("", _TEXT))
        return text if part.null is None else pc.fill_null(text, pa.scalar(part.null, _TEXT))


def has_image(records: Records, image: Image) -> np.ndarray:
    """Return whether the records' rows have the image (bool)."""
    rows = records.table.rows
    if image is Image.TRANSACTION:
        transactions = records.table.transactions["image"] != 0
        return np.asarray(transactions[rows["transaction"][records.rows]])
    if image is Image.KEY:
        new, old = has_image(records, Image.NEW), has_image(records, Image.OLD)
        return np.asarray(new | old)
    return np.asarray(rows[image.name.lower()][records.rows] != 0)


def fast_values(node: Cell | Column, cells: np.ndarray, valid: np.ndarray) -> pa.Array | None:
    """Return the values of cells whose form Arrow parses; None if it cannot parse all of them."""
    encoding, schema = node.encoding, node.schema
    if encoding in _LITTLE_ENDIAN:
        numbers = gathering.as_numbers(cells, valid, _LITTLE_ENDIAN[encoding])
        return None if numbers is None else numbers.cast(arrow_type(schema))
    if encoding is Encoding.STRING and schema.type is Type.STRING:
        return _texts(gathering.as_binary(cells, valid))
    if encoding is Encoding.BYTES and schema.type is Type.BYTES:
        return gathering.as_binary(cells, valid)
    if encoding is Encoding.TIMESTAMPTZ and schema.type is Type.STRING and node.parameter == 0:
        return in_iso(gathering.as_binary(cells, valid))
    if encoding is Encoding.BOOLEAN and schema.type is Type.BOOLEAN:
        flags = gathering.as_numbers(cells, valid, np.dtype(np.uint8))
        return None if flags is None else pc.equal(flags, pa.scalar(ord("t"), pa.uint8()))
    try:
        if encoding in _PARSED and schema.type not in (Type.STRING, Type.BYTES):
            text = gathering.as_binary(cells, valid).cast(_TEXT)
            return pc.cast(text, arrow_type(schema))
        if encoding is Encoding.DATE:
            text = gathering.as_binary(cells, valid).cast(_TEXT)
            return pc.cast(pc.cast(text, pa.date32()), pa.int32()).cast(arrow_type(schema))
        if encoding is Encoding.TIMESTAMP_US:
            text = gathering.as_binary(cells, valid).cast(_TEXT)
            return pc.cast(pc.cast(text, pa.timestamp("us")), arrow_type(schema))
        if encoding is Encoding.DECIMAL and schema.name == DECIMAL:
            text = gathering.as_binary(cells, valid).cast(_TEXT)
            return pc.cast(text, arrow_type(schema))
        if encoding is Encoding.BYTES_HEX and schema.type is Type.BYTES:
            return gathering.from_hexadecimal(gathering.as_binary(cells, valid))
    except pa.ArrowInvalid:
        return None
    return None


def _texts(binary: pa.Array) -> pa.Array:
    """Return bytes as texts; invalid UTF-8 is replaced as Java does."""
    try:
        return binary.cast(_TEXT)
    except pa.ArrowInvalid:
        raw = binary.to_pylist()
        return pa.array([None if b is None else b.decode(errors="replace") for b in raw], _TEXT)


def distinct_values(
    node: Cell | Column, cells: np.ndarray, valid: np.ndarray
) -> tuple[list[object], pa.Array]:
    """Return the distinct values, decoded, and the index of each record's value (or null)."""
    encoded = gathering.as_binary(cells, valid).dictionary_encode()
    return [node.decode(raw) for raw in encoded.dictionary.to_pylist()], encoded.indices


def _null_values(node: Cell | Column, cells: np.ndarray, valid: np.ndarray) -> np.ndarray:
    """Return whether cells hold a value that is null once it is decoded."""
    distinct, index = distinct_values(node, cells, valid)
    is_null = pa.array([value is None for value in distinct], pa.bool_())
    return np.asarray(pc.fill_null(is_null.take(index), False))


def _nulled(array: pa.Array, absent: np.ndarray) -> pa.Array:
    if not absent.any():
        return array
    index = np.arange(len(array), dtype=np.int64)
    return array.take(pa.array(index, mask=absent))


def _as_text(array: pa.Array, schema: Schema) -> pa.Array:
    """Return values as texts of a Concat: bytes and decimals in base64, as in JSON."""
    match schema.type:
        case Type.STRING:
            return array
        case Type.FLOAT32 | Type.FLOAT64:
            show = java_float if schema.type is Type.FLOAT32 else java_double
            return pa.array([None if v is None else show(v) for v in array.to_pylist()], _TEXT)
        case Type.BYTES:
            texts = [dump_value(schema, connect_value(schema, v)) for v in array.to_pylist()]
            return pa.array(texts, _TEXT)
    return array.cast(_TEXT)
