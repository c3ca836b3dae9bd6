"""Facts of tables that tests make by hand."""

from __future__ import annotations

from typing import Any

from headrace.connectors.postgresql.source import PostgresSettings, PostgresSource
from headrace.connectors.postgresql.types.resolve import PostgresType
from headrace.connectors.postgresql.types.type_facts import NO_TYPMOD, TypeFacts
from headrace.debezium.column_rules import ColumnRule
from headrace.relational.events import ColumnFacts
from headrace.relational.types.column_type import ColumnType
from headrace.streaming.changes.key_columns import KeyRendering

KEYS = KeyRendering(PostgresSettings("", PostgresSource(""), converting="skip"))
"""The default rendering of keys."""


def column(
    name: str,
    type_name: str,
    oid: int = 1,
    typmod: int = NO_TYPMOD,
    *,
    nullable: bool = True,
    rule: ColumnRule | None = None,
) -> ColumnFacts:
    """A column of a type of pg_catalog, without default."""
    declared = PostgresType(TypeFacts(oid, type_name), typmod)
    return ColumnFacts(name, declared, nullable, None, rule=rule)


def resolve(facts: TypeFacts, typmod: int = NO_TYPMOD, **rendering: Any) -> ColumnType | None:
    """The rendering of a column of a type."""
    return PostgresType(facts, typmod).resolve(**rendering)
