"""Records whose value is a change event's envelope."""

from __future__ import annotations

from headrace.connect.records import Shape, Struct
from headrace.connect.trees import as_struct


def envelope_of(shape: Shape) -> Struct | None:
    """Return the value if it is an envelope: a struct whose schema's name ends in `.Envelope`."""
    value = as_struct(shape.value)
    is_envelope = value is not None and (value.schema.name or "").endswith(".Envelope")
    return value if is_envelope else None
