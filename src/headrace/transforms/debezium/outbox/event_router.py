"""EventRouter: routes the rows of an outbox table as events to topics of their own."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.evaluation.columns import column_of, with_values
from headrace.connect.evaluation.values import nulls, tombstones, values
from headrace.connect.records import NO_PARTITION, Column, Node, Records, Shape
from headrace.connect.schema import Schema, Type
from headrace.connect.sized_cache import SizedCache
from headrace.connect.trees import as_struct, fields, member, select
from headrace.documents.columns.structured_records import StructureKey
from headrace.transforms.debezium.envelopes import envelope_of
from headrace.transforms.debezium.outbox.json_payloads import expanded
from headrace.transforms.debezium.outbox.options import EventRouterOptions
from headrace.transforms.debezium.outbox.structs import ExpandedPayload, split_payloads
from headrace.transforms.example import Example
from headrace.transforms.outbox.placements import Place
from headrace.transforms.outbox.router import OutboxRouter, is_empty, schema_name
from headrace.transforms.routing import MAX_ROUTES
from headrace.transforms.transform import Declaration, PerShape

log = logging.getLogger(__name__)

_PER_MILLISECOND = {
    "io.debezium.time.Timestamp": 1,
    "io.debezium.time.MicroTimestamp": 1_000,
    "io.debezium.time.NanoTimestamp": 1_000_000,
}
_TIME = Schema(Type.INT64, optional=True)
_NO_STRUCT = "A payload of an outbox is not JSON that becomes a struct: it stays a text"


@dataclass(frozen=True)
class _Form:
    """The facts by which shapes of events of one table differ."""

    route: str
    version: int | None = None
    payload: Schema | ExpandedPayload | None = None
    """The schema or the struct of a JSON payload that was expanded."""
    is_tombstone: bool = False


@dataclass(frozen=True)
class _Event:
    """The shape of events, and the column of their payloads if these were JSON texts."""

    shape: Shape
    payloads: Column | None


@dataclass(frozen=True)
class _Row:
    """The columns of an outbox table, the column of its events' time, and caches of shapes and
    payloads."""

    name: str
    members: dict[str, Node]
    event_time: Node | None
    time: Column
    events: SizedCache[_Form, _Event] = field(default_factory=lambda: SizedCache(MAX_ROUTES))
    structs: SizedCache[StructureKey, ExpandedPayload] = field(
        default_factory=lambda: SizedCache(MAX_ROUTES)
    )


class EventRouter(OutboxRouter):
    """See DECLARATION. Tombstones and deletes are left out; records that are not change events pass
    unchanged."""

    def __init__(self, options: EventRouterOptions) -> None:
        super().__init__(options, "table", ("record", "column"))
        self._options = options
        self._keeps_nulls = options.table_json_payload_null_behavior == "optional_bytes"
        self._rows = PerShape(self._row)

    def expected(self, records: Records) -> Iterable[Records]:
        """See Foresight: rows determine the topics."""
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
        operation = select(records.shape.value, "op")
        assert operation is not None
        records = self.inserts(records, operation)
        if not len(records):
            return
        shape, row = records.shape, self._rows(records.shape)
        if nulls(records, select(shape.value, "after")).any():
            raise self.lacks(shape, "after", "row")
        records = self._with_partition(self._with_time(records, row), row)
        route = self.field(shape, row.members, self._options.route_by_field)
        for name, routed in self.by_route(records, shape, route):
            yield from self._routed(routed, shape, row, name)

    def _row(self, shape: Shape) -> _Row:
        after = select(envelope_of(shape), "after")
        row = as_struct(after)
        if row is None:
            raise self.another_type(shape, "after", "struct")
        members = {name: member(row, name) for name in fields(row)}
        return _Row(row.schema.name or "", members, select(shape.value, "ts_ms"), column_of(_TIME))

    def find(self, members: Mapping[str, Node], name: str) -> Node | None:
        """Return a column by its name, or by the name in upper case, which some databases use."""
        return members.get(name, members.get(name.upper()))

    def _with_time(self, records: Records, row: _Row) -> Records:
        """Return the records with a column's time as milliseconds since 1970."""
        name = self.columns.timestamp
        if not name:
            return records
        node = self.field(records.shape, row.members, name)
        unit = _PER_MILLISECOND.get(node.schema.name or "")
        if node.schema.type is not Type.INT64 or unit is None:
            raise self.another_type(
                records.shape, name, "Timestamp, MicroTimestamp or NanoTimestamp"
            )
        times = pc.divide(values(records, node), unit)
        if row.event_time is not None:
            times = pc.coalesce(times, values(records, row.event_time))
        return with_values(records, row.time, times)

    def _with_partition(self, records: Records, row: _Row) -> Records:
        partition = None
        for placement, node in self.placed(records.shape, row.members, Place.PARTITION):
            if node.schema.type is not Type.INT32:
                raise self.another_type(records.shape, placement.name, "32-bit integer")
            numbers = pc.fill_null(values(records, node), NO_PARTITION)
            partition = numbers.to_numpy(zero_copy_only=False).astype(np.int32)
        return records.with_partition(partition)

    def _routed(self, records: Records, shape: Shape, row: _Row, route: str) -> Iterator[Records]:
        """Yield the events of one route."""
        options = self._options
        payload = self.field(shape, row.members, self.columns.payload)
        if options.route_tombstone_on_empty_payload:
            empty = is_empty(records, payload)
            if empty.any():
                form = _Form(route, is_tombstone=True)
                yield records.with_rows(empty).with_shape(self._event(shape, row, form).shape)
                records = records.with_rows(~empty)
        for version, part in self.by_version(records, shape, row.members):
            form = _Form(route, version)
            if options.table_expand_json_payload and payload.schema.type is Type.STRING:
                yield from self._expanded(part, shape, row, form, payload)
            elif len(part):
                yield part.with_shape(self._event(shape, row, form).shape)

    def _expanded(
        self, records: Records, shape: Shape, row: _Row, form: _Form, payload: Node
    ) -> Iterator[Records]:
        """Yield the records grouped by the schemas of their payloads; payloads that are not JSON
        stay texts."""
        most = self._options.headrace_record_max_cells
        texts = values(records, payload)
        taken_apart, left = split_payloads(records, texts)
        places = np.flatnonzero(~left)
        for rows in taken_apart:
            expanded_payload = row.structs.of(
                rows.key,
                partial(ExpandedPayload.of, rows, keeps_nulls=self._keeps_nulls, most_cells=most),
            )
            if expanded_payload.is_left:
                left[places[rows.members]] = True
                continue
            part, form_of_part = rows.records, form
            if expanded_payload.node is None:
                log.warning(_NO_STRUCT)
            else:
                part = rows.with_columns(part, expanded_payload.columns, expanded_payload.rendered)
                form_of_part = replace(form, payload=expanded_payload)
            yield part.with_shape(self._event(shape, row, form_of_part).shape)
        if left.any():
            yield from self._expanded_in_python(
                records.with_rows(left), shape, row, form, texts.filter(pa.array(left))
            )

    def _expanded_in_python(
        self, records: Records, shape: Shape, row: _Row, form: _Form, payloads: pa.Array
    ) -> Iterator[Records]:
        """Yield the results of `_expanded` for records whose payloads no kernel can read."""
        encoded = payloads.dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        payloads_of_texts = [self._payload(text) for text in texts]
        index = np.asarray(encoded.indices.fill_null(len(texts)))
        for schema in dict.fromkeys([None, *(schema for schema, _ in payloads_of_texts)]):
            chosen = np.array(
                [
                    *(schema_of_text == schema for schema_of_text, _ in payloads_of_texts),
                    schema is None,
                ]
            )
            part = records.with_rows(chosen[index])
            if not len(part):
                continue
            event = self._event(shape, row, replace(form, payload=schema))
            if event.payloads is not None:
                payloads = [
                    payloads_of_texts[number][1] for number in index[chosen[index]].tolist()
                ]
                part = with_values(part, event.payloads, payloads)
            yield part.with_shape(event.shape)

    def _payload(self, text: str) -> tuple[Schema | None, object]:
        try:
            most = self._options.headrace_record_max_cells
            return expanded(text, keeps_nulls=self._keeps_nulls, most_cells=most)
        except (ValueError, RecursionError):
            log.warning(_NO_STRUCT)
            return None, None

    def _event(self, shape: Shape, row: _Row, form: _Form) -> _Event:
        return row.events.of(form, lambda: self._made(shape, row, form))

    def _made(self, shape: Shape, row: _Row, form: _Form) -> _Event:
        payload: Node = self.field(shape, row.members, self.columns.payload)
        column = None
        if isinstance(form.payload, Schema):
            payload = column = column_of(form.payload)
        elif form.payload is not None and form.payload.node is not None:
            payload = form.payload.node
        name = schema_name(row.name, form.route)
        event_shape = replace(
            shape,
            topic=self.topic(form.route),
            key=self.field(shape, row.members, self.columns.key),
            value=None
            if form.is_tombstone
            else self.value(shape, row.members, payload, name, form.version),
            headers=self.headers(shape, row.members),
            null_has_schema=True,
            timestamp=row.time if self.columns.timestamp else row.event_time,
        )
        return _Event(event_shape, column)


DECLARATION = Declaration(
    "EventRouter",
    "Makes an event from each row that is inserted into an outbox table: topic, key, value and "
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
    kernels=(
        "headrace.documents.kernels.value_sizes",
        "headrace.documents.kernels.column_kernel",
        "headrace.documents.kernels.field_kernel",
        "headrace.documents.parsing.kernels.document_kernel",
        "headrace.documents.kernels.scalars",
        "headrace.documents.kernels.split_kernel",
        "headrace.documents.kernels.writer",
    ),
)
