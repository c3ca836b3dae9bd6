"""ExtractNewRecordState: replaces the envelope by the row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from headrace.config.kinds import BOOLEAN, TEXT
from headrace.config.properties.compatibility import CompatibilityConfig
from headrace.config.property import Group, Property
from headrace.connect.evaluation import gathering
from headrace.connect.evaluation.columns import column_of
from headrace.connect.evaluation.json_objects import in_table, members
from headrace.connect.evaluation.values import connect_values, encoded_texts, nulls, tombstones
from headrace.connect.records import Column, Constant, Node, Records, Shape, Struct
from headrace.connect.schema import SCHEMALESS, Schema, Type
from headrace.connect.trees import as_struct, fields, with_defaults, with_fields
from headrace.errors import HeadraceError
from headrace.transforms.debezium.envelopes import envelope_of
from headrace.transforms.example import Example
from headrace.transforms.routing import Routes
from headrace.transforms.schemaless_events import (
    SchemalessEvents,
    constant_cells,
    rows_with_fields,
    texts_in,
)
from headrace.transforms.transform import Declaration, Ordering, PerShape
from headrace.transforms.unwrapping.added_fields import (
    AddedField,
    AddedHeaders,
    added_fields,
    with_added_fields,
    with_headers,
)
from headrace.transforms.unwrapping.deletes import DeleteMode, former_options
from headrace.transforms.unwrapping.options import UnwrappingOptions

_DELETED = "__deleted"
_OPTIONAL_TEXT = Schema(Type.STRING, optional=True)


class ExtractNewRecordStateOptions(UnwrappingOptions, CompatibilityConfig):
    """Options of ExtractNewRecordState."""

    route_by_field = Property(
        "route.by.field",
        TEXT,
        "",
        Group.CONVERTERS,
        "A column with the topic of each record; if it is null or blank, the topic does not "
        "change.",
    )
    drop_fields_header_name = Property(
        "drop.fields.header.name",
        TEXT,
        "",
        Group.CONVERTERS,
        "A header with the names of the fields that its record leaves out.",
    )
    drop_fields_from_key = Property(
        "drop.fields.from.key",
        BOOLEAN,
        "false",
        Group.CONVERTERS,
        "Whether the key leaves them out as well.",
    )
    drop_fields_keep_schema_compatible = Property(
        "drop.fields.keep.schema.compatible",
        BOOLEAN,
        "true",
        Group.CONVERTERS,
        "Whether only optional fields are left out.",
    )
    replace_null_with_default = Property(
        "replace.null.with.default",
        BOOLEAN,
        "true",
        Group.CONVERTERS,
        "Whether null becomes the column's default when deletes are rewritten.",
    )


class ExtractNewRecordState:
    """See DECLARATION. Records whose value is not an envelope pass unchanged."""

    def __init__(self, options: ExtractNewRecordStateOptions) -> None:
        self._options = options
        self._mode = options.delete_tombstone_handling_mode
        self._fields = added_fields(options)
        self._headers = AddedHeaders(options)
        self._upserts = PerShape(self._upsert)
        self._deletes = PerShape(self._delete)
        self._tombstones = PerShape(self._tombstone)
        self._routes = Routes()
        self._is_debezium_compatible = options.headrace_compatibility == "debezium-3.6"
        self._schemaless_shapes = PerShape(
            lambda shape: self._schemaless_shape(shape, column_of(SCHEMALESS))
        )
        self._without_value = PerShape(lambda shape: self._schemaless_shape(shape, None))
        self._header_columns = tuple(column_of(SCHEMALESS) for _ in self._headers)
        self._dropped: PerShape[dict[tuple[str, ...], Shape]] = PerShape(lambda _shape: {})

    @property
    def ordering(self) -> Ordering:
        """Records stay with their keys, unless a column determines their topic."""
        options = self._options
        moves = options.route_by_field or (
            options.drop_fields_header_name and options.drop_fields_from_key
        )
        return Ordering.NONE if moves else Ordering.KEEPS_KEY

    @property
    def asked_fields(self) -> Iterator[tuple[str, AddedField]]:
        """The fields of the envelope that are added to the record, each with its option."""
        yield from (("add.fields", entry) for entry in self._fields)
        yield from (("add.headers", entry) for entry in self._headers)

    def share_headers(self) -> None:
        """See SharesHeaders."""
        self._headers.share()

    def expected(self, records: Records) -> Iterable[Records]:
        """See Foresight: a column may determine the topics."""
        is_event = envelope_of(records.shape) is not None
        return [] if is_event and self._options.route_by_field else self.apply(records)

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform. Raises HeadraceError("transforms.row_is_no_struct") for other images, and
        ("transforms.no_envelope") for a value that is named like an envelope but has no images."""
        absent = tombstones(records)
        if absent.any():
            if self._mode is DeleteMode.REWRITE_WITH_TOMBSTONE:
                without_value = records.with_rows(absent)
                yield without_value.with_shape(self._tombstones(without_value.shape))
            records = records.with_rows(~absent)
            if not len(records):
                return
        value = records.shape.value
        if value is not None and value.schema.type is Type.ANY and not self._is_debezium_compatible:
            yield from self._schemaless(records, value)
            return
        envelope = envelope_of(records.shape)
        if envelope is None:
            yield records
            return
        has_after = ~nulls(records, _part(envelope, "after"))
        if has_after.any():
            yield from self._rows(records.with_rows(has_after), "after", self._upserts)
        if has_after.all():
            return
        # A record without any row is a truncation.
        deleted = ~has_after & ~nulls(records, _part(envelope, "before"))
        if self._mode is DeleteMode.DROP:
            return
        if deleted.any():
            yield from self._rows(records.with_rows(deleted), "before", self._deletes)

    def _schemaless(self, records: Records, value: Node) -> Iterator[Records]:
        """Yield the results for events without schemas; other records pass unchanged."""
        events, is_event = SchemalessEvents.of(records, value)
        if not is_event.all():
            yield records.with_rows(~is_event)
        has_after = gathering.has_values(events.after)
        if has_after.any():
            upserts = events.with_rows(has_after)
            yield from self._schemaless_rows(upserts, upserts.after, "false")
        gone = events.with_rows(~has_after & gathering.has_values(events.before))
        if not len(gone.records) or self._mode is DeleteMode.DROP:
            return
        if self._mode.rewrites:
            yield from self._schemaless_rows(gone, gone.before, "true")
            return
        records = self._schemaless_headers(gone)
        records = records.with_shape(self._without_value(records.shape))
        yield from self._schemaless_routed(records, gone.before)

    def _schemaless_rows(
        self, events: SchemalessEvents, rows: np.ndarray, deleted: str
    ) -> Iterator[Records]:
        """Yield events with their rows as values, routed."""
        records = self._schemaless_headers(events)
        topic, count = records.shape.topic, len(records)
        names = [entry.name for entry in self._fields]
        added = [events.field(entry.struct, entry.field) for entry in self._fields]
        memory: tuple[object, ...] = ()
        if self._mode.rewrites:
            flag, memory = constant_cells(f'"{deleted}"', count)
            names, added = [_DELETED, *names], [flag, *added]
        cells, memory_of_rows = rows_with_fields(topic, rows, names, added)
        shape = self._schemaless_shapes(records.shape)
        assert isinstance(shape.value, Column)
        column = in_table(records, cells, (*memory, *memory_of_rows))
        records = records.with_column(shape.value.identity, column).with_shape(shape)
        yield from self._schemaless_routed(records, rows)

    def _schemaless_routed(self, records: Records, rows: np.ndarray) -> Iterator[Records]:
        if not self._options.route_by_field:
            yield records
            return
        (routes,) = members(rows, [self._options.route_by_field])
        topics = pa.array(texts_in(routes), pa.large_string())
        yield from self._routes.split(records, topics)

    def _schemaless_headers(self, events: SchemalessEvents) -> Records:
        """Return the records with the columns of the headers that are added."""
        records = events.records
        for entry, column in zip(self._headers, self._header_columns, strict=True):
            cells = in_table(records, events.field(entry.struct, entry.field), ())
            records = records.with_column(column.identity, cells)
        return records

    def _schemaless_shape(self, shape: Shape, value: Node | None) -> Shape:
        added = zip(self._headers, self._header_columns, strict=True)
        headers = with_headers(shape, [(entry.name, column) for entry, column in added])
        return replace(shape, value=value, headers=headers, null_has_schema=False)

    def _rows(
        self, records: Records, image: str, shapes: Callable[[Shape], Shape]
    ) -> Iterator[Records]:
        """Yield the records with their rows as values, routed and without the fields that their
        headers drop."""
        rows = records.with_shape(shapes(records.shape))
        pieces: Iterable[Records] = (rows,)
        if self._options.route_by_field:
            pieces = self._routes.split(rows, self._topics(records, image))
        for piece in pieces:
            if self._options.drop_fields_header_name:
                yield from self._without_dropped(piece)
            else:
                yield piece

    def _topics(self, records: Records, image: str) -> pa.Array:
        envelope = envelope_of(records.shape)
        assert envelope is not None
        row = as_struct(fields(envelope)[image])
        if row is not None and image == "after" and self._mode.rewrites:
            row = self._marked(row, "false")
        column = self._options.route_by_field
        node = fields(row).get(column)
        if node is None or node.schema.type is not Type.STRING:
            description = (
                "no column" if node is None else f"a column of type {node.schema.type.value}"
            )
            raise HeadraceError(
                "transforms.no_route",
                f"{records.shape.topic} has {description} {column}, which route.by.field names",
                "Name a column of texts, or give the transform a predicate.",
            )
        return encoded_texts(records, node)

    def _row(self, shape: Shape, image: str) -> tuple[Struct, Struct]:
        """Return the envelope, and the row in its field `image`."""
        envelope = envelope_of(shape)
        assert envelope is not None
        row = as_struct(fields(envelope)[image])
        if row is None:
            raise HeadraceError(
                "transforms.row_is_no_struct",
                f"{image} of {shape.topic} is a {fields(envelope)[image].schema.type.value}",
                "Rows are structs; documents have a transform of their own.",
            )
        return envelope, row

    def _upsert(self, shape: Shape) -> Shape:
        return self._rewritten(shape, "after", "false")

    def _delete(self, shape: Shape) -> Shape:
        if self._mode.rewrites:
            return self._rewritten(shape, "before", "true")
        envelope, row = self._row(shape, "before")
        nothing = None
        if self._mode is DeleteMode.TOMBSTONE:
            nothing = Constant(row.schema.as_optional(), None)
        return replace(
            shape,
            value=nothing,
            headers=self._headers.of_event(shape, envelope),
            null_has_schema=self._mode is DeleteMode.TOMBSTONE,
        )

    def _rewritten(self, shape: Shape, image: str, deleted: str) -> Shape:
        envelope, row = self._row(shape, image)
        _part(envelope, "op")
        if self._mode.rewrites:
            row = self._marked(row, deleted)
        row = with_fields(row, with_added_fields(row, self._fields, envelope))
        row = replace(row, schema=row.schema.as_optional(optional=False))
        return replace(shape, value=row, headers=self._headers.of_event(shape, envelope))

    def _marked(self, row: Struct, deleted: str) -> Struct:
        """Return the row for the rewriting modes: with its defaults and the flag `__deleted`."""
        members = fields(row)
        if self._options.replace_null_with_default:
            members = {name: with_defaults(node) for name, node in members.items()}
        return with_fields(row, {**members, _DELETED: Constant(_OPTIONAL_TEXT, deleted)})

    def _tombstone(self, shape: Shape) -> Shape:
        headers = self._headers.of_tombstone(shape, envelope_of(shape))
        return shape if headers == shape.headers else replace(shape, headers=headers)

    def _without_dropped(self, records: Records) -> Iterator[Records]:
        """Yield the records grouped by the fields that their header names."""
        name = self._options.drop_fields_header_name
        header = next(
            (candidate for candidate in records.shape.headers if candidate.name == name), None
        )
        if header is None:
            yield records
            return
        named = connect_values(records, header.node)
        if not all(dropped is None or isinstance(dropped, list) for dropped in named):
            raise HeadraceError(
                "transforms.no_list_of_fields",
                f"the header {name} of a record of {records.shape.topic} is not a list",
                "Name a header that ExtractChangedRecordState made.",
            )
        lists = [tuple(map(str, dropped)) if isinstance(dropped, list) else () for dropped in named]
        for names in dict.fromkeys(lists):
            part = records.with_rows(np.array([dropped == names for dropped in lists]))
            yield part.with_shape(self._shape_without(part.shape, names)) if names else part

    def _shape_without(self, shape: Shape, names: tuple[str, ...]) -> Shape:
        shapes = self._dropped(shape)
        if names not in shapes:
            key = shape.key
            if self._options.drop_fields_from_key:
                key = self._without(key, names)
            shapes[names] = replace(shape, key=key, value=self._without(shape.value, names))
        return shapes[names]

    def _without(self, node: Node | None, names: tuple[str, ...]) -> Node | None:
        if not isinstance(node, Struct):
            return node
        only_optional = self._options.drop_fields_keep_schema_compatible
        members = {
            name: with_defaults(member)
            for name, member in fields(node).items()
            if name not in names or (only_optional and not member.schema.optional)
        }
        return with_fields(node, members)


def _part(envelope: Struct, name: str) -> Node:
    """Return a field that every envelope must have."""
    part = fields(envelope).get(name)
    if part is None:
        raise HeadraceError(
            "transforms.no_envelope",
            f"a value named {envelope.schema.name} has no field {name}",
            "Only envelopes have names that end in .Envelope: give the transform a predicate, or "
            "the value another name.",
        )
    return part


DECLARATION = Declaration(
    "ExtractNewRecordState",
    "Puts the row of a change event in place of its envelope: the row after the change, and of a "
    "delete what its mode says.",
    ExtractNewRecordStateOptions,
    ExtractNewRecordState,
    former_options,
    Example(
        {"before": {"id": 1, "n": 5}, "after": {"id": 1, "n": 7}, "source": {"db": "s"}, "op": "u"},
        {"add.fields": "op,source.db"},
        key={"id": 1},
        topic="s.orders",
        names={"value": "s.orders.Envelope", "value.after": "s.orders.Value"},
    ),
    kernels=("headrace.connect.evaluation.json_objects",),
)
