"""A value that is encoded as bytes inside another value: the `data` of CloudEvents."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.connect.records import Struct
from headrace.connect.schema import Schema


@dataclass(frozen=True, eq=False)
class Embedded:
    """A struct that a compiler writes between `lead` and `tail`; in Avro it is bytes, as `schema`
    says. Only converters create such nodes."""

    schema: Schema
    node: Struct
    lead: bytes = b""
    tail: bytes = b""
