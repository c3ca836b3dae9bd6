"""The change event's envelope, and its key and row schemas."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headrace.connect.schema import Field, Schema, Type
from headrace.debezium import transactions
from headrace.debezium.event_format import EnvelopeForm

NEW_KEY_HEADER = "__debezium.newkey"
"""Header of the delete of a key change: the row's new key."""
OLD_KEY_HEADER = "__debezium.oldkey"
"""Header of the create of a key change: the row's old key."""
PLACEHOLDER = "__debezium_unavailable_value"
"""Placeholder for a value that the log does not carry: the default of
`unavailable.value.placeholder`."""


def key_schema(topic: str, columns: Iterable[Field]) -> Schema:
    """The key struct of a table; `columns` are its key columns in key order."""
    return Schema(Type.STRUCT, name=f"{topic}.Key", fields=tuple(columns))


def value_schema(topic: str, columns: Iterable[Field]) -> Schema:
    """The row struct of a table, the schema of `before` and `after` (optional)."""
    return Schema(Type.STRUCT, optional=True, name=f"{topic}.Value", fields=tuple(columns))


def envelope_schema(
    topic: str, images: Iterable[Field], source: Schema, form: EnvelopeForm
) -> Schema:
    """The envelope of a collection's events: `images` are the fields with the state before and
    after a change, `source` is the source block."""
    time = Schema(Type.INT64, optional=True)
    schemas = {
        "transaction": transactions.BLOCK,
        "op": Schema(Type.STRING, optional=form.optional_op),
        "ts_ms": time,
        "ts_us": time,
        "ts_ns": time,
    }
    return Schema(
        Type.STRUCT,
        name=f"{topic}.Envelope",
        version=form.version,
        fields=(
            *images,
            Field("source", replace(source, optional=False)),
            *(Field(name, schemas[name]) for name in form.fields),
        ),
    )
