"""A value inside of another one, in bytes of its own: what CloudEvents have as `data`."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.connect.records import Struct
from headrace.connect.schema import Schema


@dataclass(frozen=True, eq=False)
class Embedded:
    """A struct that a compiler writes between `lead` and `tail`; in Avro it is bytes, as `schema`
    says. It is in a tree of nodes that only a converter makes."""

    schema: Schema
    node: Struct
    lead: bytes = b""
    tail: bytes = b""
