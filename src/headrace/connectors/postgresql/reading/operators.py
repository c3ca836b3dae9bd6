"""Finds the operators that compare values of extensions' types."""

from __future__ import annotations

from collections.abc import Iterable

import psycopg

from headrace.connectors.postgresql.reading.dialect import SQL
from headrace.connectors.postgresql.types.type_facts import SYSTEM_SCHEMA, TypeFacts


class Operators:
    """The operators that queries on a connection find: PostgreSQL's own first, and those of
    extensions' types; never those of whoever may create in another schema."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        self._schemas: set[str] | None = None

    def find(self, types: Iterable[TypeFacts]) -> None:
        """From now on finds operators on these types, and not on others."""
        schemas = _schemas(types)
        if schemas == self._schemas:
            return
        names = map(SQL.dialect.quoted, (SYSTEM_SCHEMA, *sorted(schemas), "pg_temp"))
        self._connection.execute(f"SET search_path = {', '.join(names)}".encode())
        self._schemas = schemas


def _schemas(types: Iterable[TypeFacts]) -> set[str]:
    """Where the operators of types are that extensions bring; PostgreSQL's own serve arrays,
    enums, ranges and composite types of every schema."""
    bases = (facts.undomained()[0] for facts in types)
    return {
        base.schema
        for base in bases
        if base.schema != SYSTEM_SCHEMA and base.kind == "b" and base.element is None
    }
