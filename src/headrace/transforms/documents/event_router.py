"""The router of an outbox of documents: they become events of topics of their own."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from headrace.config.regex import compile_java_regex, compile_java_replacement
from headrace.connect.evaluation.columns import column_of, with_values
from headrace.connect.evaluation.values import connect_values, nulls, tombstones, values
from headrace.connect.records import Column, ColumnIdentity, Header, Node, Records, Shape, Struct
from headrace.connect.schema import Field, Schema, Type
from headrace.connect.trees import fields
from headrace.documents.bson import Kind
from headrace.documents.dialects import Dialect
from headrace.documents.extended_json import value_to_extended_json
from headrace.documents.values import elements_of
from headrace.errors import HeadraceError
from headrace.transforms.documents.cells import bson_cells, present
from headrace.transforms.documents.envelope import DocumentEnvelope
from headrace.transforms.documents.outbox_options import EventRouterOptions, other_names
from headrace.transforms.documents.rows import PerStructure, StructuredRecords, structured
from headrace.transforms.documents.struct_form import TEXT, Leaves, StructForm
from headrace.transforms.example import Example
from headrace.transforms.outbox.placements import InvalidOperation, MissingField, Place, Placement
from headrace.transforms.transform import Declaration, Ordering

_LOG = logging.getLogger(__name__)
_FORM = StructForm()
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],]|[^"{}\[\],]+', re.DOTALL)
_OPENING, _CLOSING = "{[", "}]"


@dataclass(frozen=True)
class _Row:
    """An outbox document as a struct of nodes, in a shape; `text` is the column of a payload that
    is a document and becomes a text."""

    shape: Shape
    members: dict[str, Node]
    columns: tuple[ColumnIdentity, ...]
    text: Column | None


class EventRouter:
    """See DECLARATION. Tombstones and deletes are left out, events of no document pass."""

    ordering = Ordering.NONE

    def __init__(self, options: EventRouterOptions) -> None:
        self._options = options
        texts = options.collection_fields_additional_placement
        option = "collection.fields.additional.placement"
        self._placements = tuple(Placement.parse(text, option) for text in texts)
        self._pattern: re.Pattern[str] = compile_java_regex(
            options.route_topic_regex, case_matters=True
        )
        try:
            self._topic = compile_java_replacement(options.route_topic_replacement, self._pattern)
        except ValueError as error:
            raise HeadraceError(
                "transforms.bad_replacement",
                f"route.topic.replacement = {options.route_topic_replacement!r}: {error}",
                "Name groups that route.topic.regex has.",
            ) from None
        self._rows: PerStructure[_Row] = PerStructure()
        self._shapes: PerStructure[Shape] = PerStructure()

    def expected(self, records: Records) -> Iterable[Records]:
        """See Foresight: documents say which topics and fields there are."""
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
        inserts = self._inserts(records, envelope)
        lacking = ~present(inserts, envelope.after)
        if lacking.any():
            raise _lacks(records.shape, "after", "document")
        for rows in structured(inserts, envelope.after, _FORM):
            yield from self._events(rows, envelope)

    def _inserts(self, records: Records, envelope: DocumentEnvelope) -> Records:
        """The records without updates and deletes."""
        operation = fields(envelope.struct)["op"]
        operations = np.array(values(records, operation).to_pylist(), object)
        updates = operations == "u"
        if updates.any():
            what = f"{records.shape.topic} has updates, which an outbox has not"
            match self._options.collection_op_invalid_behavior:
                case InvalidOperation.FATAL:
                    raise HeadraceError(
                        "transforms.outbox_updated",
                        what,
                        "Only insert into the outbox, or set collection.op.invalid.behavior=warn.",
                    )
                case InvalidOperation.ERROR:
                    _LOG.error("%s; they are left out", what)
                case _:
                    _LOG.warning("%s; they are left out", what)
        return records.with_rows((operations == "c") | (operations == "r"))

    def _events(self, rows: StructuredRecords, envelope: DocumentEnvelope) -> Iterator[Records]:
        shape = rows.records.shape
        row = self._rows(shape, rows.key, lambda: self._row(rows, envelope))
        records = rows.with_columns(rows.records, row.columns).with_shape(row.shape)
        if row.text is not None:
            records = with_values(records, row.text, self._texts(rows, envelope))
        route = self._field(row, self._options.route_by_field)
        if route.schema.type is not Type.STRING:
            raise _wrong_type(shape, self._options.route_by_field, "text")
        routed = np.array(connect_values(records, route), object)
        for name in dict.fromkeys(routed.tolist()):
            if name is None:
                raise _lacks(shape, self._options.route_by_field, "topic")
            yield from self._routed(records.with_rows(routed == name), row, envelope, str(name))

    def _row(self, rows: StructuredRecords, envelope: DocumentEnvelope) -> _Row:
        """The members of documents of one structure."""
        structure = rows.structure
        leaves = Leaves(_FORM)
        members = leaves.members(structure, envelope.after.schema.name or "document")
        payload = self._options.collection_field_event_payload
        text = None
        kinds = {name: inner.kind for name, inner in structure.members}
        if kinds.get(payload) is Kind.DOCUMENT and not self._options.collection_expand_json_payload:
            text = column_of(TEXT)
            members[payload] = text
        # A shape of its own: what is made of it is kept as long as it is there.
        return _Row(replace(rows.records.shape), members, tuple(leaves.columns), text)

    def _texts(self, rows: StructuredRecords, envelope: DocumentEnvelope) -> list[object]:
        """The payloads as indented texts."""
        documents = bson_cells(rows.records, envelope.after)
        payload = self._options.collection_field_event_payload
        texts: list[object] = []
        for index in range(len(rows.records)):
            held = {name: (kind, raw) for kind, name, raw in elements_of(documents.value(index)[1])}
            kind, raw = held[payload]
            texts.append(indented(value_to_extended_json(bytes([kind]) + raw, Dialect.CANONICAL)))
        return texts

    def _field(self, row: _Row, name: str, what: str = "field") -> Node:
        if name not in row.members:
            raise _lacks(row.shape, name, what)
        return row.members[name]

    def _placed(self, row: _Row, place: Place) -> Iterator[tuple[Placement, Node]]:
        for placement in self._placements:
            if placement.place is not place:
                continue
            if placement.field in row.members:
                yield placement, row.members[placement.field]
            elif self._options.collection_field_additional_missing is MissingField.ERROR:
                raise _lacks(row.shape, placement.field, "additional field")

    def _routed(
        self, records: Records, row: _Row, envelope: DocumentEnvelope, name: str
    ) -> Iterator[Records]:
        """Records of one route."""
        matched = self._pattern.fullmatch(name)
        topic = self._pattern.sub(self._topic, name, count=1) if matched is not None else name
        for _placement, node in self._placed(row, Place.PARTITION):
            if node.schema.type is not Type.INT32:
                raise _wrong_type(row.shape, _placement.field, "32-bit integer")
            numbers = values(records, node)
            if numbers.null_count:
                raise _lacks(row.shape, _placement.field, "partition")
            records = records.with_partition(np.asarray(numbers).astype(np.int32))
        payload = self._field(row, self._options.collection_field_event_payload, "payload")
        empty = nulls(records, payload)
        if self._options.route_tombstone_on_empty_payload and empty.any():
            gone = records.with_rows(empty)
            yield gone.with_shape(self._shape(row, envelope, name, topic, None, is_empty=True))
            records = records.with_rows(~empty)
            if not len(records):
                return
        for version, part in self._by_version(records, row):
            yield part.with_shape(self._shape(row, envelope, name, topic, version))

    def _by_version(self, records: Records, row: _Row) -> Iterator[tuple[int | None, Records]]:
        """The records by the versions of their schemas."""
        field = self._options.collection_field_event_schema_version
        if not field or not any(self._placed(row, Place.ENVELOPE)):
            yield None, records
            return
        node = self._field(row, field, "version")
        if node.schema.type is not Type.INT32:
            raise _wrong_type(row.shape, field, "32-bit integer")
        versions = np.array(connect_values(records, node), object)
        for version in dict.fromkeys(versions.tolist()):
            yield version, records.with_rows(versions == version)

    def _shape(
        self,
        row: _Row,
        envelope: DocumentEnvelope,
        route: str,
        topic: str,
        version: int | None,
        *,
        is_empty: bool = False,
    ) -> Shape:
        return self._shapes(
            row.shape,
            (route, topic, version, is_empty),
            lambda: self._made_shape(row, envelope, route, topic, version, is_empty=is_empty),
        )

    def _made_shape(
        self,
        row: _Row,
        envelope: DocumentEnvelope,
        route: str,
        topic: str,
        version: int | None,
        *,
        is_empty: bool,
    ) -> Shape:
        options = self._options
        value: Node = self._field(row, options.collection_field_event_payload, "payload")
        identifier = self._field(row, options.collection_field_event_id)
        headers = [Header("id", identifier)]
        headers += [Header(p.name, node) for p, node in self._placed(row, Place.HEADER)]
        placed = {p.name: node for p, node in self._placed(row, Place.ENVELOPE)}
        has_envelope = any(p.place is Place.ENVELOPE for p in self._placements)
        if has_envelope:
            members = {"payload": value, **placed}
            described = tuple(Field(name, node.schema) for name, node in members.items())
            first, _, last = (envelope.after.schema.name or "document").rpartition(".")
            name = ".".join(filter(None, (first, route, last)))
            schema = Schema(Type.STRUCT, name=name, version=version, fields=described)
            value = Struct(schema, tuple(members.values()))
        at = fields(envelope.struct).get("ts_ms")
        if options.collection_field_event_timestamp:
            field = options.collection_field_event_timestamp
            at = self._field(row, field, "timestamp")
            if at.schema.type is not Type.INT64 or at.schema.name is not None:
                raise _wrong_type(row.shape, field, "64-bit integer")
        return replace(
            row.shape,
            topic=topic,
            key=self._field(row, options.collection_field_event_key),
            value=None if is_empty else value,
            headers=(*row.shape.headers, *headers),
            null_has_schema=not is_empty,
            timestamp=at,
        )


def indented(text: str) -> str:
    """A compact text of JSON as BSON's Java library indents it, two spaces a level."""
    out: list[str] = []
    depth = 0
    tokens = _TOKENS.findall(text)
    for i, part in enumerate(tokens):
        if part in _CLOSING:
            depth -= 1
            is_empty = tokens[i - 1] in _OPENING
            out.append(part if is_empty else "\n" + "  " * depth + part)
            continue
        if part in _OPENING:
            depth += 1
        out.append(part)
        if part == "," or (part in _OPENING and tokens[i + 1] not in _CLOSING):
            out.append("\n" + "  " * depth)
    return "".join(out)


def _lacks(shape: Shape, name: str, what: str) -> HeadraceError:
    return HeadraceError(
        "transforms.outbox_lacks_field",
        f"a document of {shape.topic} has no {name!r} for its {what}",
        "Name a field that all documents of the outbox have, or give the transform a predicate.",
    )


def _wrong_type(shape: Shape, name: str, what: str) -> HeadraceError:
    return HeadraceError(
        "transforms.outbox_field_of_another_type",
        f"{name} in documents of {shape.topic} is no {what}",
        "Name another field.",
    )


DECLARATION = Declaration(
    "MongoEventRouter",
    "Makes of each document that is inserted into an outbox collection an event: topic, key, value "
    "and headers are fields of the document.",
    EventRouterOptions,
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
)
