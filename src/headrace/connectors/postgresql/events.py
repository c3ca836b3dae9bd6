"""What PostgreSQL's tables and logical messages look like as events: facts → shapes.

Facts are small and picklable; a task makes the shape once and keeps it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import lru_cache

from headrace.connect.encoding import Encoding
from headrace.connect.records import (
    Cell,
    Constant,
    Header,
    Image,
    LsnPair,
    Marker,
    Node,
    ProcessingTime,
    RowField,
    Shape,
    Struct,
    TransactionField,
)
from headrace.connect.schema import Schema
from headrace.connectors.postgresql.type_facts import Column, TypeFacts, TypeOptions
from headrace.connectors.postgresql.types import NO_PLACEHOLDER, ColumnType, resolve
from headrace.debezium import source_info
from headrace.debezium.events import VERSION, ColumnCells, change_event, context_headers
from headrace.debezium.messages import MESSAGE_KEY, message_value_schema
from headrace.debezium.notifications import NOTIFICATION_KEY, NOTIFICATION_VALUE

CONNECTOR = "postgresql"


@dataclass(frozen=True)
class ColumnFacts:
    """One column of a relation version, in the order of its images.

    `default` is pg_get_expr of its default (None: none); `captured` False keeps it out of
    `before` and `after` (a key column stays in the key).
    """

    name: str
    type: TypeFacts
    typmod: int
    nullable: bool
    default: str | None
    captured: bool = True


@dataclass(frozen=True)
class RelationFacts:
    """A table between two schema changes. `kind`: table, truncate (no key), incremental (its rows
    are read, and have no place in the log), message, notification."""

    schema: str
    table: str
    topic: str
    columns: tuple[ColumnFacts, ...]
    key: tuple[str, ...]
    kind: str = "table"

    @property
    def name(self) -> str:
        """schema.table"""
        return f"{self.schema}.{self.table}"


@dataclass(frozen=True)
class EventSettings:
    """What all events of a run have in common."""

    server: str
    database: str
    types: TypeOptions = field(default_factory=TypeOptions)
    run: str = ""  # empty: no context headers
    task: str = "0"


def column_type(
    facts: RelationFacts, column: ColumnFacts, options: TypeOptions
) -> ColumnType | None:
    """How the column is rendered; None when Debezium leaves its type out.

    Raises HeadraceError("postgresql.type_not_supported").
    """
    return resolve(
        column.type,
        column.typmod,
        optional=column.nullable,
        default=column.default,
        options=options,
        column=Column(facts.name, column.name),
    )


def _cell(index: int, kind: ColumnType) -> Cell:
    return Cell(
        schema=kind.schema,
        image=Image.NEW,
        column=index,
        encoding=kind.encoding,
        parameter=kind.parameter,
        decode=kind.decode,
        null=kind.fallback,
        unavailable=None if kind.unavailable is NO_PLACEHOLDER else kind.unavailable,
    )


def _source(facts: RelationFacts, settings: EventSettings) -> Struct:
    schema = source_info.POSTGRESQL
    by_name: dict[str, Node] = {}
    for described in schema.fields:
        if facts.kind == "incremental" and described.name in ("lsn", "txId"):
            by_name[described.name] = Constant(described.schema, None)
            continue
        by_name[described.name] = _source_node(described.name, described.schema, facts, settings)
    return Struct(schema, tuple(by_name.values()))


def _source_node(name: str, schema: Schema, facts: RelationFacts, settings: EventSettings) -> Node:
    match name:
        case "version":
            return Constant(schema, VERSION)
        case "connector":
            return Constant(schema, CONNECTOR)
        case "name":
            return Constant(schema, settings.server)
        case "db":
            return Constant(schema, settings.database)
        case "schema":
            return Constant(schema, facts.schema)
        case "table":
            return Constant(schema, facts.table)
        case "snapshot":
            return Marker(schema)
        case "sequence":
            return LsnPair(schema)
        case "txId":
            return TransactionField(schema, "xid")
        case "lsn":
            return RowField(schema, "lsn")
        case "ts_ms" | "ts_us" | "ts_ns":
            return TransactionField(schema, "commit_" + name[3:])
    return Constant(schema, None)


@lru_cache(maxsize=4096)
def shape_of(facts: RelationFacts, settings: EventSettings) -> Shape:
    """The shape of a relation's events."""
    if facts.kind == "notification":
        return _notification_shape(facts)
    headers: tuple[Header, ...] = ()
    if settings.run and facts.kind != "message":
        headers = context_headers(settings.server, settings.task, CONNECTOR, settings.run)
    source = _source(facts, settings)
    if facts.kind == "message":
        return _message_shape(facts, source, headers)
    found: dict[str, ColumnCells] = {}
    for index, column in enumerate(facts.columns):
        if not column.captured and column.name not in facts.key:
            continue
        kind = column_type(facts, column, settings.types)
        if kind is not None:
            found[column.name] = ColumnCells(column.name, _cell(index, kind))
    captured = [found[c.name] for c in facts.columns if c.captured and c.name in found]
    keyed = facts.kind in ("table", "incremental")
    key = [found[name] for name in facts.key if name in found and keyed]
    return change_event(facts.topic, captured, key, source, headers)


def _message_shape(facts: RelationFacts, source: Struct, headers: tuple[Header, ...]) -> Shape:
    value = message_value_schema()

    def of(schema: Schema, name: str) -> Schema:
        found = schema.field_named(name)
        assert found is not None
        return found

    message = of(value, "message")
    prefix = of(message, "prefix")

    def text(image: Image) -> Cell:
        return Cell(prefix, image, 0, Encoding.STRING, 0, lambda raw: raw.decode())

    content = Cell(of(message, "content"), Image.NEW, 1, Encoding.PYTHON, 0, bytes)
    return Shape(
        facts.topic,
        Struct(MESSAGE_KEY, (text(Image.KEY),), Image.KEY),
        Struct(
            value,
            (
                RowField(of(value, "op"), "operation", character=True),
                ProcessingTime(of(value, "ts_ms"), "ms"),
                source,
                Constant(of(value, "transaction"), None),
                Struct(message, (text(Image.NEW), content)),
            ),
        ),
        headers,
    )


def _notification_shape(facts: RelationFacts) -> Shape:
    def text(schema: Schema, column: int) -> Cell:
        return Cell(schema, Image.NEW, column, Encoding.STRING, 0, bytes.decode)

    key_id = NOTIFICATION_KEY.fields[0].schema
    identity, kind, aggregate, additional, timestamp = (
        field.schema for field in NOTIFICATION_VALUE.fields
    )
    return Shape(
        facts.topic,
        Struct(NOTIFICATION_KEY, (text(key_id, 0),)),
        Struct(
            NOTIFICATION_VALUE,
            (
                text(identity, 0),
                text(kind, 1),
                text(aggregate, 2),
                Cell(additional, Image.NEW, 3, Encoding.PYTHON, 0, json.loads),
                Cell(timestamp, Image.NEW, 4, Encoding.PYTHON, 0, int),
            ),
        ),
    )
