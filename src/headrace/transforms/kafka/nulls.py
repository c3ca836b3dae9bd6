"""Handling of nulls in Kafka Connect's transforms."""

from __future__ import annotations

from headrace.config.configuration import Configuration
from headrace.config.kinds import BOOLEAN
from headrace.config.property import Group, Property
from headrace.connect.records import Records
from headrace.errors import HeadraceError
from headrace.transforms.parts import RecordPart


class NullsOptions(Configuration):
    """The option of all transforms that read fields."""

    replace_null_with_default = Property(
        "replace.null.with.default",
        BOOLEAN,
        "true",
        Group.CONVERTERS,
        "Whether null becomes the field's default.",
    )


def require_part(records: Records, part: RecordPart, purpose: str) -> None:
    """Raises HeadraceError("transforms.part_is_null") when a record lacks the part."""
    if part.absent(records).any():
        raise HeadraceError(
            "transforms.part_is_null",
            f"a record of {records.shape.topic} has no {part}; {purpose} needs one",
            "Give the transform a predicate: RecordIsTombstone with negate=true.",
        )
