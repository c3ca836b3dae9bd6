"""The router of an outbox of documents, which become events in topics of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from headrace.connect.evaluation.columns import column_of, with_values
from headrace.connect.evaluation.values import tombstones, values
from headrace.connect.records import Column, ColumnIdentity, Node, Records, Shape
from headrace.connect.schema import Type
from headrace.connect.trees import fields
from headrace.documents.bson import Kind
from headrace.documents.columns.indenting import indented
from headrace.documents.columns.members import member_values
from headrace.documents.columns.structured_records import StructuredRecords
from headrace.documents.dialects import Dialect
from headrace.documents.extended_json import column_to_extended_json
from headrace.documents.types import TEXT
from headrace.transforms.documents.cells import present
from headrace.transforms.documents.envelope import DocumentEnvelope
from headrace.transforms.documents.outbox_options import DocumentRouterOptions, other_names
from headrace.transforms.documents.rows import CachePerShape, structured
from headrace.transforms.documents.struct_form import Leaves, StructForm
from headrace.transforms.example import Example
from headrace.transforms.outbox.placements import Place
from headrace.transforms.outbox.router import OutboxRouter, is_empty, schema_name
from headrace.transforms.transform import Declaration


@dataclass(frozen=True)
class _RowForm:
    """The shape and the nodes of outbox documents with one structure. `text` is the column for
    payloads that are documents and become texts; None: no payload does."""

    shape: Shape
    members: dict[str, Node]
    columns: tuple[ColumnIdentity, ...]
    text: Column | None


class EventRouter(OutboxRouter):
    """See DECLARATION. Leaves out tombstones, deletes and updates (see `OutboxRouter.inserts`).
    Records that are not change events of documents pass unchanged."""

    def __init__(self, options: DocumentRouterOptions) -> None:
        super().__init__(options, "collection", ("document", "field"))
        self._options = options
        self._form = StructForm(most_cells=options.headrace_record_max_cells)
        self._row_forms: CachePerShape[_RowForm] = CachePerShape()
        self._shapes: CachePerShape[Shape] = CachePerShape()

    def expected(self, records: Records) -> Iterable[Records]:
        """See Foresight: documents determine the topics and fields."""
        return [records] if DocumentEnvelope.of(records.shape) is None else []

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform."""
        records = records.with_rows(~tombstones(records))
        if not len(records):
            return
        envelope = DocumentEnvelope.of(records.shape)
        if envelope is None:
            yield records
            return
        inserts = self.inserts(records, fields(envelope.struct)["op"])
        lacking = ~present(inserts, envelope.after)
        if lacking.any():
            raise self.lacks(records.shape, "after", "document")
        for structured_records in structured(inserts, envelope.after, self._form):
            yield from self._events(structured_records, envelope)

    def _events(
        self, structured_records: StructuredRecords, envelope: DocumentEnvelope
    ) -> Iterator[Records]:
        shape = structured_records.records.shape
        row_form = self._row_forms(
            shape, structured_records.key, lambda: self._make_row_form(structured_records, envelope)
        )
        records = structured_records.with_columns(structured_records.records, row_form.columns)
        records = records.with_shape(row_form.shape)
        if row_form.text is not None:
            records = with_values(records, row_form.text, self._texts(structured_records))
        route = self.field(row_form.shape, row_form.members, self._options.route_by_field)
        for name, routed in self.by_route(records, shape, route):
            yield from self._routed(routed, row_form, envelope, name)

    def _make_row_form(
        self, structured_records: StructuredRecords, envelope: DocumentEnvelope
    ) -> _RowForm:
        structure = structured_records.structure
        leaves = Leaves(self._form)
        members = leaves.members(structure, envelope.after.schema.name or "document")
        payload = self.columns.payload
        text = None
        kinds = {name: inner.kind for name, inner in structure.members}
        if kinds.get(payload) is Kind.DOCUMENT and not self._options.collection_expand_json_payload:
            text = column_of(TEXT)
            members[payload] = text
        # A copy of the shape: its caches are freed together with it.
        shape = replace(structured_records.records.shape)
        return _RowForm(shape, members, tuple(leaves.columns), text)

    def _texts(self, structured_records: StructuredRecords) -> pa.LargeStringArray:
        """Return the payloads, which are documents, as indented texts."""
        values_, structure = structured_records.values, structured_records.structure
        (payloads,) = member_values(values_, structure, (self.columns.payload,))
        return indented(column_to_extended_json(payloads, Dialect.CANONICAL))

    def _routed(
        self, records: Records, row_form: _RowForm, envelope: DocumentEnvelope, name: str
    ) -> Iterator[Records]:
        """Yield the records of one route."""
        for placement, node in self.placed(row_form.shape, row_form.members, Place.PARTITION):
            if node.schema.type is not Type.INT32:
                raise self.another_type(row_form.shape, placement.field, "32-bit integer")
            numbers = values(records, node)
            if numbers.null_count:
                raise self.lacks(row_form.shape, placement.field, "partition")
            records = records.with_partition(np.asarray(numbers).astype(np.int32))
        payload = self.field(row_form.shape, row_form.members, self.columns.payload, "payload")
        empty = is_empty(records, payload)
        if self._options.route_tombstone_on_empty_payload and empty.any():
            gone = records.with_rows(empty)
            yield gone.with_shape(self._cached_shape(row_form, envelope, name, None, is_empty=True))
            records = records.with_rows(~empty)
            if not len(records):
                return
        for version, part in self.by_version(records, row_form.shape, row_form.members):
            yield part.with_shape(self._cached_shape(row_form, envelope, name, version))

    def _cached_shape(
        self,
        row_form: _RowForm,
        envelope: DocumentEnvelope,
        route: str,
        version: int | None,
        *,
        is_empty: bool = False,
    ) -> Shape:
        return self._shapes(
            row_form.shape,
            (route, version, is_empty),
            lambda: self._make_shape(row_form, envelope, route, version, is_empty=is_empty),
        )

    def _make_shape(
        self,
        row_form: _RowForm,
        envelope: DocumentEnvelope,
        route: str,
        version: int | None,
        *,
        is_empty: bool,
    ) -> Shape:
        shape, members = row_form.shape, row_form.members
        payload = self.field(shape, members, self.columns.payload, "payload")
        name = schema_name(envelope.after.schema.name or "document", route)
        timestamp = fields(envelope.struct).get("ts_ms")
        if self.columns.timestamp:
            timestamp = self.field(shape, members, self.columns.timestamp, "timestamp")
            if timestamp.schema.type is not Type.INT64 or timestamp.schema.name is not None:
                raise self.another_type(shape, self.columns.timestamp, "64-bit integer")
        return replace(
            shape,
            topic=self.topic(route),
            key=self.field(shape, members, self.columns.key),
            value=None if is_empty else self.value(shape, members, payload, name, version),
            headers=self.headers(shape, members),
            null_has_schema=not is_empty,
            timestamp=timestamp,
        )


DECLARATION = Declaration(
    "MongoEventRouter",
    "Makes an event from each document that is inserted into an outbox collection, or read from it "
    "by a snapshot: topic, key, value and headers are fields of the document.",
    DocumentRouterOptions,
    EventRouter,
    other_names,
    Example(
        {
            "after": '{"_id": 1, "aggregatetype": "order", "aggregateid": "7", '
            '"type": "created", "payload": {"total": 19.99}}',
            "op": "c",
            "ts_ms": 1700000000000,
        },
        {"collection.expand.json.payload": "true"},
        key={"id": "1"},
        topic="shop.inventory.outbox",
        names={"key": "shop.inventory.outbox.Key", "value": "shop.inventory.outbox.Envelope"},
    ),
    kernels=(
        "headrace.documents.kernels.value_sizes",
        "headrace.documents.kernels.indent_kernel",
        "headrace.documents.kernels.column_kernel",
        "headrace.documents.kernels.field_kernel",
        "headrace.documents.kernels.scalars",
        "headrace.documents.kernels.split_kernel",
        "headrace.documents.kernels.writer",
    ),
)
