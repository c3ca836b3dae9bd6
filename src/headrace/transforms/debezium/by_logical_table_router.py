"""ByLogicalTableRouter and ToLogicalTopicRouter: route the events of several tables to one
topic."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from headrace.config.configuration import Configuration
from headrace.config.kinds import (
    BOOLEAN,
    EXACT_TEXT,
    ROW_REGEX,
    TEXT,
    choice,
    integer,
    templated,
)
from headrace.config.property import REQUIRED, Group, Property
from headrace.connect.evaluation.values import nulls
from headrace.connect.records import Constant, Node, Records, Shape, Struct
from headrace.connect.schema import Schema, Type
from headrace.connect.trees import as_struct, fields, with_fields, with_schema
from headrace.debezium.naming.names import NameAdjustment, NameAdjustmentMode
from headrace.errors import HeadraceError
from headrace.transforms.debezium.envelopes import envelope_of
from headrace.transforms.example import Example
from headrace.transforms.parts import RecordPart, not_a_struct
from headrace.transforms.routing import Renaming
from headrace.transforms.transform import Declaration, Ordering, PerShape, WrongOption

log = logging.getLogger(__name__)


class _RouterOptions(Configuration):
    """Options of both routers."""

    topic_regex = Property(
        "topic.regex",
        ROW_REGEX,
        REQUIRED,
        Group.CONVERTERS,
        "An expression for the whole topic; records of other topics pass unchanged.",
    )
    topic_replacement = Property(
        "topic.replacement",
        templated(TEXT),
        REQUIRED,
        Group.CONVERTERS,
        "The new topic: `$1` and `${name}` are the groups of the expression.",
    )
    key_enforce_uniqueness = Property(
        "key.enforce.uniqueness",
        BOOLEAN,
        "true",
        Group.CONVERTERS,
        "Whether keys get a field that identifies the table.",
    )
    key_field_regex = Property(
        "key.field.regex",
        ROW_REGEX,
        "",
        Group.CONVERTERS,
        "A regular expression that is matched with the old topic; key.field.replacement makes the "
        "value of the key's additional field from its groups. Without it, or if the topic does not "
        "match, the value is the old topic.",
    )
    key_field_replacement = Property(
        "key.field.replacement",
        templated(TEXT),
        "",
        Group.CONVERTERS,
        "The value of the field: `$1` and `${name}` are the groups of key.field.regex.",
    )
    schema_name_adjustment_mode = Property(
        "schema.name.adjustment.mode",
        choice(NameAdjustmentMode),
        "none",
        Group.CONVERTERS,
        "Adjusts schema names to Avro: other characters become `_`, or `_uXXXX` (avro_unicode).",
    )


_FIELD_MEANING = "The name of the field that keys get."
_CACHE_MEANING = "No effect: schemas are kept as long as there are records of them."


class ByLogicalTableRouterOptions(_RouterOptions):
    """Options of ByLogicalTableRouter."""

    key_field_name = Property(
        "key.field.name",
        EXACT_TEXT,
        "__dbz__physicalTableIdentifier",
        Group.CONVERTERS,
        _FIELD_MEANING,
    )
    logical_table_cache_size = Property(
        "logical.table.cache.size", integer(1), "16", Group.CONVERTERS, _CACHE_MEANING
    )


class ToLogicalTopicRouterOptions(_RouterOptions):
    """Options of ToLogicalTopicRouter."""

    key_field_name = Property(
        "key.field.name",
        EXACT_TEXT,
        "__dbz__sourceIdentifier",
        Group.CONVERTERS,
        _FIELD_MEANING,
    )
    logical_destination_cache_size = Property(
        "logical.destination.cache.size", integer(1), "16", Group.CONVERTERS, _CACHE_MEANING
    )


class LogicalRouter:
    """See BY_LOGICAL_TABLE. Tombstones and records that are not change events keep their value."""

    ordering = Ordering.PER_TABLE

    def __init__(
        self, options: ByLogicalTableRouterOptions | ToLogicalTopicRouterOptions, name: str
    ) -> None:
        """`name` is the short name in errors."""
        self._name = name
        self._renamed = Renaming(
            options.topic_regex, options.topic_replacement, "topic.replacement"
        )
        self._names = NameAdjustment(options.schema_name_adjustment_mode)
        self._field = options.key_field_name if options.key_enforce_uniqueness else None
        if self._field == "":
            raise WrongOption(
                "transforms.no_name",
                "key.field.name",
                " is empty",
                "Give the field a name, or set key.enforce.uniqueness=false.",
            )
        self._identified: Renaming | None = None
        if options.key_field_regex:
            if not options.key_field_replacement:
                raise WrongOption(
                    "transforms.bad_replacement",
                    "key.field.replacement",
                    " is missing (key.field.regex is set)",
                    "Set key.field.replacement, or remove key.field.regex.",
                )
            self._identified = Renaming(
                options.key_field_regex, options.key_field_replacement, "key.field.replacement"
            )
        self._shapes = PerShape(self._shape)
        self._keyless = PerShape(lambda shape: self._shape(replace(shape, key=None)))

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform. Raises HeadraceError("transforms.not_a_struct") for other keys, and
        ("transforms.field_name_twice")."""
        shape = records.shape
        if self._renamed(shape.topic) is None:
            yield records
            return
        keyless = nulls(records, shape.key)
        if keyless.any():
            yield records.with_rows(keyless).with_shape(self._keyless(shape))
        if not keyless.all():
            yield records.with_rows(~keyless).with_shape(self._shapes(shape))

    def _shape(self, shape: Shape) -> Shape:
        topic = self._renamed(shape.topic)
        if not topic:
            log.warning(
                "topic.replacement gives an empty topic for %s: its records do not change",
                shape.topic,
            )
            return shape
        key = None if shape.key is None else self._key(shape, shape.key, topic)
        return replace(shape, topic=topic, key=key, value=self._value(shape, topic))

    def _key(self, shape: Shape, node: Node, topic: str) -> Struct:
        key = as_struct(node)
        if key is None:
            raise not_a_struct(RecordPart.KEY, shape.topic, node.schema.type.value, self._name)
        members = fields(key)
        if self._field is not None:
            if self._field in members:
                raise HeadraceError(
                    "transforms.field_name_twice",
                    f"the key of records of {shape.topic} would have two fields {self._field}",
                    "Choose another key.field.name.",
                )
            identifier = self._identifier(shape.topic)
            members[self._field] = Constant(Schema(Type.STRING), identifier)
        extended = with_fields(key, members)
        name = self._names.schema(f"{topic}.Key")
        return replace(extended, schema=replace(extended.schema, name=name))

    def _identifier(self, topic: str) -> str:
        identified = None if self._identified is None else self._identified(topic)
        return topic if identified is None else identified

    def _value(self, shape: Shape, topic: str) -> Node | None:
        envelope = envelope_of(shape)
        if envelope is None:
            return shape.value
        members = fields(envelope)
        for image in ("before", "after"):
            node = members.get(image)
            if node is not None and node.schema.type is Type.STRUCT:
                name = self._names.schema(f"{topic}.Value")
                members[image] = with_schema(node, replace(node.schema, name=name))
        renamed = with_fields(envelope, members)
        name = self._names.schema(f"{topic}.Envelope")
        return replace(renamed, schema=replace(renamed.schema, name=name))


_MEANING = (
    "Sends the events of several tables to one topic, with a field in the key that identifies the "
    "table."
)
_EXAMPLE = Example(
    {"before": None, "after": {"id": 1}, "op": "c"},
    {"topic.regex": "shop\\.shard_\\d\\.(.*)", "topic.replacement": "shop.$1"},
    key={"id": 1},
    topic="shop.shard_1.orders",
    names={
        "key": "shop.shard_1.orders.Key",
        "value": "shop.shard_1.orders.Envelope",
        "value.after": "shop.shard_1.orders.Value",
    },
)
BY_LOGICAL_TABLE = Declaration(
    "ByLogicalTableRouter",
    _MEANING,
    ByLogicalTableRouterOptions,
    partial(LogicalRouter, name="ByLogicalTableRouter"),
    example=_EXAMPLE,
)
TO_LOGICAL_TOPIC = Declaration(
    "ToLogicalTopicRouter",
    _MEANING,
    ToLogicalTopicRouterOptions,
    partial(LogicalRouter, name="ToLogicalTopicRouter"),
    example=_EXAMPLE,
)
