"""What the events of a PostgreSQL database have in common."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.connectors.postgresql.source import PostgresSource
from headrace.connectors.postgresql.types.options import DEFAULT_OPTIONS, PostgresTypeOptions
from headrace.connectors.postgresql.types.resolve import PostgresType
from headrace.connectors.postgresql.types.type_facts import TypeFacts
from headrace.relational.events import RelationalSettings, RelationFacts


@dataclass(frozen=True)
class PostgresSettings(RelationalSettings):
    """What all events of a run have in common."""

    source: PostgresSource
    types: PostgresTypeOptions = DEFAULT_OPTIONS


def types_of(facts: RelationFacts) -> list[TypeFacts]:
    """The types of a table's columns."""
    declared = (column.type for column in facts.columns)
    return [one.facts for one in declared if isinstance(one, PostgresType)]
