"""Reads the rows of a DataFrame in Kafka's format into Records, grouped by topic and schemas, with
an image each."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.evaluation.columns import column_of
from headrace.connect.evaluation.layouts import Layout, cells_of, column_count
from headrace.connect.images import BINARY, NULL, image_of
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import (
    NO_PARTITION,
    Cells,
    Column,
    Header,
    Node,
    Records,
    Shape,
)
from headrace.connect.rows import ROW, RowTable, no_transactions
from headrace.connect.schema import Schema, Type
from headrace.connect.sized_cache import SizedCache
from headrace.connect.values.many_values import collected_after
from headrace.converters.reading.fields import FieldTable, field_table
from headrace.converters.reading.kernels import images_kernel as kernel
from headrace.converters.reading.kernels.json_kernel import NUMBER_BYTES
from headrace.converters.reading.part import NO_VALUE, Opened, PartForm, Reader
from headrace.errors import HeadraceError

_MAX_GROUPS = 4096
"""The most groups to remember; the least recently used ones are forgotten."""
_DECIMAL_TEXT = 48
"""Bytes of a decimal's text beyond those of its base64, at most."""
_CELL_BYTES = 16
_BOOLEANS = np.frombuffer(b"\0\1" + bytes(PADDING), np.uint8).copy()
_TIME = Schema(Type.INT64, optional=True)


@dataclass(frozen=True, eq=False)
class ReadBatch:
    """The records of a batch, and the errors of rows that could not be read, by row: the part that
    is wrong (key, value or header) and its error. `place` and the index of a record's row in its
    row table are the row's index in the batch."""

    records: list[Records]
    errors: Mapping[int, tuple[str, HeadraceError]]


@dataclass(frozen=True, eq=False)
class _Group:
    """Shape and decoding of the records with the same topic and forms."""

    shape: Shape
    forms: tuple[PartForm, ...]
    tables: tuple[FieldTable, ...]
    columns: np.ndarray

    @staticmethod
    def of(
        topic: str,
        key: PartForm | None,
        value: PartForm | None,
        headers: tuple[tuple[str, PartForm], ...],
        timestamp: Column | None,
    ) -> _Group:
        layout = Layout()
        forms: list[PartForm] = []
        tables: list[FieldTable] = []

        def node(form: PartForm) -> Node:
            forms.append(form)
            layout.fills_nulls, layout.most_cells = form.fills_nulls, form.most_cells
            first = layout.columns
            tables.append(
                field_table(form.schema, first, form.unions, fills_nulls=form.fills_nulls)
            )
            return layout.node(form.schema, is_root=True)

        shape = Shape(
            topic,
            None if key is None else node(key),
            None if value is None else node(value),
            tuple(Header(name, node(form)) for name, form in headers),
            null_has_schema=True,
            timestamp=timestamp,
        )
        columns = [table.columns for table in tables] or [np.zeros((0, 2), np.int64)]
        return _Group(shape, tuple(forms), tuple(tables), np.concatenate(columns))


@dataclass(frozen=True, eq=False)
class _Headers:
    """The headers of a batch, one after the other: the end of each record's headers, their names,
    and their values. `kinds` is int64, one per record: equal for equal names and forms."""

    ends: np.ndarray
    names: list[str]
    opened: Opened
    kinds: np.ndarray


class RecordReader:
    """Reads batches with a reader for each role. It serves one process, and keeps shapes, for which
    converters keep their programs."""

    def __init__(self, key: Reader, value: Reader, header: Reader) -> None:
        self._readers = {"key": key, "value": value, "header": header}
        self._groups: SizedCache[tuple[object, ...], _Group] = SizedCache(_MAX_GROUPS)
        self._timestamp = column_of(_TIME)

    def read(self, batch: pa.RecordBatch, topic: str) -> ReadBatch:
        """Return the records of a batch with the columns `key` and `value`, and any of `topic`,
        `partition`, `timestamp` and `headers`; `topic` is the topic of records without one.

        Raises HeadraceError if a registry does not answer.
        """
        count = batch.num_rows
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        topics, of_topic = _topics(columns.get("topic"), count, topic)
        key = self._readers["key"].open(columns.get("key"), of_topic)
        value = self._readers["value"].open(columns.get("value"), of_topic)
        headers = self._open_headers(columns.get("headers"), of_topic)
        errors: dict[int, tuple[str, HeadraceError]] = {}
        if headers is not None:
            for index, error in headers.opened.errors.items():
                row = int(np.searchsorted(headers.ends, index, side="right")) - 1
                errors.setdefault(row, ("header", error))
        for row in _beyond(columns.get("timestamp")):
            errors.setdefault(row, ("value", _NO_TIMESTAMP))
        errors |= {row: ("value", error) for row, error in value.errors.items()}
        errors |= {row: ("key", error) for row, error in key.errors.items()}
        kinds = np.zeros(count, np.int64) if headers is None else headers.kinds
        rows = np.zeros(count, ROW)
        rows["operation"], rows["ordinal"] = ord("r"), np.arange(count)
        memory: list[object] = [*key.texts.memory, *value.texts.memory]
        groups = []
        for members in _grouped(of_topic, key.numbers, value.numbers, kinds, without=list(errors)):
            first = int(members[0])
            group = self._group(
                topics[int(of_topic[first])],
                self._form("key", key, first),
                self._form("value", value, first),
                self._header_forms(headers, first),
                with_time="timestamp" in columns,
            )
            parts = [opened for opened in (key, value) if int(opened.numbers[first]) != NO_VALUE]
            spans = [part.texts.spans[members] for part in parts]
            spans += _header_spans(headers, members)
            images, sound = self._images(group, members, spans, rows, errors)
            memory += images
            groups.append((group, sound))
        if headers is not None:
            memory += headers.opened.texts.memory
        table = RowTable(rows, no_transactions(), tuple(memory))
        return ReadBatch(self._records(groups, table, columns), errors)

    def _form(self, role: str, opened: Opened, index: int) -> PartForm | None:
        number = int(opened.numbers[index])
        return None if number == NO_VALUE else self._readers[role].form(number)

    def _records(
        self,
        groups: list[tuple[_Group, np.ndarray]],
        table: RowTable,
        columns: Mapping[str, pa.Array],
    ) -> list[Records]:
        times: dict[object, Cells] = {}
        if "timestamp" in columns:
            times[self._timestamp.identity] = _times(columns["timestamp"])
        partition = None
        if "partition" in columns:
            filled = pc.fill_null(columns["partition"].cast(pa.int32()), NO_PARTITION)
            partition = np.asarray(filled)
        return [
            Records(
                group.shape,
                table,
                members,
                members,
                times,  # type: ignore[arg-type]
                None if partition is None else partition[members],
            )
            for group, members in groups
            if len(members)
        ]

    def _open_headers(self, array: pa.Array | None, topics: np.ndarray) -> _Headers | None:
        """The headers of a column; None if no record has one."""
        if array is None:
            return None
        lengths = np.asarray(pc.fill_null(pc.list_value_length(array), 0)).astype(np.int64)
        if not lengths.any():
            return None
        entries = array.flatten()
        names = entries.field("key").dictionary_encode()
        texts = [*map(str, names.dictionary.to_pylist()), ""]
        nameless = np.asarray(entries.is_null()) | np.asarray(names.is_null())
        indices = np.asarray(pc.fill_null(names.indices, 0)).astype(np.int64)
        of_name = np.where(nameless, len(texts) - 1, indices)
        opened = self._readers["header"].open(entries.field("value"), np.repeat(topics, lengths))
        if nameless.any():
            wrong = dict.fromkeys(np.flatnonzero(nameless).tolist(), _NAMELESS)
            opened = replace(opened, errors={**opened.errors, **wrong})
        ends = np.concatenate([[0], np.cumsum(lengths)])
        marks = np.ascontiguousarray(np.stack([of_name, opened.numbers], axis=1)).tobytes()
        kind_of_marks: dict[bytes, int] = {}
        kinds = [
            kind_of_marks.setdefault(marks[16 * begin : 16 * end], len(kind_of_marks))
            for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
        ]
        named = [texts[number] for number in of_name.tolist()]
        return _Headers(ends, named, opened, np.array(kinds, np.int64))

    def _header_forms(self, headers: _Headers | None, row: int) -> tuple[tuple[str, PartForm], ...]:
        if headers is None:
            return ()
        reader = self._readers["header"]
        forms = []
        for entry in range(int(headers.ends[row]), int(headers.ends[row + 1])):
            number = int(headers.opened.numbers[entry])
            form = _NOTHING if number == NO_VALUE else reader.form(number)
            forms.append((headers.names[entry], form))
        return tuple(forms)

    def _group(
        self,
        topic: str,
        key: PartForm | None,
        value: PartForm | None,
        headers: tuple[tuple[str, PartForm], ...],
        *,
        with_time: bool,
    ) -> _Group:
        mark = (topic, key, value, headers, with_time)
        timestamp = self._timestamp if with_time else None
        return self._groups.of(mark, lambda: _Group.of(topic, key, value, headers, timestamp))

    def _images(
        self,
        group: _Group,
        members: np.ndarray,
        spans: list[np.ndarray],
        rows: np.ndarray,
        errors: dict[int, tuple[str, HeadraceError]],
    ) -> tuple[list[object], np.ndarray]:
        """Create the images of the rows `members`; returns their memory, and the rows that have
        one."""
        memory, addresses, sizes = _read(group, spans, len(members))
        rows["new"][members], rows["size"][members] = addresses, sizes
        memory_of_images: list[object] = [memory]
        failed = np.flatnonzero(addresses == 0).tolist()
        wrong = []
        for index in failed:
            row = int(members[index])
            try:
                image = _slow_image(group, spans, index)
            except _PartError as error:
                errors[row] = (_role(group, error.part), error.error)
                wrong.append(index)
                continue
            bytes_of_row = np.frombuffer(image + bytes(PADDING), np.uint8)
            memory_of_images.append(bytes_of_row)
            rows["new"][row], rows["size"][row] = address_of(bytes_of_row), len(image)
        return memory_of_images, np.delete(members, wrong)


_NAMELESS = HeadraceError(
    "converters.header_without_name", "has no name", "Give each header a key that is not null."
)
_NO_TIMESTAMP = HeadraceError(
    "converters.timestamp_without_room",
    "has a timestamp outside of the range of Spark's timestamps",
    "Give milliseconds since 1970-01-01 UTC.",
)
_NOTHING = PartForm(Schema(Type.STRING, optional=True), kernel.TEXT_BYTES, bytes.decode)
"""Form of a header without a value."""


def _topics(array: pa.Array | None, count: int, topic: str) -> tuple[list[str], np.ndarray]:
    """The topics, and the number of each record's topic."""
    if array is None:
        return [topic], np.zeros(count, np.int64)
    encoded = pc.fill_null(array.cast(pa.large_string()), topic).dictionary_encode()
    return encoded.dictionary.to_pylist(), np.asarray(encoded.indices).astype(np.int64)


def _grouped(*marks: np.ndarray, without: list[int]) -> list[np.ndarray]:
    """The rows with equal marks, in order."""
    count = len(marks[0])
    left = np.ones(count, np.bool_)
    left[without] = False
    rows = np.flatnonzero(left)
    codes = np.zeros(len(rows), np.int64)
    for mark in marks:
        distinct, index = np.unique(mark[rows], return_inverse=True)
        if len(distinct) > 1:
            _, codes = np.unique(codes * len(distinct) + index, return_inverse=True)
    if not len(rows):
        return []
    order = np.argsort(codes, kind="stable")
    cuts = np.flatnonzero(np.diff(codes[order])) + 1
    return np.split(rows[order], cuts)


def _header_spans(headers: _Headers | None, members: np.ndarray) -> list[np.ndarray]:
    """The addresses and lengths of the values of the headers, one array for each header."""
    if headers is None:
        return []
    first = headers.ends[members]
    count = int(headers.ends[members[0] + 1] - first[0])
    return [headers.opened.texts.spans[first + number] for number in range(count)]


def _beyond(array: pa.Array | None) -> list[int]:
    """The rows whose timestamp in microseconds does not fit into 64 bits."""
    if array is None or not pa.types.is_integer(array.type):
        return []
    numbers = np.asarray(pc.fill_null(array.cast(pa.int64()), 0))
    most = np.iinfo(np.int64).max // 1000
    return [int(row) for row in np.flatnonzero((numbers > most) | (numbers < -most))]


def _times(array: pa.Array) -> Cells:
    """Milliseconds since 1970, as cells of the timestamp's column."""
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.timestamp("ms", array.type.tz), safe=False)
    numbers = array.cast(pa.int64())
    padding = np.zeros(PADDING // 8, np.int64)
    milliseconds = np.concatenate([np.asarray(pc.fill_null(numbers, 0)), padding])
    table = np.empty((len(array), 3), np.int64)
    table[:, 0] = np.where(np.asarray(array.is_valid()), BINARY, NULL)
    table[:, 1] = address_of(milliseconds) + 8 * np.arange(len(array))
    table[:, 2] = 8
    return Cells(table, (milliseconds,))


def _read(
    group: _Group, spans: list[np.ndarray], count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Run the kernel over the parts of `count` records: returns memory with images, their addresses
    (0: left to Python) and sizes."""
    spans = [np.ascontiguousarray(part) for part in spans]
    parts = np.array(
        [
            (form.form, table.address, address_of(span))
            for form, table, span in zip(group.forms, group.tables, spans, strict=True)
        ],
        np.int64,
    ).reshape(-1, 3)
    lengths = sum((np.maximum(part[:, 1], 0) for part in spans), np.zeros(count, np.int64))
    columns = len(group.columns)
    room = count * (2 + columns * (_CELL_BYTES + _DECIMAL_TEXT)) + int(lengths.sum())
    out = np.empty(room + PADDING, np.uint8)
    cells = np.empty((columns + 1, 3), np.int64)
    numbers = np.empty(NUMBER_BYTES * (columns + 1), np.uint8)
    spare = np.empty(int(lengths.max(initial=0)) + PADDING, np.uint8)
    addresses = np.zeros(count, np.int64)
    state = np.array(
        [
            address_of(parts), len(parts), count, address_of(group.columns), columns,
            address_of(cells), address_of(numbers), address_of(spare), address_of(_BOOLEANS),
            address_of(out), address_of(addresses),
        ],
        np.int64,
    )  # fmt: skip
    end = kernel.read_images(address_of(state))
    sizes = np.zeros(count, np.int64)
    read = np.flatnonzero(addresses)
    sizes[read] = np.diff(np.append(addresses[read], end))
    return out, addresses, sizes


@dataclass
class _PartError(Exception):
    """The error of a part, and the part's number."""

    part: int
    error: HeadraceError


def _slow_image(group: _Group, spans: list[np.ndarray], index: int) -> bytes:
    """Return the image of one record, built in Python. Raises _PartError."""
    cells: list[tuple[int, bytes]] = []
    for number, (form, span) in enumerate(zip(group.forms, spans, strict=True)):
        address, length = span[index].tolist()
        if length < 0:
            cells += [(NULL, b"")] * column_count(form.schema)
            continue
        try:
            with collected_after(length):
                cells += cells_of(form.schema, form.load(ctypes.string_at(address, length)))
        except HeadraceError as error:
            raise _PartError(number, error) from None
        except (
            TypeError,
            ValueError,
            AssertionError,
            ArithmeticError,
            RecursionError,
            struct.error,
        ):
            raise _PartError(number, _unfit()) from None
    return image_of(cells)


def _unfit() -> HeadraceError:
    return HeadraceError(
        "reading.not_understood",
        "does not fit its schema",
        "Correct the records, or name the converter that wrote them.",
    )


def _role(group: _Group, part: int) -> str:
    """The role of the part with this number."""
    roles = [
        role
        for role, node in (("key", group.shape.key), ("value", group.shape.value))
        if node is not None
    ]
    return roles[part] if part < len(roles) else "header"
