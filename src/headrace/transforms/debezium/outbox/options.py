"""Options of EventRouter."""

from __future__ import annotations

from headrace.config.configuration import Configuration
from headrace.config.kinds import BOOLEAN, COMMA_LIST, EXACT_TEXT, REGEX, TEXT, choice, one_of
from headrace.config.property import Group, Property
from headrace.transforms.outbox.placements import InvalidOperation, MissingField


def _text(name: str, default: str, meaning: str) -> Property[str]:
    return Property(name, TEXT, default, Group.CONVERTERS, meaning)


class EventRouterOptions(Configuration):
    """Options of EventRouter. A column may have its name in upper case."""

    table_field_event_id = _text(
        "table.field.event.id", "id", "The column that becomes the header `id`."
    )
    table_field_event_key = _text(
        "table.field.event.key", "aggregateid", "The column that becomes the key."
    )
    table_field_event_type = _text(
        "table.field.event.type", "type", "Without effect, as in Debezium; place it instead."
    )
    table_field_event_payload = _text(
        "table.field.event.payload", "payload", "The column that becomes the value."
    )
    table_field_event_timestamp = _text(
        "table.field.event.timestamp",
        "",
        "A Timestamp, MicroTimestamp or NanoTimestamp that becomes the record's time; without it, "
        "and where it is null, the event's `ts_ms`.",
    )
    table_field_event_schema_version = _text(
        "table.field.event.schema.version",
        "",
        "The column that becomes the version of the value's schema, where columns are placed in "
        "it.",
    )
    table_fields_additional_placement = Property(
        "table.fields.additional.placement",
        COMMA_LIST,
        "",
        Group.CONVERTERS,
        "More columns, `column:header[:name]`, `column:envelope[:name]` or `column:partition` "
        "each.",
    )
    table_field_additional_missing = Property(
        "table.field.additional.missing",
        choice(MissingField),
        "error",
        Group.CONVERTERS,
        "Whether a row may lack an additional column.",
    )
    table_expand_json_payload = Property(
        "table.expand.json.payload",
        BOOLEAN,
        "false",
        Group.CONVERTERS,
        "Whether a payload that is a text of JSON becomes a struct or a list.",
    )
    table_json_payload_null_behavior = Property(
        "table.json.payload.null.behavior",
        one_of("ignore", "optional_bytes"),
        "ignore",
        Group.CONVERTERS,
        "What becomes of members of such a payload that are null: left out, or optional bytes.",
    )
    table_json_payload_empty_array_behavior = Property(
        "table.json.payload.empty.array.behavior",
        one_of("ignore", "optional_string"),
        "ignore",
        Group.CONVERTERS,
        "Without effect, as in Debezium: empty arrays are left out.",
    )
    table_op_invalid_behavior = Property(
        "table.op.invalid.behavior",
        choice(InvalidOperation),
        "warn",
        Group.CONVERTERS,
        "What becomes of updates: left out with a warning or an error in the log, or an error.",
    )
    route_by_field = _text("route.by.field", "aggregatetype", "The column that topics are made of.")
    route_topic_regex = Property(
        "route.topic.regex",
        REGEX,
        "(?<routedByValue>.*)",
        Group.CONVERTERS,
        "What that column matches as a whole; where it does not, it is the topic.",
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
        "Whether a payload that is null or blank gives a tombstone.",
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
