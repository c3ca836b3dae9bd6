"""Finds the operators that compare values of extensions' types."""

from __future__ import annotations

from collections.abc import Iterable

import psycopg

from headrace.connectors.postgresql.reading.dialect import SQL
from headrace.connectors.postgresql.types.type_facts import SYSTEM_SCHEMA, TypeFacts


class Operators:
    """The search path of a connection for operators: PostgreSQL's own first, then the schemas of
    extensions' types; never other schemas, in which other users may create operators."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        self._schemas: set[str] | None = None

    def find(self, types: Iterable[TypeFacts]) -> None:
        """Set the search path to find operators on these types only."""
        schemas = _schemas(types)
        if schemas == self._schemas:
            return
        names = map(SQL.dialect.quoted, (SYSTEM_SCHEMA, *sorted(schemas), "pg_temp"))
        self._connection.execute(f"SET search_path = {', '.join(names)}".encode())
        self._schemas = schemas


def _schemas(types: Iterable[TypeFacts]) -> set[str]:
    """The schemas of types that extensions define, which have their operators; PostgreSQL's own
    operators serve arrays, enums, ranges and composite types of every schema."""
    bases = (facts.base_type()[0] for facts in types)
    return {
        base.schema
        for base in bases
        if base.schema != SYSTEM_SCHEMA and base.kind == "b" and base.element is None
    }
