"""Records in Kafka Connect's JSON form, parsed into Records and written from them.

A record is an object with `topic`, `partition`, `timestamp`, `key`, `value` and `headers`. A key or
value is `{"schema": …, "payload": …}`, or null if it has neither; a header has a `name` as well.
Each record becomes a row with one image: a cell for every leaf of its key, value and headers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from headrace.connect.evaluation.columns import cell_of
from headrace.connect.evaluation.layouts import Layout, cells_of
from headrace.connect.evaluation.values import carries, connect_values
from headrace.connect.images import image_of
from headrace.connect.json_values import dump_value, load_schema, load_value
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import (
    NO_PARTITION,
    Header,
    Node,
    Records,
    Shape,
)
from headrace.connect.rows import ROW, RowTable, no_transactions
from headrace.connect.schema import Schema, Type
from headrace.errors import HeadraceError

JsonRecord = Mapping[str, object]
_TIMESTAMP = Schema(Type.INT64, optional=True)


def read_records(
    entries: Sequence[JsonRecord], failed: Callable[[int, HeadraceError], None] | None = None
) -> list[Records]:
    """Return the records of `entries`, grouped by topic and schemas; `place` is the index.

    Raises HeadraceError("connect.record_not_understood"), and the errors of `load_schema` and
    `load_value`. If `failed` is not None, calls it with the record's index and the error instead,
    and leaves the record out.
    """
    groups: dict[tuple[object, ...], _Group] = {}
    images: list[bytes] = []
    places: list[int] = []
    for index, entry in enumerate(entries):
        try:
            group, image, partition = _read(groups, entry)
        except HeadraceError as error:
            if failed is None:
                raise
            failed(index, error)
            continue
        group.rows.append(len(places))
        group.partitions.append(partition)
        images.append(image)
        places.append(index)
    table = _table(images, list(groups.values()))
    place = np.array(places, np.int64)
    return [group.records(table, place) for group in groups.values() if group.rows]


def _read(
    groups: dict[tuple[object, ...], _Group], entry: JsonRecord
) -> tuple[_Group, bytes, int | None]:
    """Return the group of a record, its image and its partition. The record is not in the group
    yet.

    Raises HeadraceError for any defect of the record.
    """
    try:
        partition = _integer(entry, "partition", 32)
        form = _form_of(entry)
        group = groups.get(form)
        if group is None:
            group = groups[form] = _Group.of(len(groups), entry)
        return group, group.image(entry), partition
    except HeadraceError:
        raise
    except Exception as error:  # noqa: BLE001 - a record may contain anything
        raise _wrong(_defect(error)) from None


def _defect(error: Exception) -> str:
    """Return a description of the defect of a record that cannot be read or written."""
    match error:
        case RecursionError():
            return "a record is nested too deep"
        case UnicodeEncodeError():
            return "a text of a record has half of a surrogate pair, which UTF-8 does not have"
    return f"a record is not in Kafka Connect's JSON form ({type(error).__name__})"


def _table(images: Sequence[bytes], groups: Sequence[_Group]) -> RowTable:
    memory = np.frombuffer(b"".join(images) + bytes(PADDING), np.uint8)
    lengths = np.array([len(image) for image in images], np.int64)
    rows = np.zeros(len(images), ROW)
    rows["new"] = address_of(memory) + np.cumsum(lengths) - lengths
    rows["size"] = lengths
    rows["operation"] = ord("r")
    rows["ordinal"] = np.arange(len(images))
    for group in groups:
        rows["relation"][group.rows] = group.number
    return RowTable(rows, no_transactions(), (memory,))


def _wrong(message: str) -> HeadraceError:
    return HeadraceError(
        "connect.record_not_understood",
        message,
        'Write {"topic": …, "partition": …, "timestamp": …, "key": …, "value": …, "headers": […]}; '
        'key and value are null or {"schema": …, "payload": …}, a header is '
        '{"name": …, "schema": …, "payload": …}.',
    )


def _part(entry: JsonRecord, name: str) -> Mapping[str, object] | None:
    """Return the key or value of a record."""
    part = entry.get(name)
    if part is None:
        return None
    if not isinstance(part, Mapping) or "schema" not in part or "payload" not in part:
        raise _wrong(f"a record's {name} is not an object with a schema and a payload")
    return None if part["schema"] is None and part["payload"] is None else part


def _headers(entry: JsonRecord) -> list[Mapping[str, object]]:
    headers = entry.get("headers", [])
    headers = [] if headers is None else headers
    if not isinstance(headers, list) or not all(
        isinstance(header, Mapping) and isinstance(header.get("name"), str) for header in headers
    ):
        raise _wrong("a record's headers are not a list of objects with a name")
    return headers


def _integer(entry: JsonRecord, name: str, bits: int) -> int | None:
    number = entry.get(name) if isinstance(entry, Mapping) else None
    if number is None:
        return None
    if type(number) is not int:
        raise _wrong(f"a record's {name} is not a whole number")
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise _wrong(f"a record's {name} has no room in {bits} bits")
    return number


def _form_of(entry: JsonRecord) -> tuple[object, ...]:
    """Return the properties that the records of one Records share.

    Raises UnicodeEncodeError for a name, a topic or a text of a schema that is not valid in UTF-8.
    """
    if not isinstance(entry, Mapping) or not isinstance(entry.get("topic"), str):
        raise _wrong("a record has no topic")
    parts = [_part(entry, "key"), _part(entry, "value")]
    schemas = [None if part is None else _schema_text(part["schema"]) for part in parts]
    headers = [(header["name"], _schema_text(header.get("schema"))) for header in _headers(entry)]
    for name in (entry["topic"], *(name for name, _ in headers)):
        str(name).encode()
    return (entry["topic"], *schemas, *headers)


def _schema_text(described: object) -> bytes:
    return json.dumps(described, ensure_ascii=False).encode()


@dataclass
class _Group:
    """Records with one topic and the same schemas."""

    number: int
    shape: Shape
    schemas: tuple[Schema, ...]
    rows: list[int] = field(default_factory=list)
    partitions: list[int | None] = field(default_factory=list)

    @staticmethod
    def of(number: int, entry: JsonRecord) -> _Group:
        layout = Layout()
        schemas: list[Schema] = []

        def node(described: object) -> Node:
            schemas.append(load_schema(described))
            return layout.node(schemas[-1], is_root=True)

        key, value = _part(entry, "key"), _part(entry, "value")
        shape = Shape(
            str(entry["topic"]),
            None if key is None else node(key["schema"]),
            None if value is None else node(value["schema"]),
            tuple(
                Header(str(header["name"]), node(header.get("schema")))
                for header in _headers(entry)
            ),
            null_has_schema=True,
            timestamp=layout.cell(_TIMESTAMP),
        )
        return _Group(number, shape, tuple(schemas))

    def image(self, entry: JsonRecord) -> bytes:
        parts = [part for part in (_part(entry, "key"), _part(entry, "value")) if part is not None]
        cells: list[tuple[int, bytes]] = []
        for schema, part in zip(self.schemas, [*parts, *_headers(entry)], strict=True):
            cells += cells_of(schema, load_value(schema, part.get("payload")))
        cells.append(cell_of(_TIMESTAMP, _integer(entry, "timestamp", 64)))
        return image_of(cells)

    def records(self, table: RowTable, place: np.ndarray) -> Records:
        rows = np.array(self.rows, np.int64)
        partition = None
        if any(number is not None for number in self.partitions):
            numbers = [NO_PARTITION if number is None else number for number in self.partitions]
            partition = np.array(numbers, np.int32)
        return Records(self.shape, table, rows, place[rows], partition=partition)


def write_records(
    pieces: Sequence[Records], failed: Callable[[int, HeadraceError], None] | None = None
) -> dict[int, dict[str, object]]:
    """Return the records in JSON, by their places.

    Raises the errors of the cells' decoders, and HeadraceError("connect.record_not_understood") for
    a record that JSON cannot express. If `failed` is not None, calls it with the record's place and
    the error instead, and leaves the record out.
    """
    written: dict[int, dict[str, object]] = {}
    for records in pieces:
        if failed is None:
            written |= _by_place(records)
        else:
            written |= _tolerantly(records, failed)
    return written


def _by_place(records: Records) -> dict[int, dict[str, object]]:
    try:
        return dict(zip(records.place.tolist(), _written(records), strict=True))
    except HeadraceError:
        raise
    except Exception as error:
        raise _wrong(_defect(error)) from error


def _tolerantly(
    records: Records, failed: Callable[[int, HeadraceError], None]
) -> dict[int, dict[str, object]]:
    """Write the records, dividing them in halves until each defective record is alone."""
    try:
        return _by_place(records)
    except HeadraceError as error:
        if len(records) == 1:
            failed(int(records.place[0]), error)
            return {}
    first = np.arange(len(records)) < len(records) // 2
    return _tolerantly(records.with_rows(first), failed) | _tolerantly(
        records.with_rows(~first), failed
    )


def _written(records: Records) -> list[dict[str, object]]:
    shape = records.shape
    keys = _parts(records, shape.key, null_has_schema=shape.null_has_schema)
    values = _parts(records, shape.value, null_has_schema=shape.null_has_schema)
    for index in np.flatnonzero(records.table.rows["operation"][records.rows] == 0).tolist():
        values[index] = None
    headers: list[list[dict[str, object]]] = [[] for _ in range(len(records))]
    for header in shape.headers:
        parts = _parts(records, header.node, null_has_schema=True, is_header=True)
        on = carries(records, header).tolist()
        for row, part, is_on in zip(headers, parts, on, strict=True):
            if is_on and part is not None:
                row.append({"name": header.name, **part})
    times: list[object] = [None] * len(records)
    if shape.timestamp is not None:
        times = connect_values(records, shape.timestamp)
    partitions: list[object] = [None] * len(records)
    if records.partition is not None:
        partitions = [None if p == NO_PARTITION else p for p in records.partition.tolist()]
    return [
        {
            "topic": shape.topic,
            "partition": partition,
            "timestamp": timestamp,
            "key": key,
            "value": value,
            "headers": row,
        }
        for partition, timestamp, key, value, row in zip(
            partitions, times, keys, values, headers, strict=True
        )
    ]


def _parts(
    records: Records, node: Node | None, *, null_has_schema: bool, is_header: bool = False
) -> list[dict[str, object] | None]:
    """Return the key, value or header of each record."""
    if node is None:
        return [None] * len(records)
    described = json.loads(node.schema.json)
    null_has_schema = null_has_schema and (is_header or node.schema.type is not Type.ANY)
    return [
        None
        if value is None and not null_has_schema
        else {"schema": described, "payload": dump_value(node.schema, value)}
        for value in connect_values(records, node)
    ]
