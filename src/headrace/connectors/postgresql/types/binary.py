"""bytea, and the texts of unknown types as bytes."""

from __future__ import annotations

from headrace.connectors.postgresql.types import values
from headrace.connectors.postgresql.types.options import PostgresTypeOptions
from headrace.connectors.postgresql.types.type_facts import TypeFacts
from headrace.relational.types import binary
from headrace.relational.types.declaration import Declaration
from headrace.relational.types.options import TypeOptions


def bytea(_facts: TypeFacts, _typmod: int, options: PostgresTypeOptions) -> Declaration:
    """`bytea`."""
    return binary.binary(options.binary_handling_mode, values.bytea)


def unknown(options: TypeOptions) -> Declaration:
    """The bytes of the server's text of a type that Debezium does not know."""
    return binary.raw(options.binary_handling_mode)
