"""Tables or collections whose events share a topic or a schema name by accident."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.debezium.naming.names import NameAdjustment
from headrace.debezium.naming.topics import TopicNames


@dataclass(frozen=True)
class NameClash:
    """Tables with equal names. `kind`: topic, schema name, or schema names."""

    kind: str
    name: str
    tables: tuple[str, ...]
    remedy: str

    def __str__(self) -> str:
        tables = ", ".join(self.tables[:-1]) + f" and {self.tables[-1]}"
        which = "the same" if self.kind.endswith("s") else "one"
        return f"{tables} get {which} {self.kind}, {self.name}"


_TOPIC_REMEDY = (
    "Their events cannot be distinguished by topic: capture one of them, rename one, or set "
    "topic.naming.strategy to one that keeps names distinct (SchemaUnicodeTopicNamingStrategy)."
)
_SCHEMA_REMEDY = (
    "A schema registry takes one for a change of the other: rename one, or set "
    "schema.name.adjustment.mode=avro_unicode, which keeps names distinct."
)


def name_clashes(
    tables: Sequence[tuple[str, str]],
    topics: TopicNames,
    names: NameAdjustment,
    schemas: Sequence[str] = ("Value",),
) -> list[NameClash]:
    """Return the clashes of `tables` (schema, table). Tables that a routing expression sends to the
    same topic do not clash. `schemas` are the last parts of those schema names of a table's events
    that must differ between tables."""
    by_topic: dict[str, list[tuple[str, str]]] = {}
    for table in tables:
        by_topic.setdefault(topics.data(*table), []).append(table)
    clashes = []
    by_schema: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for topic, sharing in by_topic.items():
        named = tuple(names.schema(f"{topic}.{last}") for last in schemas)
        by_schema.setdefault(named, []).append(sharing[0])
        unrouted = {topics.sanitizer(topics.origin(*table)) for table in sharing}
        if len(sharing) > 1 and len(unrouted) < len(sharing):
            clashes.append(NameClash("topic", topic, _named(sharing), _TOPIC_REMEDY))
    for named, sharing in by_schema.items():
        if len(sharing) > 1:
            kind = "schema name" if len(named) == 1 else "schema names"
            clashes.append(NameClash(kind, " and ".join(named), _named(sharing), _SCHEMA_REMEDY))
    return clashes


def _named(tables: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(".".join(table) for table in tables)
