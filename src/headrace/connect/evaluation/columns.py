"""Columns made of values: their nodes, and the cells of these nodes."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.encoding import Encoding
from headrace.connect.evaluation.arrow import arrow_type, connect_value
from headrace.connect.images import BINARY, NO_CELL, NULL, TEXT
from headrace.connect.json_values import (
    MAX_CELLS,
    Allowance,
    dump_value,
    json_text,
    load_value,
)
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import Cells, Column, ColumnIdentity, Records
from headrace.connect.schema import DECIMAL, Schema, Type, decimal_scale
from headrace.connect.values.many_values import collected_after
from headrace.errors import HeadraceError

_INT8, _INT16 = struct.Struct("<b"), struct.Struct("<h")
_FORMS: dict[Type, tuple[Encoding, struct.Struct, pa.DataType]] = {
    Type.INT8: (Encoding.INT16_LE, _INT16, pa.int8()),
    Type.INT16: (Encoding.INT16_LE, _INT16, pa.int16()),
    Type.INT32: (Encoding.INT32_LE, struct.Struct("<i"), pa.int32()),
    Type.INT64: (Encoding.INT64_LE, struct.Struct("<q"), pa.int64()),
    Type.FLOAT32: (Encoding.FLOAT32_LE, struct.Struct("<f"), pa.float32()),
    Type.FLOAT64: (Encoding.FLOAT64_LE, struct.Struct("<d"), pa.float64()),
    Type.BOOLEAN: (Encoding.BINARY_BOOLEAN, struct.Struct("<?"), pa.uint8()),
}


def form_of(
    schema: Schema, most_cells: int = MAX_CELLS
) -> tuple[Encoding, int, Callable[[bytes], object]]:
    """Return the encoding, its parameter and the decoder of cells that hold values of `schema`:
    binary numbers, texts and bytes; decimals as text; nested values, and values without a schema,
    as JSON. `most_cells`: the largest number of cells in one cell's value."""
    match schema.type:
        case Type.STRING:
            return Encoding.STRING, 0, _text
        case Type.BYTES if schema.name == DECIMAL:
            scale = decimal_scale(schema)
            return Encoding.DECIMAL if scale >= 0 else Encoding.PYTHON, scale, _decimal
        case Type.BYTES:
            return Encoding.BYTES, 0, bytes
        case Type.ANY:
            return Encoding.JSON, 0, partial(_parsed, schema, most_cells)
        case Type.ARRAY | Type.MAP | Type.STRUCT:
            return Encoding.PYTHON, 0, partial(_parsed, schema, most_cells)
    encoding, form, _ = _FORMS[schema.type]
    return encoding, 0, lambda raw: form.unpack(raw)[0]


def cell_of(schema: Schema, value: object) -> tuple[int, bytes]:
    """Return the kind and the bytes of one Connect value in the form of `schema`."""
    if value is None:
        return NULL, b""
    match schema.type:
        case Type.STRING:
            return TEXT, str(value).encode()
        case Type.BYTES if schema.name == DECIMAL:
            assert isinstance(value, Decimal)
            return TEXT, format(value, "f").encode()
        case Type.BYTES:
            return BINARY, bytes(value)  # type: ignore[call-overload]
        case Type.ANY:
            return TEXT, json_text(value).encode()
        case Type.ARRAY | Type.MAP | Type.STRUCT:
            return TEXT, json.dumps(dump_value(schema, value), ensure_ascii=False).encode()
    if schema.type is Type.INT8:
        _INT8.pack(value)  # raises struct.error beyond the bounds of int8
    return BINARY, _FORMS[schema.type][1].pack(value)


def column_of(schema: Schema) -> Column:
    """Return a node for values of `schema` that a transform makes; call it once for a shape."""
    encoding, parameter, decode = form_of(schema)
    return Column(schema, ColumnIdentity(), encoding, parameter, decode)


def with_values(records: Records, column: Column, values: pa.Array | Sequence[object]) -> Records:
    """Return the records with values for `column`, one per record: an Arrow array of its type or of
    one that Arrow casts to it without loss, or Connect values.

    Raises HeadraceError("connect.values_of_another_type").
    """
    try:
        cells = _arrow_cells(column.schema, values) if isinstance(values, pa.Array) else None
        if cells is None:
            objects = values
            if isinstance(values, pa.Array):
                objects = [connect_value(column.schema, value) for value in values.to_pylist()]
            cells = _object_cells(column.schema, objects)
    except (pa.ArrowException, struct.error, TypeError, ValueError, AssertionError) as error:
        kind = values.type if isinstance(values, pa.Array) else "values"
        raise HeadraceError(
            "connect.values_of_another_type",
            f"{kind} cannot be a column of {column.schema.name or column.schema.type.value}: "
            f"{type(error).__name__}",
            "This is a defect of a transform; cast the values to the type of its column.",
        ) from None
    table = np.full((len(records.table), 3), NO_CELL, np.int64)
    table[records.rows] = cells.table
    return records.with_column(column.identity, Cells(table, cells.memory))


def with_distinct(
    records: Records, column: Column, distinct: Sequence[object], index: np.ndarray
) -> Records:
    """Return the records with values for `column`: for each record the Connect value in `distinct`
    at its `index` (integers, one per record)."""
    cells = _object_cells(column.schema, distinct)
    table = np.full((len(records.table), 3), NO_CELL, np.int64)
    table[records.rows] = cells.table[index]
    return records.with_column(column.identity, Cells(table, cells.memory))


def _arrow_cells(schema: Schema, array: pa.Array) -> Cells | None:
    """Return the cells of an array, one row each; None if they must be made one by one."""
    if schema.type in _FORMS:
        encoding, form, kind = _FORMS[schema.type]
        if encoding is Encoding.BINARY_BOOLEAN:
            array = pc.cast(array, pa.bool_())
        array = pc.cast(array, kind)
        return _fixed_cells(array.cast(pa.int16()) if kind == pa.int8() else array, form.size)
    if schema.type is Type.STRING:
        return bytes_cells(pc.cast(array, pa.large_string()), TEXT)
    if schema.name == DECIMAL and pa.types.is_decimal(array.type):
        return bytes_cells(pc.cast(pc.cast(array, arrow_type(schema)), pa.large_string()), TEXT)
    if schema.type is Type.BYTES and schema.name != DECIMAL:
        return bytes_cells(pc.cast(array, pa.large_binary()), BINARY)
    return None


def _fixed_cells(array: pa.Array, size: int) -> Cells:
    count = len(array)
    data = np.zeros(count * size + PADDING, np.uint8)
    buffer = array.buffers()[1]
    if buffer is not None:
        begin = array.offset * size
        data[: count * size] = np.frombuffer(buffer, np.uint8)[begin : begin + count * size]
    starts = np.arange(count, dtype=np.int64) * size
    return _cells(array, data, starts, np.full(count, size, np.int64), BINARY)


def bytes_cells(array: pa.Array, kind: int) -> Cells:
    """Return the cells of an array of large texts or bytes, of this kind except for nulls."""
    _, offsets, buffer = array.buffers()
    count = len(array)
    if count == 0 or offsets is None:
        return Cells(np.zeros((count, 3), np.int64))
    ends = np.frombuffer(offsets, np.int64)[array.offset : array.offset + count + 1]
    begin, end = int(ends[0]), int(ends[-1])
    data = np.zeros(end - begin + PADDING, np.uint8)
    if buffer is not None:
        data[: end - begin] = np.frombuffer(buffer, np.uint8)[begin:end]
    return _cells(array, data, ends[:-1] - begin, np.diff(ends), kind)


def _object_cells(schema: Schema, objects: Sequence[object]) -> Cells:
    kinds_and_bytes = [cell_of(schema, value) for value in objects]
    lengths = np.array([len(raw) for _, raw in kinds_and_bytes], np.int64)
    data = np.frombuffer(b"".join(raw for _, raw in kinds_and_bytes) + bytes(PADDING), np.uint8)
    table = np.zeros((len(kinds_and_bytes), 3), np.int64)
    table[:, 0] = [kind for kind, _ in kinds_and_bytes]
    table[:, 1] = address_of(data) + np.cumsum(lengths) - lengths
    table[:, 2] = lengths
    return Cells(table, (data,))


def _cells(
    array: pa.Array, data: np.ndarray, starts: np.ndarray, lengths: np.ndarray, kind: int
) -> Cells:
    table = np.empty((len(array), 3), np.int64)
    table[:, 0] = np.where(np.asarray(array.is_valid()), kind, NULL)
    table[:, 1] = starts + address_of(data)
    table[:, 2] = lengths
    return Cells(table, (data,))


def _parsed(schema: Schema, most_cells: int, raw: bytes) -> object:
    """Return the value of a text of JSON.

    Raises HeadraceError("connect.value_not_understood") and ("connect.too_many_cells").
    """
    try:
        parse_float = float if schema.type is Type.ANY else Decimal
        with collected_after(len(raw)):
            payload = json.loads(raw, parse_float=parse_float)
            return load_value(schema, payload, Allowance(most_cells, len(raw)))
    except (ValueError, ArithmeticError, RecursionError):
        raise HeadraceError(
            "connect.value_not_understood",
            "a value is not JSON",
            "Write values as Kafka Connect's JsonConverter does.",
        ) from None


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


def _decimal(raw: bytes) -> Decimal:
    return Decimal(raw.decode())
