"""Options of the event router for outbox collections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headrace.config.kinds import BOOLEAN
from headrace.config.property import Group, Property
from headrace.transforms.outbox.options import OutboxOptions, invalid, missing, placement, text
from headrace.transforms.transform import FormerOption

_INVALID = "collection.op.invalid.behavior"
_INVALID_IN_CODE = "table.op.invalid.behavior"


class DocumentRouterOptions(OutboxOptions):
    """Options of the event router for outbox collections."""

    collection_field_event_id = text(
        "collection.field.event.id", "_id", "The field that becomes the header `id`."
    )
    collection_field_event_key = text(
        "collection.field.event.key", "aggregateid", "The field that becomes the key."
    )
    collection_field_event_type = text(
        "collection.field.event.type", "type", "No effect, as in Debezium; use a placement instead."
    )
    collection_field_event_payload = text(
        "collection.field.event.payload", "payload", "The field that becomes the value."
    )
    collection_field_event_timestamp = text(
        "collection.field.event.timestamp",
        "",
        "An int64 of milliseconds that becomes the record's time; without it, the event's `ts_ms`.",
    )
    collection_field_event_schema_version = text(
        "collection.field.event.schema.version",
        "",
        "The field that becomes the version of the value's schema, if the placement option puts "
        "fields into the value.",
    )
    collection_fields_additional_placement = placement(
        "collection.fields.additional.placement", "field"
    )
    collection_field_additional_missing = missing(
        "collection.field.additional.missing", "document", "field"
    )
    collection_expand_json_payload = Property(
        "collection.expand.json.payload",
        BOOLEAN,
        "false",
        Group.CONVERTERS,
        "Whether a payload that is a document becomes a struct; otherwise it is a text of JSON.",
    )
    collection_op_invalid_behavior = invalid(_INVALID)


def other_names(options: Mapping[str, str]) -> Iterator[FormerOption]:
    """Yield how `table.op.invalid.behavior`, which Debezium's code reads, is replaced by
    `collection.op.invalid.behavior`, the name in Debezium's manual, if the first is given."""
    if _INVALID_IN_CODE in options:
        yield FormerOption(_INVALID_IN_CODE, _INVALID, {_INVALID: options[_INVALID_IN_CODE]})
