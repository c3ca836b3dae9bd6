"""Tables or collections whose events share a topic or a schema name without being asked to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.debezium.naming.names import NameAdjustment
from headrace.debezium.naming.topics import TopicNames


@dataclass(frozen=True)
class NameClash:
    """`kind`: topic or schema name."""

    kind: str
    name: str
    tables: tuple[str, ...]
    remedy: str

    def __str__(self) -> str:
        tables = ", ".join(self.tables[:-1]) + f" and {self.tables[-1]}"
        return f"{tables} get one {self.kind}, {self.name}"


_TOPIC_REMEDY = (
    "Their events cannot be told apart by topic: capture one of them, rename one, or set "
    "topic.naming.strategy to one that keeps names distinct (SchemaUnicodeTopicNamingStrategy)."
)
_SCHEMA_REMEDY = (
    "A schema registry takes one for a change of the other: rename one, or set "
    "schema.name.adjustment.mode=avro_unicode, which keeps names distinct."
)


def name_clashes(
    tables: Sequence[tuple[str, str]], topics: TopicNames, names: NameAdjustment
) -> list[NameClash]:
    """`tables` by (schema, table). A topic that an expression routes tables to is theirs on
    purpose."""
    by_topic: dict[str, list[tuple[str, str]]] = {}
    for table in tables:
        by_topic.setdefault(topics.data(*table), []).append(table)
    clashes = []
    by_schema: dict[str, list[tuple[str, str]]] = {}
    for topic, sharing in by_topic.items():
        by_schema.setdefault(names.schema(f"{topic}.Value"), []).append(sharing[0])
        unrouted = {topics.sanitizer(topics.origin(*table)) for table in sharing}
        if len(sharing) > 1 and len(unrouted) < len(sharing):
            clashes.append(NameClash("topic", topic, _named(sharing), _TOPIC_REMEDY))
    for schema, sharing in by_schema.items():
        if len(sharing) > 1:
            clashes.append(NameClash("schema name", schema, _named(sharing), _SCHEMA_REMEDY))
    return clashes


def _named(tables: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(".".join(table) for table in tables)
