"""ExtractNewRecordState: the row in place of the envelope."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from headrace.config.kinds import BOOLEAN, TEXT
from headrace.config.property import Group, Property
from headrace.connect.evaluation.values import connect_values, nulls, tombstones, values
from headrace.connect.records import Constant, Node, Records, Shape, Struct
from headrace.connect.schema import Schema, Type
from headrace.connect.trees import as_struct, fields, with_defaults, with_fields
from headrace.errors import HeadraceError
from headrace.transforms.debezium.envelopes import envelope_of
from headrace.transforms.example import Example
from headrace.transforms.routing import Routes
from headrace.transforms.transform import Declaration, Ordering, PerShape
from headrace.transforms.unwrapping.added_fields import (
    added_fields,
    headers_of,
    headers_of_tombstone,
    with_added_fields,
    with_headers,
)
from headrace.transforms.unwrapping.deletes import DeleteMode, former_options
from headrace.transforms.unwrapping.options import UnwrappingOptions

_DELETED = "__deleted"
_OPTIONAL_TEXT = Schema(Type.STRING, optional=True)


class ExtractNewRecordStateOptions(UnwrappingOptions):
    """Options of ExtractNewRecordState."""

    route_by_field = Property(
        "route.by.field",
        TEXT,
        "",
        Group.CONVERTERS,
        "A column with the topic that each record goes to; null or blank: it stays.",
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
        "Whether null becomes the column's default where deletes are rewritten.",
    )


class ExtractNewRecordState:
    """See DECLARATION. Records whose value is no envelope pass as they are."""

    def __init__(self, options: ExtractNewRecordStateOptions) -> None:
        self._options = options
        self._mode = options.delete_tombstone_handling_mode
        self._fields = added_fields(options.add_fields, options.add_fields_prefix)
        self._headers = added_fields(options.add_headers, options.add_headers_prefix)
        self._upserts = PerShape(self._upsert)
        self._deletes = PerShape(self._delete)
        self._tombstones = PerShape(self._tombstone)
        self._routes = Routes()
        self._dropped: PerShape[dict[tuple[str, ...], Shape]] = PerShape(lambda _shape: {})

    @property
    def ordering(self) -> Ordering:
        """Records stay with their keys, unless a column says where they go."""
        options = self._options
        moves = options.route_by_field or (
            options.drop_fields_header_name and options.drop_fields_from_key
        )
        return Ordering.NONE if moves else Ordering.KEEPS_KEY

    def expected(self, records: Records) -> Iterable[Records]:
        """See Foresight: a column may say which topics there are."""
        is_event = envelope_of(records.shape) is not None
        return [] if is_event and self._options.route_by_field else self.apply(records)

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform."""
        absent = tombstones(records)
        if absent.any():
            if self._mode is DeleteMode.REWRITE_WITH_TOMBSTONE:
                kept = records.with_rows(absent)
                yield kept.with_shape(self._tombstones(kept.shape))
            records = records.with_rows(~absent)
            if not len(records):
                return
        envelope = envelope_of(records.shape)
        if envelope is None:
            yield records
            return
        members = fields(envelope)
        has_after = ~nulls(records, members.get("after"))
        if has_after.any():
            yield from self._rows(records.with_rows(has_after), "after", self._upserts)
        if has_after.all() or self._mode is DeleteMode.DROP:
            return
        # A record without any row is a truncation.
        deleted = ~has_after & ~nulls(records, members.get("before"))
        if deleted.any():
            yield from self._rows(records.with_rows(deleted), "before", self._deletes)

    def _rows(
        self, records: Records, image: str, shapes: Callable[[Shape], Shape]
    ) -> Iterator[Records]:
        """The records with their rows as values, routed and without what their headers drop."""
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
        column = self._options.route_by_field
        node = fields(row).get(column)
        if node is None or node.schema.type is not Type.STRING:
            what = "no column" if node is None else f"a column of type {node.schema.type.value}"
            raise HeadraceError(
                "transforms.no_route",
                f"{records.shape.topic} has {what} {column}, which route.by.field names",
                "Name a column of texts, or give the transform a predicate.",
            )
        return values(records, node)

    def _row(self, shape: Shape, image: str) -> tuple[Struct, Struct]:
        """The envelope, and the row that it holds as an image."""
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
            headers=with_headers(shape, headers_of(self._headers, envelope)),
            null_has_schema=self._mode is DeleteMode.TOMBSTONE,
        )

    def _rewritten(self, shape: Shape, image: str, deleted: str) -> Shape:
        envelope, row = self._row(shape, image)
        if self._mode.rewrites:
            members = fields(row)
            if self._options.replace_null_with_default:
                members = {name: with_defaults(node) for name, node in members.items()}
            row = with_fields(row, {**members, _DELETED: Constant(_OPTIONAL_TEXT, deleted)})
        row = with_fields(row, with_added_fields(row, self._fields, envelope))
        row = replace(row, schema=row.schema.as_optional(optional=False))
        return replace(
            shape, value=row, headers=with_headers(shape, headers_of(self._headers, envelope))
        )

    def _tombstone(self, shape: Shape) -> Shape:
        made = headers_of_tombstone(self._headers)
        return replace(shape, headers=with_headers(shape, made)) if made else shape

    def _without_dropped(self, records: Records) -> Iterator[Records]:
        """The records by what their header names."""
        name = self._options.drop_fields_header_name
        header = next((each for each in records.shape.headers if each.name == name), None)
        if header is None:
            yield records
            return
        named = connect_values(records, header.node)
        if not all(each is None or isinstance(each, list) for each in named):
            raise HeadraceError(
                "transforms.no_list_of_fields",
                f"the header {name} of a record of {records.shape.topic} is no list",
                "Name a header that ExtractChangedRecordState made.",
            )
        lists = [tuple(map(str, each)) if isinstance(each, list) else () for each in named]
        for names in dict.fromkeys(lists):
            part = records.with_rows(np.array([each == names for each in lists]))
            yield part.with_shape(self._shape_without(part.shape, names)) if names else part

    def _shape_without(self, shape: Shape, names: tuple[str, ...]) -> Shape:
        made = self._dropped(shape)
        if names not in made:
            key = shape.key
            if self._options.drop_fields_from_key:
                key = self._without(key, names)
            made[names] = replace(shape, key=key, value=self._without(shape.value, names))
        return made[names]

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
)
