"""What PostgreSQL's tables and logical messages look like as events: facts → shapes.

Facts are small and picklable; a task makes the shape once and keeps it.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from headrace.connect.encoding import Encoding
from headrace.connect.records import (
    Cell,
    Constant,
    Header,
    Image,
    Node,
    ProcessingTime,
    RowField,
    Shape,
    Struct,
    TransactionField,
)
from headrace.connect.schema import Schema, Type
from headrace.connect.sized_cache import SizedCache
from headrace.connectors.postgresql.catalog.type_facts import Column, TypeFacts, TypeOptions
from headrace.connectors.postgresql.column_rendering import under_rule
from headrace.connectors.postgresql.messages import MESSAGE_KEY, message_value_schema
from headrace.connectors.postgresql.reselection import Lookup
from headrace.connectors.postgresql.source import (
    lsn_pair,
    postgresql_source,
    transaction_identifier,
)
from headrace.connectors.postgresql.types import binary as binary_types
from headrace.connectors.postgresql.types.resolve import NO_PLACEHOLDER, ColumnType, resolve
from headrace.debezium import transactions
from headrace.debezium.column_rules import ColumnRule
from headrace.debezium.event_format import CURRENT, EventFormat
from headrace.debezium.events import ColumnCells, change_event, context_headers
from headrace.debezium.names import AS_NAMED, NameAdjustment
from headrace.debezium.notifications import NOTIFICATION_KEY, NOTIFICATION_VALUE
from headrace.debezium.source_info import snapshot_marker
from headrace.errors import HeadraceError

CONNECTOR = "postgresql"
_MESSAGES = ("message", "message outside")


@dataclass(frozen=True)
class ColumnFacts:
    """One column of a relation version, in the order of its images.

    `default` is pg_get_expr of its default (None: none); `captured` False keeps it out of
    `before` and `after` (a key column stays in the key). `rule` is what the configuration asks for
    the column, `comment` its comment in the database.
    """

    name: str
    type: TypeFacts
    typmod: int
    nullable: bool
    default: str | None
    captured: bool = True
    rule: ColumnRule | None = None
    comment: str | None = None


@dataclass(frozen=True)
class RelationFacts:
    """A table between two schema changes. `kind`: table, truncate (no key), message, message
    outside a transaction, the begin or end of a transaction, incremental (its rows are read, and
    have no place in the log), or notification. `key_fields` are constants behind the key columns;
    `lookup` says what of new rows is read again; `origin` names where the transaction was
    replicated from."""

    schema: str
    table: str
    topic: str
    columns: tuple[ColumnFacts, ...]
    key: tuple[str, ...]
    kind: str = "table"
    key_fields: tuple[tuple[str, str], ...] = ()
    lookup: Lookup | None = None
    origin: str | None = None

    @property
    def name(self) -> str:
        """schema.table"""
        return f"{self.schema}.{self.table}"

    @property
    def types(self) -> tuple[TypeFacts, ...]:
        """Those of the columns."""
        return tuple(column.type for column in self.columns)

    @property
    def collection(self) -> str:
        """What transaction metadata calls it."""
        return transactions.MESSAGES if self.kind.startswith("message") else self.name


@dataclass(frozen=True)
class EventSettings:
    """What all events of a run have in common."""

    server: str
    database: str
    types: TypeOptions = field(default_factory=TypeOptions)
    run: str = ""  # empty: no context headers
    task: str = "0"
    counted: bool = False  # the rows know their order in their transaction
    format: EventFormat = CURRENT
    names: NameAdjustment = AS_NAMED
    converting: str = "warn"  # event.converting.failure.handling.mode
    xmin: bool = False  # the rows of the log know the slot's xmin


def column_type(
    facts: RelationFacts, column: ColumnFacts, options: TypeOptions
) -> ColumnType | None:
    """How the column is rendered; None when Debezium leaves its type out."""
    return resolve(
        column.type,
        column.typmod,
        optional=column.nullable,
        default=column.default,
        options=options,
        column=Column(facts.name, column.name),
    )


@dataclass(frozen=True)
class _Strict:
    """A decoder for which a value that cannot be converted is an error."""

    kind: ColumnType

    def __call__(self, text: bytes) -> object:
        value = self.kind.decoder(text)
        if value is None:
            raise HeadraceError(
                "postgresql.value_not_representable",
                f"{self.kind.column} ({self.kind.type_name}) has a value that "
                f"{self.kind.schema.name or self.kind.schema.type.value} cannot hold",
                "Set event.converting.failure.handling.mode=warn to get null, or "
                "decimal.handling.mode=double or string for NaN and infinite numerics.",
            )
        return value


def _decoder(kind: ColumnType, converting: str) -> Callable[[bytes], object]:
    if converting == "fail":
        return _Strict(kind)
    if converting != "warn" and kind.schema.optional:
        return kind.decoder  # null without a word
    return kind.decode


def column_cell(facts: RelationFacts, index: int, settings: EventSettings) -> Cell | None:
    """A column's cell in the key, and in rows unless it has a rule; None when Debezium leaves its
    type out."""
    column = facts.columns[index]
    kind = column_type(facts, column, settings.types)
    if kind is None:
        return None
    schema = kind.schema
    if column.comment is not None:
        schema = replace(schema, doc=column.comment)
    return Cell(
        schema=schema,
        image=Image.NEW,
        column=index,
        encoding=kind.encoding,
        parameter=kind.parameter,
        decode=_decoder(kind, settings.converting),
        null=kind.fallback,
        unavailable=None if kind.unavailable is NO_PLACEHOLDER else kind.unavailable,
    )


def _source(facts: RelationFacts, settings: EventSettings) -> Struct:
    schema = postgresql_source(settings.format)
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
            return Constant(schema, settings.format.release)
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
            return snapshot_marker(schema)
        case "sequence":
            return lsn_pair(schema)
        case "txId":
            return TransactionField(schema, "xid")
        case "lsn":
            return RowField(schema, "lsn")
        case "ts_ms" | "ts_us" | "ts_ns":
            return TransactionField(schema, "commit_" + name[3:])
        case "xmin" if settings.xmin and facts.kind != "incremental":
            return TransactionField(schema, "xmin")
        case "origin":
            return Constant(schema, facts.origin)
        case "origin_lsn" if facts.origin is not None:
            return TransactionField(schema, "origin_lsn")
    return Constant(schema, None)


PackedFacts = bytes
"""Facts of a relation version, pickled once by the source process, however many slices and
ranges show it: a task that has its shape already does not unpack them."""


def unpack(packed: PackedFacts) -> RelationFacts:
    """The facts that a FactsPacker packed."""
    facts: RelationFacts = pickle.loads(packed)  # noqa: S301 - of the source process
    return facts


_SHAPE_BYTES = 256 << 20
_shapes: SizedCache[tuple[RelationFacts | PackedFacts, EventSettings], Shape] = SizedCache(
    _SHAPE_BYTES
)


def nbytes_of(facts: RelationFacts) -> int:
    """Bytes that the relation's shape takes, with the programs that a converter makes of it; at
    least, and about twice, what was measured."""
    texts = sum(
        len(column.name) + len(column.default or "") + len(column.comment or "")
        for column in facts.columns
    )
    types = [column.type.element or column.type for column in facts.columns]
    labels = sum(len(label) for described in types for label in described.labels)
    return 40_000 + 3_000 * len(facts.columns) + 20 * (texts + labels)


def shape_of(facts: RelationFacts | PackedFacts, settings: EventSettings) -> Shape:
    """The shape of a relation's events: the same one while it is kept, so that converters, which
    keep its programs as long as it lives, compile it once."""
    key = (facts, settings)
    shape = _shapes.get(key)
    if shape is None:
        unpacked = unpack(facts) if isinstance(facts, bytes) else facts
        shape = _make_shape(unpacked, settings)
        _shapes.put(key, shape, nbytes_of(unpacked))
    return shape


def _make_shape(facts: RelationFacts, settings: EventSettings) -> Shape:
    if facts.kind == "notification":
        return _notification_shape(facts)
    identifier = transaction_identifier()
    if facts.kind in ("begin", "end"):
        return transactions.border(facts.topic, identifier, begins=facts.kind == "begin")
    block: Node = transactions.no_block()
    if settings.counted and facts.kind not in ("message outside", "incremental"):
        block = transactions.block(identifier)
    headers: tuple[Header, ...] = ()
    if settings.run and facts.kind not in _MESSAGES:
        headers = context_headers(settings.server, settings.task, CONNECTOR, settings.run)
    source = _source(facts, settings)
    if facts.kind in _MESSAGES:
        return _message_shape(facts, source, block, settings)
    rows: list[ColumnCells] = []
    keys: dict[str, ColumnCells] = {}
    for index, column in enumerate(facts.columns):
        if not column.captured and column.name not in facts.key:
            continue
        name, cell = column.name, column_cell(facts, index, settings)
        if cell is None:
            continue
        keys[name] = ColumnCells(name, cell)
        if column.captured:
            ruled = under_rule(cell, column.rule, column.type, column.typmod, name, column.comment)
            rows.append(ColumnCells(name, ruled))
    key: list[ColumnCells] = []
    if facts.kind in ("table", "incremental"):
        key = [keys[name] for name in facts.key if name in keys]
        key += [
            ColumnCells(name, Constant(Schema(Type.STRING), value))
            for name, value in facts.key_fields
        ]
    return change_event(
        facts.topic, rows, key, source, headers, block, settings.format, settings.names
    )


def _message_shape(
    facts: RelationFacts, source: Struct, block: Node, settings: EventSettings
) -> Shape:
    shown = binary_types.unknown(settings.types)
    value = message_value_schema(shown.schema.type, settings.format)

    def of(schema: Schema, name: str) -> Schema:
        found = schema.field_named(name)
        assert found is not None
        return found

    message = of(value, "message")
    prefix = of(message, "prefix")

    def text(image: Image) -> Cell:
        return Cell(prefix, image, 0, Encoding.STRING, 0, lambda raw: raw.decode())

    content = Cell(of(message, "content"), Image.NEW, 1, Encoding.PYTHON, 0, shown.decoder)
    return Shape(
        facts.topic,
        Struct(MESSAGE_KEY, (text(Image.KEY),), Image.KEY),
        Struct(
            value,
            (
                RowField(of(value, "op"), "operation", character=True),
                ProcessingTime(of(value, "ts_ms"), "ms"),
                source,
                *((block,) if settings.format.counts_messages else ()),
                Struct(message, (text(Image.NEW), content)),
            ),
        ),
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
