"""Conversion of columns of BSON values to a declared schema: exact, or a conflict.

This module is the only definition of the conversion of a BSON value to a declared type, for the
transforms of a stream and for DataFrames. A type holds a value exactly, or the value is a conflict,
which a policy resolves:

| type | values |
|---|---|
| BOOLEAN | booleans |
| TINYINT, SMALLINT, INT, BIGINT | whole numbers in its range, whichever type of BSON they have |
| FLOAT, DOUBLE | numbers that are the same as a float or double, and NaN |
| DECIMAL | numbers of no more digits; of a double the fewest digits that tell it from others |
| STRING | any value: texts, identifiers and decimals as they are, dates in ISO 8601, bytes in base64, numbers and booleans as in JSON; others as Extended JSON |
| VARIANT | any value, as relaxed Extended JSON |
| BINARY | binary data, whatever its subtype |
| TIMESTAMP, TIMESTAMP_NTZ | dates, and timestamps of BSON whose increment is 0 |
| DATE | the same at midnight, UTC |
| ARRAY, MAP, STRUCT | arrays and documents whose values have the inner types; a field that a document lacks is null |

Null and undefined are null.
"""  # noqa: E501 - a table

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field, replace

import numpy as np

from headrace.connect.encoding import Encoding
from headrace.connect.evaluation.columns import cell_of, form_of
from headrace.connect.images import NULL
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import Column, ColumnIdentity
from headrace.connect.schema import DECIMAL, Schema, Type
from headrace.documents.bson import ARRAY, DOCUMENT, broken
from headrace.documents.cells import decoder
from headrace.documents.target_schema.ddl import DATE, JSON, TIMESTAMPS, precision_and_scale
from headrace.documents.target_schema.exact import exact_scalar
from headrace.documents.target_schema.kernels import value_kernel
from headrace.documents.target_schema.policies import Conflicts, Label
from headrace.documents.values import elements_of

_KIND, _ADDRESS, _LENGTH = range(3)
"""Columns of cells."""
_INTEGER_BYTES = {Type.INT8: 1, Type.INT16: 2, Type.INT32: 4, Type.INT64: 8}
_TARGETS = {
    Type.BOOLEAN: value_kernel.TO_BOOLEAN,
    Type.FLOAT32: value_kernel.TO_FLOAT,
    Type.FLOAT64: value_kernel.TO_DOUBLE,
    Type.STRING: value_kernel.TO_TEXT,
    Type.BYTES: value_kernel.TO_BYTES,
    Type.ARRAY: value_kernel.TO_ARRAY,
    Type.MAP: value_kernel.TO_MAP,
    Type.STRUCT: value_kernel.TO_STRUCT,
}
_COPIES = (value_kernel.TO_VALUE, value_kernel.TO_MAP, value_kernel.TO_ARRAY)
_MAP_KEY = Schema(Type.STRING)


@dataclass(frozen=True)
class Converted:
    """A column of values of a schema: `cells` (int64 of kind, address and length) have the form of
    `node_of`; those of arrays, maps and structs only show which values are null, and hold the
    value's type byte and bytes for an array or a map.

    `members` are the fields of structs, each as long as this column; the elements of arrays; the
    keys and the values of maps. `ends` (int64, one more than there are values) are the ends of each
    value's elements. `memory` owns the bytes that cells point to, except those of the original
    values.
    """

    schema: Schema
    cells: np.ndarray
    members: tuple[Converted, ...] = ()
    ends: np.ndarray | None = None
    memory: tuple[object, ...] = field(default=(), repr=False)

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def valid(self) -> np.ndarray:
        """Whether each value is not null (bool)."""
        return np.asarray(self.cells[:, _KIND] != NULL)

    def shown_as(self, schema: Schema) -> Converted:
        """Return the same values with a schema that differs only in names."""
        if schema.type is Type.STRUCT:
            inner = [member_field.schema for member_field in schema.fields]
        else:
            inner = [part for part in (schema.keys, schema.values) if part is not None]
        members = (member.shown_as(part) for member, part in zip(self.members, inner, strict=True))
        return replace(self, schema=schema, members=tuple(members) if self.members else ())


def node_of(schema: Schema) -> Column:
    """The node of converted scalar values of a schema."""
    encoding, parameter, decode = form_of(schema)
    if schema.name == JSON:
        encoding = Encoding.EXTENDED_JSON_RELAXED
        decode = decoder(encoding)
    return Column(schema, ColumnIdentity(), encoding, parameter, decode)


def opened(cells: np.ndarray) -> np.ndarray:
    """Return the column of values (see `kernels/value_kernel.py`) for cells (int64 of kind,
    address, length) that hold a type byte and its value each."""
    cells = np.ascontiguousarray(cells, np.int64)
    out = np.empty_like(cells)
    value_kernel.open_values(address_of(cells), len(cells), address_of(out))
    return out


def field_names(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the names of the fields of documents, which are cells as in `opened`: the end of each
    document's names (int64, one more than there are documents), and a cell for each name.

    Raises HeadraceError `documents.value_not_understood` for a document that is not valid BSON.
    """
    ends, _, names = _found(opened(cells), DOCUMENT)
    return ends, names


def converted(cells: np.ndarray, schema: Schema, conflicts: Conflicts, path: str = "") -> Converted:
    """Convert the values in `cells`, a type byte and its bytes each, to a column of `schema`;
    `path` is the path of the values in conflicts.

    Raises the errors of `conflicts`, and HeadraceError `documents.value_not_understood` for a value
    that is not valid BSON.
    """
    whole = _Conversion(conflicts)
    return whole.column(opened(cells), schema, np.arange(len(cells)), lambda _row: path)


@dataclass(frozen=True)
class _Conversion:
    """A conversion of values: `rows` are the numbers of their documents, `label` returns their
    paths."""

    conflicts: Conflicts

    def column(
        self, values: np.ndarray, schema: Schema, rows: np.ndarray, label: Label
    ) -> Converted:
        scalars = self._scalars(values, schema, rows, label)
        if schema.type is Type.STRUCT:
            return self._struct(values, scalars, rows, label)
        if schema.type in (Type.ARRAY, Type.MAP):
            return self._elements(values, scalars, rows, label)
        return scalars

    def _scalars(
        self, values: np.ndarray, schema: Schema, rows: np.ndarray, label: Label
    ) -> Converted:
        """Convert the values themselves; for arrays, maps and structs see `Converted.cells`."""
        to, digits, scale = _target(schema)
        count = len(values)
        room = count * value_kernel.SPARE_PER_VALUE
        if to in _COPIES:
            lengths = values[values[:, _KIND] != value_kernel.NOTHING, _LENGTH]
            room = int(lengths.sum()) + count
        spare = np.empty(room + PADDING, np.uint8)
        out = np.empty((count, 3), np.int64)
        others = value_kernel.convert(
            address_of(values), count, to, digits, scale, address_of(out), address_of(spare)
        )
        memory: tuple[object, ...] = (spare,)
        if others:
            memory = (spare, self._resolve(values, out, schema, rows, label))
        return Converted(schema, out, memory=memory)

    def _resolve(
        self, values: np.ndarray, out: np.ndarray, schema: Schema, rows: np.ndarray, label: Label
    ) -> object:
        """Convert the values that the kernel left, and handle conflicts; returns the memory of the
        converted values."""
        texts: list[np.ndarray] = []
        for at in np.flatnonzero(
            np.isin(out[:, _KIND], (value_kernel.CONFLICT, value_kernel.LEFT))
        ).tolist():
            kind, address, length = values[at].tolist()
            raw = ctypes.string_at(address, length)
            if out[at, _KIND] == value_kernel.LEFT:
                try:
                    cell_kind, cell = cell_of(schema, exact_scalar(kind, raw, schema))
                except (ValueError, ArithmeticError, LookupError):
                    pass
                else:
                    memory = np.frombuffer(cell + bytes(PADDING), np.uint8)
                    texts.append(memory)
                    out[at] = cell_kind, address_of(memory), len(cell)
                    continue
            self.conflicts.conflict(int(rows[at]), label(at), kind, raw, schema)
            out[at] = NULL, 0, 0
        return texts

    def _struct(
        self, values: np.ndarray, presence: Converted, rows: np.ndarray, label: Label
    ) -> Converted:
        fields = presence.schema.fields
        count = len(values)
        texts = [member.name.encode() for member in fields]
        name_bytes = np.frombuffer(b"".join(texts) + bytes(PADDING), np.uint8)
        names = np.zeros((len(fields), 2), np.int64)
        names[:, 1] = [len(text) for text in texts]
        names[:, 0] = address_of(name_bytes) + np.cumsum(names[:, 1]) - names[:, 1]
        columns = np.empty((len(fields), count, 3), np.int64)
        unknown = np.empty(count, np.int64)
        answer = value_kernel.find_fields(
            address_of(values), count, address_of(names), len(fields), address_of(columns),
            address_of(unknown),
        )  # fmt: skip
        _check(answer)
        if self.conflicts.takes_unknown and unknown.any():
            self._note_unknown(values, unknown, {member.name for member in fields}, rows, label)
        members = tuple(
            self.column(column, member.schema, rows, _inner(label, member.name))
            for member, column in zip(fields, columns, strict=True)
        )
        return replace(presence, members=members)

    def _note_unknown(
        self, values: np.ndarray, unknown: np.ndarray, known: set[str], rows: np.ndarray,
        label: Label,
    ) -> None:  # fmt: skip
        for at in np.flatnonzero(unknown).tolist():
            _, address, length = values[at].tolist()
            for kind, name, raw in elements_of(ctypes.string_at(address, length)):
                if name not in known:
                    path = _inner(label, name)(at)
                    self.conflicts.unknown_field(int(rows[at]), path, kind, raw)

    def _elements(
        self, values: np.ndarray, presence: Converted, rows: np.ndarray, label: Label
    ) -> Converted:
        schema = presence.schema
        assert schema.values is not None
        container = ARRAY if schema.type is Type.ARRAY else DOCUMENT
        ends, elements, names = _found(values, container)
        owners = np.repeat(np.arange(len(values)), np.diff(ends))

        def inner(at: int) -> str:
            _, address, length = names[at].tolist()
            name = ctypes.string_at(address, length).decode(errors="replace")
            return _inner(label, name)(int(owners[at]))

        column = self.column(elements, schema.values, rows[owners], inner)
        members: tuple[Converted, ...] = (column,)
        if schema.type is Type.MAP:
            members = (Converted(schema.keys or _MAP_KEY, names), column)
        return replace(presence, members=members, ends=ends)


def _found(values: np.ndarray, container: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The elements of documents or arrays: the end of each value's elements, their column, and the
    cells of their names."""
    count = len(values)
    ends = np.empty(count + 1, np.int64)
    total = value_kernel.find_elements(address_of(values), count, container, address_of(ends), 0, 0)
    _check(total)
    elements, names = np.empty((total, 3), np.int64), np.empty((total, 3), np.int64)
    value_kernel.find_elements(
        address_of(values), count, container, address_of(ends), address_of(elements),
        address_of(names),
    )  # fmt: skip
    return ends, elements, names


def _inner(label: Label, name: str) -> Label:
    def inner(at: int) -> str:
        outer = label(at)
        return f"{outer}.{name}" if outer else name

    return inner


def _check(answer: int) -> None:
    if answer < 0:
        raise broken(answer >> 32, "a document")


def _target(schema: Schema) -> tuple[int, int, int]:
    """Return the kernel's target type, and its two parameters."""
    if schema.name == DECIMAL:
        return (value_kernel.TO_DECIMAL, *precision_and_scale(schema))
    if schema.name == JSON:
        return value_kernel.TO_VALUE, 0, 0
    if schema.name in TIMESTAMPS:
        return value_kernel.TO_MILLIS, 0, 0
    if schema.name == DATE:
        return value_kernel.TO_DAYS, 0, 0
    if schema.type in _INTEGER_BYTES:
        return value_kernel.TO_INTEGER, _INTEGER_BYTES[schema.type], 0
    return _TARGETS[schema.type], 0, 0
