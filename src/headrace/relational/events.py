"""What PostgreSQL's tables and logical messages look like as events: facts → shapes.

Facts are small and picklable; a task makes the shape once and keeps it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from headrace.connect.encoding import Encoding
from headrace.connect.records import (
    Cell,
    Constant,
    Image,
    LsnPair,
    Marker,
    Node,
    ProcessingTime,
    RowField,
    Shape,
    Struct,
    TransactionField,
    TransactionLsn,
)
from headrace.connect.schema import Schema, Type
from headrace.connectors.postgresql.types.type_facts import Column, TypeFacts, TypeOptions
from headrace.relational.column_rendering import under_rule
from headrace.relational.reselection import Lookup
from headrace.relational.types import binary as binary_types
from headrace.connectors.postgresql.types.resolve import NO_PLACEHOLDER, ColumnType, resolve
from headrace.debezium import source_info, transactions
from headrace.debezium.column_rules import ColumnRule
from headrace.debezium.events import ColumnCells, change_event
from headrace.debezium.messages import MESSAGE_KEY, message_value_schema
from headrace.errors import HeadraceError
from headrace.streaming.facts import EventSettings, TopicFacts

CONNECTOR = "postgresql"


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


class RelationKind(StrEnum):
    """What the records of a relation version are."""

    CHANGES = "changes"
    """Changes of rows, and rows of snapshots."""
    TRUNCATES = "truncates"
    """Truncations: their events have no key."""
    INCREMENTAL = "incremental"
    """Rows that incremental chunks read, which have no place in the log."""


@dataclass(frozen=True)
class RelationFacts:
    """A table between two schema changes. `key_fields` are constants behind the key columns;
    `lookup` says what of new rows is read again; `origin` names where the transaction was
    replicated from."""

    schema: str
    table: str
    topic: str
    columns: tuple[ColumnFacts, ...]
    key: tuple[str, ...]
    kind: RelationKind = RelationKind.CHANGES
    key_fields: tuple[tuple[str, str], ...] = ()
    lookup: Lookup | None = None
    origin: str | None = None

    @property
    def name(self) -> str:
        """schema.table"""
        return f"{self.schema}.{self.table}"

    @property
    def collection(self) -> str:
        """What transaction metadata calls the table."""
        return self.name

    @property
    def types(self) -> tuple[TypeFacts, ...]:
        """The types of the columns."""
        return tuple(column.type for column in self.columns)

    @property
    def cell_names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def holds_changes(self) -> bool:
        """Whether its records are changes of single rows."""
        return self.kind is RelationKind.CHANGES

    @property
    def wants_lookup(self) -> bool:
        """Whether a post-processor reads cells of its new rows again."""
        return self.lookup is not None

    @property
    def nbytes(self) -> int:
        """Bytes that the shape takes, with the programs that a converter makes of it; at least,
        and about twice, what was measured."""
        texts = sum(
            len(column.name) + len(column.default or "") + len(column.comment or "")
            for column in self.columns
        )
        types = [column.type.element or column.type for column in self.columns]
        labels = sum(len(label) for described in types for label in described.labels)
        return 40_000 + 3_000 * len(self.columns) + 20 * (texts + labels)

    def as_incremental(self) -> RelationFacts:
        """The facts of the table's rows as incremental chunks read them."""
        return replace(self, kind=RelationKind.INCREMENTAL)

    def as_truncates(self) -> RelationFacts:
        """The facts of the table's truncations."""
        return RelationFacts(
            self.schema, self.table, self.topic, self.columns, self.key, RelationKind.TRUNCATES
        )

    def key_cells(self, settings: EventSettings) -> list[Cell]:
        """The cells of the key columns, in key order; columns of types that events leave out are
        none of them."""
        names = self.cell_names
        places = [names.index(name) for name in dict.fromkeys(self.key) if name in names]
        cells = (column_cell(self, place, settings) for place in places)
        return [cell for cell in cells if cell is not None]

    def shown_cells(self, settings: EventSettings) -> list[tuple[Cell, Cell | Constant]]:
        """The cells of the captured columns: as they are, and as rows of events show them."""
        pairs: list[tuple[Cell, Cell | Constant]] = []
        for index, column in enumerate(self.columns):
            cell = column_cell(self, index, settings) if column.captured else None
            if cell is not None:
                pairs.append((cell, _as_shown(cell, column)))
        return pairs

    def shape(self, settings: EventSettings) -> Shape:
        """The shape of the table's events."""
        rows: list[ColumnCells] = []
        keys: dict[str, ColumnCells] = {}
        for index, column in enumerate(self.columns):
            if not column.captured and column.name not in self.key:
                continue
            name, cell = column.name, column_cell(self, index, settings)
            if cell is None:
                continue
            keys[name] = ColumnCells(name, cell)
            if column.captured:
                rows.append(ColumnCells(name, _as_shown(cell, column)))
        key: list[ColumnCells] = []
        if self.kind is not RelationKind.TRUNCATES:
            key = [keys[name] for name in self.key if name in keys]
            key += [
                ColumnCells(name, Constant(Schema(Type.STRING), value))
                for name, value in self.key_fields
            ]
        return change_event(
            self.topic,
            rows,
            key,
            _source(self, settings),
            settings.headers(),
            settings.transaction_block(counted=self.kind is not RelationKind.INCREMENTAL),
            settings.format,
            settings.names,
        )


@dataclass(frozen=True)
class MessageFacts(TopicFacts):
    """Logical messages; their images have prefix and content. `transactional` ones are part of a
    transaction."""

    transactional: bool
    origin: str | None = None

    @property
    def collection(self) -> str:
        """What transaction metadata counts messages under."""
        return transactions.MESSAGES

    def shape(self, settings: EventSettings) -> Shape:
        """The shape of messages, which have no context headers."""
        return _message_shape(
            self.topic,
            _source(RelationFacts("", "", "", (), (), origin=self.origin), settings),
            settings.transaction_block(counted=self.transactional),
            _postgres(settings),
        )


@dataclass(frozen=True)
class PostgresSource:
    """The source block of a database; `xmin`: the rows of the log know the slot's xmin."""

    database: str
    xmin: bool = False
    connector: str = CONNECTOR

    def transaction_id(self) -> Node:
        """The transaction's number and the row's LSN."""
        return TransactionLsn(Schema(Type.STRING))


@dataclass(frozen=True)
class PostgresSettings(EventSettings):
    """What all events of a run have in common."""

    source: PostgresSource = field(default_factory=lambda: PostgresSource(""))
    types: TypeOptions = field(default_factory=TypeOptions)
    converting: str = "warn"  # event.converting.failure.handling.mode


def _postgres(settings: EventSettings) -> PostgresSettings:
    assert isinstance(settings, PostgresSettings)
    return settings


def _as_shown(cell: Cell, column: ColumnFacts) -> Cell | Constant:
    return under_rule(cell, column.rule, column.type, column.typmod, column.name, column.comment)


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
    column, options = facts.columns[index], _postgres(settings)
    kind = column_type(facts, column, options.types)
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
        decode=_decoder(kind, options.converting),
        null=kind.fallback,
        unavailable=None if kind.unavailable is NO_PLACEHOLDER else kind.unavailable,
    )


def _source(facts: RelationFacts, settings: EventSettings) -> Struct:
    options = _postgres(settings)
    schema = source_info.postgresql_source(settings.format)
    by_name: dict[str, Node] = {}
    for described in schema.fields:
        if facts.kind is RelationKind.INCREMENTAL and described.name in ("lsn", "txId"):
            by_name[described.name] = Constant(described.schema, None)
            continue
        by_name[described.name] = _source_node(described.name, described.schema, facts, options)
    return Struct(schema, tuple(by_name.values()))


def _source_node(
    name: str, schema: Schema, facts: RelationFacts, settings: PostgresSettings
) -> Node:
    match name:
        case "version":
            return Constant(schema, settings.format.release)
        case "connector":
            return Constant(schema, CONNECTOR)
        case "name":
            return Constant(schema, settings.server)
        case "db":
            return Constant(schema, settings.source.database)
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
        case "xmin" if settings.source.xmin and facts.kind is not RelationKind.INCREMENTAL:
            return TransactionField(schema, "xmin")
        case "origin":
            return Constant(schema, facts.origin)
        case "origin_lsn" if facts.origin is not None:
            return TransactionField(schema, "origin_lsn")
    return Constant(schema, None)


def _message_shape(topic: str, source: Struct, block: Node, settings: PostgresSettings) -> Shape:
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
        topic,
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
