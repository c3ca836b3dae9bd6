"""Policies for values and fields that a declared schema cannot hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from headrace.connect.schema import DECIMAL, Schema
from headrace.documents.bson import Kind
from headrace.documents.target_schema.ddl import (
    DATE,
    LOCAL_TIMESTAMP,
    TIMESTAMP,
    precision_and_scale,
)
from headrace.errors import HeadraceError


class ConflictPolicy(StrEnum):
    """Handling of a value that the declared type cannot hold exactly."""

    FAIL = "fail"
    """The record fails: the query ends, or the record is skipped or becomes a dead letter,
    depending on `errors.tolerance`."""
    NULL = "null"
    """The value becomes null, and is lost."""
    REST = "rest"
    """The value becomes null, and is kept in the field `__rest`, like fields that the schema
    lacks."""


class UnknownFields(StrEnum):
    """Handling of fields that the schema does not have, unless they are kept in `__rest`."""

    DROP = "drop"
    """The fields are left out."""
    FAIL = "fail"
    """The record fails."""


Label = Callable[[int], str]
"""The path of the value with a number in a column, such as `lines.0.sku`."""


@dataclass(frozen=True)
class Remainder:
    """A value that the schema does not hold: the number of its document, its path, its type and its
    bytes."""

    row: int
    path: str
    kind: int
    raw: bytes


@dataclass
class Conflicts:
    """Collects the values that a schema does not hold, or raises an error, as the policies
    require."""

    policy: ConflictPolicy = ConflictPolicy.FAIL
    unknown: UnknownFields = UnknownFields.DROP
    remainders: list[Remainder] = field(default_factory=list)

    @property
    def takes_unknown(self) -> bool:
        """Whether the policy applies to fields that the schema lacks."""
        return self.policy is ConflictPolicy.REST or self.unknown is UnknownFields.FAIL

    def conflict(self, row: int, path: str, kind: int, raw: bytes, schema: Schema) -> None:
        """Handle a value that `schema` does not hold. Raises HeadraceError
        `documents.value_not_of_schema` if conflicts fail."""
        if self.policy is ConflictPolicy.FAIL:
            raise HeadraceError(
                "documents.value_not_of_schema",
                f"the field {path or 'that is the whole'} holds a value of type "
                f"{Kind(kind).name.lower()} that {shown(schema)} cannot hold exactly",
                "Declare the field as STRING or VARIANT, which hold any value, or let conflicts be "
                "`rest`, which keeps such values in __rest, or `null`.",
            )
        if self.policy is ConflictPolicy.REST:
            self.remainders.append(Remainder(row, path, kind, raw))

    def unknown_field(self, row: int, path: str, kind: int, raw: bytes) -> None:
        """Handle a field that the schema lacks. Raises HeadraceError
        `documents.field_not_of_schema` if such fields fail."""
        if self.policy is ConflictPolicy.REST:
            self.remainders.append(Remainder(row, path, kind, raw))
        elif self.unknown is UnknownFields.FAIL:
            raise HeadraceError(
                "documents.field_not_of_schema",
                f"the schema has no field {path}",
                "Declare the field, start the query again where the schema is sampled, let "
                "conflicts be `rest`, or let unknown fields be dropped.",
            )


def rest_document(remainders: Sequence[Remainder]) -> bytes:
    """The BSON document of remainders by their paths."""
    elements = b"".join(
        bytes([remainder.kind]) + remainder.path.encode() + b"\0" + remainder.raw
        for remainder in remainders
    )
    return (len(elements) + 5).to_bytes(4, "little") + elements + b"\0"


def shown(schema: Schema) -> str:
    """The text of a type in messages."""
    if schema.name == DECIMAL:
        return "DECIMAL({},{})".format(*precision_and_scale(schema))
    named = {TIMESTAMP: "TIMESTAMP", LOCAL_TIMESTAMP: "TIMESTAMP_NTZ", DATE: "DATE"}
    return named.get(schema.name or "", schema.type.value)
