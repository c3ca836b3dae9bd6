"""Options of EventRouter."""

from __future__ import annotations

from headrace.config.kinds import BOOLEAN, one_of
from headrace.config.property import Group, Property
from headrace.transforms.outbox.options import OutboxOptions, invalid, missing, placement, text


class EventRouterOptions(OutboxOptions):
    """Options of EventRouter. Columns may be named in upper case."""

    table_field_event_id = text(
        "table.field.event.id", "id", "The column that becomes the header `id`."
    )
    table_field_event_key = text(
        "table.field.event.key", "aggregateid", "The column that becomes the key."
    )
    table_field_event_type = text(
        "table.field.event.type", "type", "No effect, as in Debezium; use a placement instead."
    )
    table_field_event_payload = text(
        "table.field.event.payload", "payload", "The column that becomes the value."
    )
    table_field_event_timestamp = text(
        "table.field.event.timestamp",
        "",
        "A Timestamp, MicroTimestamp or NanoTimestamp that becomes the record's time; without it, "
        "or if it is null, the event's `ts_ms`.",
    )
    table_field_event_schema_version = text(
        "table.field.event.schema.version",
        "",
        "The column that becomes the version of the value's schema, if columns are placed in it.",
    )
    table_fields_additional_placement = placement("table.fields.additional.placement", "column")
    table_field_additional_missing = missing("table.field.additional.missing", "row", "column")
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
        "The result of null members of this payload: they are left out, or become optional bytes.",
    )
    table_json_payload_empty_array_behavior = Property(
        "table.json.payload.empty.array.behavior",
        one_of("ignore", "optional_string"),
        "ignore",
        Group.CONVERTERS,
        "No effect, as in Debezium: empty arrays are left out.",
    )
    table_op_invalid_behavior = invalid("table.op.invalid.behavior")
