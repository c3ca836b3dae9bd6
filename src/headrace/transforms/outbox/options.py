"""Options of outbox routers. Those of tables and of collections have different names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.config.kinds import (
    BOOLEAN,
    COMMA_LIST,
    EXACT_TEXT,
    ROW_REGEX,
    TEXT,
    choice,
    templated,
)
from headrace.config.properties.compatibility import RecordBoundsConfig
from headrace.config.property import Group, Property
from headrace.transforms.outbox.placements import InvalidOperation, MissingField, Placement


def text(name: str, default: str, meaning: str) -> Property[str]:
    """Return an option that is a text, usually the name of a field."""
    return Property(name, TEXT, default, Group.CONVERTERS, meaning)


def placement(name: str, field: str) -> Property[tuple[str, ...]]:
    """Return the option for the placement of additional fields; `field` is the term for a row's
    fields."""
    return Property(
        name,
        COMMA_LIST,
        "",
        Group.CONVERTERS,
        f"More {field}s, `{field}:header[:name]`, `{field}:envelope[:name]` or `{field}:partition` "
        "each.",
    )


def missing(name: str, row: str, field: str) -> Property[MissingField]:
    """Return the option for rows that lack an additional field; `row` and `field` are the terms for
    these."""
    return Property(
        name,
        choice(MissingField),
        "error",
        Group.CONVERTERS,
        f"Whether a {row} may lack an additional {field}.",
    )


def invalid(name: str) -> Property[InvalidOperation]:
    """Return the option for the handling of updates."""
    return Property(
        name,
        choice(InvalidOperation),
        "warn",
        Group.CONVERTERS,
        "The result of updates: they are left out with a warning or an error in the log, or are "
        "an error.",
    )


class OutboxOptions(RecordBoundsConfig):
    """Options that have the same names in both routers."""

    route_by_field = text(
        "route.by.field", "aggregatetype", "The column or field from which topics are made."
    )
    route_topic_regex = Property(
        "route.topic.regex",
        ROW_REGEX,
        "(?<routedByValue>.*)",
        Group.CONVERTERS,
        "An expression that must match the whole field; if it does not match, the field is the "
        "topic.",
    )
    route_topic_replacement = Property(
        "route.topic.replacement",
        templated(EXACT_TEXT),
        "outbox.event.${routedByValue}",
        Group.CONVERTERS,
        "The topic; `${name}` is a group of the expression.",
    )
    route_tombstone_on_empty_payload = Property(
        "route.tombstone.on.empty.payload",
        BOOLEAN,
        "false",
        Group.CONVERTERS,
        "Whether a payload that is null or a blank text gives a tombstone.",
    )
    tracing_span_context_field = text(
        "tracing.span.context.field", "tracingspancontext", "No effect: headrace does not trace."
    )
    tracing_operation_name = text(
        "tracing.operation.name", "debezium-read", "No effect: headrace does not trace."
    )
    tracing_with_context_field_only = Property(
        "tracing.with.context.field.only",
        BOOLEAN,
        "false",
        Group.CONVERTERS,
        "No effect: headrace does not trace.",
    )


@dataclass(frozen=True)
class Columns:
    """The values of a router's own options: the fields of a row, and the placement of additional
    ones."""

    identifier: str
    key: str
    payload: str
    timestamp: str
    version: str
    placements: tuple[Placement, ...]
    missing: MissingField
    invalid: InvalidOperation

    @staticmethod
    def of(options: OutboxOptions, prefix: str) -> Columns:
        """Return the values of the options with the prefix `prefix`.

        Raises HeadraceError("transforms.bad_placement").
        """

        def said(name: str) -> Any:
            return options.value_of(f"{prefix}_{name}")

        placed = f"{prefix}.fields.additional.placement"
        return Columns(
            said("field_event_id"),
            said("field_event_key"),
            said("field_event_payload"),
            said("field_event_timestamp"),
            said("field_event_schema_version"),
            tuple(Placement.parse(text, placed) for text in said("fields_additional_placement")),
            said("field_additional_missing"),
            said("op_invalid_behavior"),
        )
