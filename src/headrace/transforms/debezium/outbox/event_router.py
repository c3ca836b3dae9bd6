"""EventRouter: the rows of an outbox table as events of topics of their own."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.config.regex import compile_java_regex, compile_java_replacement
from headrace.connect.evaluation.columns import column_of, with_values
from headrace.connect.evaluation.values import nulls, tombstones, values
from headrace.connect.records import NO_PARTITION, Column, Header, Node, Records, Shape, struct_of
from headrace.connect.schema import Schema, Type
from headrace.connect.trees import as_struct, fields, member, select
from headrace.errors import HeadraceError
from headrace.transforms.debezium.envelopes import envelope_of
from headrace.transforms.debezium.outbox.json_payloads import expanded
from headrace.transforms.debezium.outbox.options import EventRouterOptions
from headrace.transforms.example import Example
from headrace.transforms.outbox.placements import InvalidOperation, MissingField, Place, Placement
from headrace.transforms.routing import MOST_ROUTES
from headrace.transforms.transform import Declaration, Ordering, PerShape

log = logging.getLogger(__name__)

_PLACEMENT = "table.fields.additional.placement"
_PER_MILLISECOND = {
    "io.debezium.time.Timestamp": 1,
    "io.debezium.time.MicroTimestamp": 1_000,
    "io.debezium.time.NanoTimestamp": 1_000_000,
}
_TIME = Schema(Type.INT64, optional=True)


@dataclass(frozen=True)
class _Form:
    """What the shapes of events of one table differ in."""

    route: str
    version: int | None = None
    payload: Schema | None = None
    """Of a payload that was a text of JSON."""
    is_tombstone: bool = False


@dataclass(frozen=True)
class _Row:
    """The columns of an outbox table, the column of its events' time, and what was made of it."""

    name: str
    members: dict[str, Node]
    event_time: Node | None
    time: Column
    shapes: dict[_Form, Shape] = field(default_factory=dict)
    payloads: dict[Schema, Column] = field(default_factory=dict)


class EventRouter:
    """See DECLARATION. Tombstones and deletes are left out; records that are no change events pass
    as they are."""

    ordering = Ordering.NONE

    def __init__(self, options: EventRouterOptions) -> None:
        self._options = options
        self._placements = tuple(
            Placement.parse(text, _PLACEMENT) for text in options.table_fields_additional_placement
        )
        self._has_envelope = any(each.place is Place.ENVELOPE for each in self._placements)
        self._keeps_nulls = options.table_json_payload_null_behavior == "optional_bytes"
        self._pattern = compile_java_regex(options.route_topic_regex, case_matters=True)
        try:
            self._topic = compile_java_replacement(options.route_topic_replacement, self._pattern)
        except ValueError as error:
            raise HeadraceError(
                "transforms.bad_replacement",
                f"route.topic.replacement = {options.route_topic_replacement!r}: {error}",
                "Name groups that route.topic.regex has.",
            ) from None
        self._rows = PerShape(self._row)

    def expected(self, records: Records) -> Iterable[Records]:
        """See Foresight: rows say which topics there are."""
        return [records] if envelope_of(records.shape) is None else []

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform. Raises HeadraceError("transforms.outbox_lacks_field"),
        ("transforms.outbox_field_of_another_type") and ("transforms.outbox_updated")."""
        records = records.with_rows(~tombstones(records))
        if not len(records):
            return
        if envelope_of(records.shape) is None:
            yield records
            return
        records = self._inserts(records)
        if not len(records):
            return
        shape, row = records.shape, self._rows(records.shape)
        if nulls(records, select(shape.value, "after")).any():
            raise _lacks(shape, "after", "row")
        records = self._with_partition(self._with_time(records, row), row)
        route = self._column(shape, row, self._options.route_by_field)
        if route.schema.type is not Type.STRING:
            raise _another_type(shape, self._options.route_by_field, "text")
        for name, routed in _by_value(records, values(records, route)):
            if name is None:
                raise _lacks(shape, self._options.route_by_field, "topic")
            yield from self._routed(routed, shape, row, str(name))

    def _inserts(self, records: Records) -> Records:
        """The records without updates and deletes."""
        operation = select(records.shape.value, "op")
        assert operation is not None
        operations = values(records, operation)
        is_update = np.asarray(pc.fill_null(pc.equal(operations, "u"), fill_value=False))
        is_delete = np.asarray(pc.fill_null(pc.equal(operations, "d"), fill_value=False))
        if is_update.any():
            what = f"{records.shape.topic} has updates, which an outbox has not"
            match self._options.table_op_invalid_behavior:
                case InvalidOperation.FATAL:
                    raise HeadraceError(
                        "transforms.outbox_updated",
                        what,
                        "Only insert into the outbox, or set table.op.invalid.behavior=warn.",
                    )
                case InvalidOperation.ERROR:
                    log.error("%s; they are left out", what)
                case _:
                    log.warning("%s; they are left out", what)
        return records.with_rows(~is_update & ~is_delete)

    def _row(self, shape: Shape) -> _Row:
        after = select(envelope_of(shape), "after")
        row = as_struct(after)
        if row is None:
            raise _another_type(shape, "after", "struct")
        members = {name: member(row, name) for name in fields(row)}
        return _Row(row.schema.name or "", members, select(shape.value, "ts_ms"), column_of(_TIME))

    def _find(self, row: _Row, name: str) -> Node | None:
        """A column by its name, or by that in upper case, as some databases have them."""
        return row.members.get(name, row.members.get(name.upper()))

    def _column(self, shape: Shape, row: _Row, name: str) -> Node:
        node = self._find(row, name)
        if node is None:
            raise _lacks(shape, name, "field")
        return node

    def _placed(self, shape: Shape, row: _Row, place: Place) -> Iterator[tuple[str, Node]]:
        """The additional fields of a place, by their names there."""
        for placement in self._placements:
            if placement.place is not place:
                continue
            node = self._find(row, placement.field)
            if node is not None:
                yield placement.name, node
            elif self._options.table_field_additional_missing is MissingField.ERROR:
                raise _lacks(shape, placement.field, "additional field")

    def _with_time(self, records: Records, row: _Row) -> Records:
        """The records with milliseconds since 1970 of a column that has a time."""
        name = self._options.table_field_event_timestamp
        if not name:
            return records
        node = self._column(records.shape, row, name)
        unit = _PER_MILLISECOND.get(node.schema.name or "")
        if node.schema.type is not Type.INT64 or unit is None:
            raise _another_type(records.shape, name, "Timestamp, MicroTimestamp or NanoTimestamp")
        times = pc.divide(values(records, node), unit)
        if row.event_time is not None:
            times = pc.coalesce(times, values(records, row.event_time))
        return with_values(records, row.time, times)

    def _with_partition(self, records: Records, row: _Row) -> Records:
        partition = None
        for name, node in self._placed(records.shape, row, Place.PARTITION):
            if node.schema.type is not Type.INT32:
                raise _another_type(records.shape, name, "32-bit integer")
            numbers = pc.fill_null(values(records, node), NO_PARTITION)
            partition = numbers.to_numpy(zero_copy_only=False).astype(np.int32)
        return records.with_partition(partition)

    def _routed(self, records: Records, shape: Shape, row: _Row, route: str) -> Iterator[Records]:
        """The events of one route."""
        options = self._options
        payload = self._column(shape, row, options.table_field_event_payload)
        if options.route_tombstone_on_empty_payload:
            empty = _is_empty(records, payload)
            if empty.any():
                form = _Form(route, is_tombstone=True)
                yield records.with_rows(empty).with_shape(self._shape(shape, row, form))
                records = records.with_rows(~empty)
        for version, part in self._by_version(records, shape, row):
            form = _Form(route, version)
            if options.table_expand_json_payload and payload.schema.type is Type.STRING:
                yield from self._expanded(part, shape, row, form, payload)
            elif len(part):
                yield part.with_shape(self._shape(shape, row, form))

    def _by_version(
        self, records: Records, shape: Shape, row: _Row
    ) -> Iterator[tuple[int | None, Records]]:
        """The records by the versions of their schemas."""
        name = self._options.table_field_event_schema_version
        if not name or not self._has_envelope:
            yield None, records
            return
        node = self._column(shape, row, name)
        if node.schema.type is not Type.INT32:
            raise _another_type(shape, name, "32-bit integer")
        for version, part in _by_value(records, values(records, node)):
            yield None if version is None else int(str(version)), part

    def _expanded(
        self, records: Records, shape: Shape, row: _Row, form: _Form, payload: Node
    ) -> Iterator[Records]:
        """The records by the schemas of their payloads; what is no JSON stays a text."""
        encoded = values(records, payload).dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        made = [self._payload(text) for text in texts]
        index = np.asarray(encoded.indices.fill_null(len(texts)))
        for schema in dict.fromkeys([None, *(schema for schema, _ in made)]):
            chosen = np.array([*(each == schema for each, _ in made), schema is None])
            part = records.with_rows(chosen[index])
            if not len(part):
                continue
            if schema is not None:
                column = row.payloads.get(schema)
                if column is None:
                    column = row.payloads[schema] = column_of(schema)
                    _bound(row.payloads)
                payloads = [made[number][1] for number in index[chosen[index]].tolist()]
                part = with_values(part, column, payloads)
            yield part.with_shape(self._shape(shape, row, replace(form, payload=schema)))

    def _payload(self, text: str) -> tuple[Schema | None, object]:
        try:
            return expanded(text, keeps_nulls=self._keeps_nulls)
        except (ValueError, RecursionError):
            log.warning("A payload of an outbox is no JSON that becomes a struct: it stays a text")
            return None, None

    def _shape(self, shape: Shape, row: _Row, form: _Form) -> Shape:
        if form not in row.shapes:
            row.shapes[form] = self._made(shape, row, form)
            _bound(row.shapes)
        return row.shapes[form]

    def _made(self, shape: Shape, row: _Row, form: _Form) -> Shape:
        options = self._options
        matched = self._pattern.fullmatch(form.route)
        topic = form.route if matched is None else self._topic(matched)
        value: Node = self._column(shape, row, options.table_field_event_payload)
        if form.payload is not None:
            value = row.payloads[form.payload]
        headers = [Header("id", self._column(shape, row, options.table_field_event_id))]
        headers += [Header(*placed) for placed in self._placed(shape, row, Place.HEADER)]
        if self._has_envelope:
            members = {"payload": value, **dict(self._placed(shape, row, Place.ENVELOPE))}
            first, _, last = row.name.rpartition(".")
            name = ".".join(filter(None, (first, form.route, last)))
            value = struct_of(name, members, version=form.version)
        return replace(
            shape,
            topic=topic,
            key=self._column(shape, row, options.table_field_event_key),
            value=None if form.is_tombstone else value,
            headers=(*shape.headers, *headers),
            null_has_schema=True,
            timestamp=row.time if options.table_field_event_timestamp else row.event_time,
        )


def _by_value(records: Records, array: pa.Array) -> Iterator[tuple[object, Records]]:
    """The records by their values, null among them."""
    encoded = array.dictionary_encode()
    held = encoded.dictionary.to_pylist()
    index = np.asarray(encoded.indices.fill_null(len(held)))
    for number, value in enumerate([*held, None]):
        mask = index == number
        if mask.any():
            yield value, records.with_rows(mask)


def _is_empty(records: Records, payload: Node) -> np.ndarray:
    """Where a payload is null or a blank text."""
    empty = nulls(records, payload)
    if payload.schema.type is not Type.STRING:
        return empty
    blank = pc.equal(pc.utf8_trim_whitespace(values(records, payload)), "")
    return np.asarray(empty | np.asarray(pc.fill_null(blank, fill_value=False)))


def _bound(kept: dict[object, object] | dict[_Form, Shape] | dict[Schema, Column]) -> None:
    if len(kept) > MOST_ROUTES:
        del kept[next(iter(kept))]  # type: ignore[arg-type]


def _lacks(shape: Shape, name: str, what: str) -> HeadraceError:
    return HeadraceError(
        "transforms.outbox_lacks_field",
        f"a record of {shape.topic} has no {name!r} for its {what}",
        "Name a column that the outbox has, or give the transform a predicate.",
    )


def _another_type(shape: Shape, name: str, what: str) -> HeadraceError:
    return HeadraceError(
        "transforms.outbox_field_of_another_type",
        f"{name} in records of {shape.topic} is no {what}",
        "Name another column.",
    )


DECLARATION = Declaration(
    "EventRouter",
    "Makes of each row that is inserted into an outbox table an event: topic, key, value and "
    "headers are columns of the row.",
    EventRouterOptions,
    EventRouter,
    example=Example(
        {
            "before": None,
            "after": {
                "id": "e-1",
                "aggregatetype": "order",
                "aggregateid": "7",
                "type": "created",
                "payload": '{"total": 19.99}',
            },
            "op": "c",
            "ts_ms": 1700000000000,
        },
        {"table.expand.json.payload": "true"},
        key={"id": "e-1"},
        topic="shop.public.outbox",
        names={
            "key": "shop.public.outbox.Key",
            "value": "shop.public.outbox.Envelope",
            "value.after": "shop.public.outbox.Value",
        },
    ),
)
