"""What is PostgreSQL's own in events: the source block, and logical messages."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.connect.encoding import Encoding
from headrace.connect.records import (
    Cell,
    Constant,
    Image,
    Node,
    ProcessingTime,
    RowField,
    Shape,
    Struct,
    TransactionField,
)
from headrace.connect.schema import Schema
from headrace.connectors.postgresql.messages import MESSAGE_KEY, message_value_schema
from headrace.connectors.postgresql.source import (
    lsn_pair,
    postgresql_source,
    transaction_identifier,
)
from headrace.connectors.postgresql.types import binary as binary_types
from headrace.connectors.postgresql.types.options import DEFAULT_OPTIONS, PostgresTypeOptions
from headrace.connectors.postgresql.types.resolve import PostgresType
from headrace.connectors.postgresql.types.type_facts import TypeFacts
from headrace.debezium import transactions
from headrace.debezium.source_info import snapshot_marker
from headrace.relational.events import RelationalSettings, RelationFacts, RelationKind
from headrace.streaming.facts import EventSettings, TopicFacts

CONNECTOR = "postgresql"


@dataclass(frozen=True)
class PostgresSource:
    """The source block of a database; `xmin`: the rows of the log know the slot's xmin."""

    database: str
    xmin: bool = False
    connector: str = CONNECTOR

    def transaction_id(self) -> Node:
        """The transaction's number and the row's LSN."""
        return transaction_identifier()

    def block(self, facts: RelationFacts, settings: EventSettings) -> Struct:
        """The source block of a table's events."""
        return _source(facts, settings, self)


@dataclass(frozen=True)
class PostgresSettings(RelationalSettings):
    """What all events of a run have in common."""

    source: PostgresSource
    types: PostgresTypeOptions = DEFAULT_OPTIONS


def types_of(facts: RelationFacts) -> list[TypeFacts]:
    """The types of a table's columns."""
    declared = (column.type for column in facts.columns)
    return [one.facts for one in declared if isinstance(one, PostgresType)]


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
        assert isinstance(settings, RelationalSettings)
        no_table = RelationFacts("", "", "", (), (), origin=self.origin)
        return _message_shape(
            self.topic,
            settings.source.block(no_table, settings),
            settings.transaction_block(counted=self.transactional),
            settings,
        )


def _source(facts: RelationFacts, settings: EventSettings, source: PostgresSource) -> Struct:
    schema = postgresql_source(settings.format)
    by_name: dict[str, Node] = {}
    for described in schema.fields:
        if facts.kind is RelationKind.INCREMENTAL and described.name in ("lsn", "txId"):
            by_name[described.name] = Constant(described.schema, None)
            continue
        by_name[described.name] = _source_node(
            described.name, described.schema, facts, settings, source
        )
    return Struct(schema, tuple(by_name.values()))


def _source_node(
    name: str, schema: Schema, facts: RelationFacts, settings: EventSettings, source: PostgresSource
) -> Node:
    match name:
        case "version":
            return Constant(schema, settings.format.release)
        case "connector":
            return Constant(schema, CONNECTOR)
        case "name":
            return Constant(schema, settings.server)
        case "db":
            return Constant(schema, source.database)
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
        case "xmin" if source.xmin and facts.kind is not RelationKind.INCREMENTAL:
            return TransactionField(schema, "xmin")
        case "origin":
            return Constant(schema, facts.origin)
        case "origin_lsn" if facts.origin is not None:
            return TransactionField(schema, "origin_lsn")
    return Constant(schema, None)


def _message_shape(topic: str, source: Struct, block: Node, settings: RelationalSettings) -> Shape:
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
