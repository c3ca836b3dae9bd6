"""Options of the router of an outbox of documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headrace.config.configuration import Configuration
from headrace.config.kinds import BOOLEAN, COMMA_LIST, EXACT_TEXT, REGEX, TEXT, choice
from headrace.config.property import Group, Property
from headrace.transforms.outbox.placements import InvalidOperation, MissingField
from headrace.transforms.transform import Replacement

_INVALID = "collection.op.invalid.behavior"
_INVALID_IN_CODE = "table.op.invalid.behavior"


def _text(name: str, default: str, meaning: str) -> Property[str]:
    return Property(name, TEXT, default, Group.CONVERTERS, meaning)


class EventRouterOptions(Configuration):
    """Options of the router of an outbox of documents."""

    collection_field_event_id = _text(
        "collection.field.event.id", "_id", "The field that becomes the header `id`."
    )
    collection_field_event_key = _text(
        "collection.field.event.key", "aggregateid", "The field that becomes the key."
    )
    collection_field_event_type = _text(
        "collection.field.event.type", "type", "Without effect, as in Debezium; place it instead."
    )
    collection_field_event_payload = _text(
        "collection.field.event.payload", "payload", "The field that becomes the value."
    )
    collection_field_event_timestamp = _text(
        "collection.field.event.timestamp",
        "",
        "An int64 of milliseconds that becomes the record's time; without it, the event's `ts_ms`.",
    )
    collection_field_event_schema_version = _text(
        "collection.field.event.schema.version",
        "",
        "The field that becomes the version of the value's schema, where fields are placed in it.",
    )
    collection_fields_additional_placement = Property(
        "collection.fields.additional.placement",
        COMMA_LIST,
        "",
        Group.CONVERTERS,
        "More fields, `field:header[:name]`, `field:envelope[:name]` or `field:partition` each.",
    )
    collection_field_additional_missing = Property(
        "collection.field.additional.missing",
        choice(MissingField),
        "error",
        Group.CONVERTERS,
        "Whether a document may lack an additional field.",
    )
    collection_expand_json_payload = Property(
        "collection.expand.json.payload",
        BOOLEAN,
        "false",
        Group.CONVERTERS,
        "Whether a payload that is a document becomes a struct; else it is a text of JSON.",
    )
    collection_op_invalid_behavior = Property(
        _INVALID,
        choice(InvalidOperation),
        "warn",
        Group.CONVERTERS,
        "What becomes of updates: left out with a warning or an error in the log, or an error.",
    )
    route_by_field = _text("route.by.field", "aggregatetype", "The field that topics are made of.")
    route_topic_regex = Property(
        "route.topic.regex",
        REGEX,
        "(?<routedByValue>.*)",
        Group.CONVERTERS,
        "What that field matches as a whole; where it does not, it is the topic.",
    )
    route_topic_replacement = Property(
        "route.topic.replacement",
        EXACT_TEXT,
        "outbox.event.${routedByValue}",
        Group.CONVERTERS,
        "The topic; `${name}` is what a group of the expression matched.",
    )
    route_tombstone_on_empty_payload = Property(
        "route.tombstone.on.empty.payload",
        BOOLEAN,
        "false",
        Group.CONVERTERS,
        "Whether a null payload gives a tombstone.",
    )
    tracing_span_context_field = _text(
        "tracing.span.context.field", "tracingspancontext", "Without effect: nothing is traced."
    )
    tracing_operation_name = _text(
        "tracing.operation.name", "debezium-read", "Without effect: nothing is traced."
    )
    tracing_with_context_field_only = Property(
        "tracing.with.context.field.only",
        BOOLEAN,
        "false",
        Group.CONVERTERS,
        "Without effect: nothing is traced.",
    )


def other_names(options: Mapping[str, str]) -> Iterator[Replacement]:
    """The name that Debezium's code reads, of the option that its manual has."""
    if _INVALID_IN_CODE in options:
        yield Replacement(_INVALID_IN_CODE, {_INVALID: options[_INVALID_IN_CODE]})
