"""PostgreSQL's source block, its schema and the nodes of its fields, and the settings of events."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from headrace.connect.records import (
    Concat,
    Constant,
    Node,
    Part,
    RowField,
    Struct,
    TransactionField,
)
from headrace.connect.schema import Field, Schema, Type
from headrace.connectors.postgresql.types.options import DEFAULT_OPTIONS, PostgresTypeOptions
from headrace.debezium.event_format import EventFormat
from headrace.debezium.source_info import snapshot_marker, source_schema
from headrace.relational.events import RelationalSettings, RelationFacts, RelationKind
from headrace.streaming.facts import EventSettings

CONNECTOR = "postgresql"

_STRING = Schema(Type.STRING)
_INT64 = Schema(Type.INT64)
_OPTIONAL_STRING = Schema(Type.STRING, optional=True)
_OPTIONAL_INT64 = Schema(Type.INT64, optional=True)


@lru_cache
def postgresql_source(event_format: EventFormat) -> Schema:
    """The schema of the source block."""
    origins = (Field("origin", _OPTIONAL_STRING), Field("origin_lsn", _OPTIONAL_INT64))
    return source_schema(
        "io.debezium.connector.postgresql.Source",
        (
            Field("schema", _STRING),
            Field("table", _STRING),
            Field("txId", _OPTIONAL_INT64),
            Field("lsn", _OPTIONAL_INT64),
            Field("xmin", _OPTIONAL_INT64),
            *(origins if event_format.origins else ()),
        ),
        event_format,
    )


def lsn_pair(schema: Schema) -> Concat:
    """`sequence`: a JSON array, as text, of the last commit's LSN and the row's own."""
    last_commit = TransactionField(_OPTIONAL_INT64, "last_commit")
    return Concat(
        schema,
        (
            Part(last_commit, '["', '"', null="[null"),
            Part(RowField(_INT64, "place"), ',"', '"]'),
        ),
    )


def transaction_identifier() -> Concat:
    """The transaction's number and the row's LSN, as in `771:23803690`; null without number."""
    xid = TransactionField(_OPTIONAL_INT64, "xid")
    return Concat(_STRING, (Part(xid), Part(RowField(_INT64, "place"), ":")))


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
        schema = postgresql_source(settings.format)
        by_name: dict[str, Node] = {}
        for described in schema.fields:
            if facts.kind is RelationKind.INCREMENTAL and described.name in ("lsn", "txId"):
                by_name[described.name] = Constant(described.schema, None)
                continue
            by_name[described.name] = _source_node(
                described.name, described.schema, facts, settings, self
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
            return RowField(schema, "place")
        case "ts_ms" | "ts_us" | "ts_ns":
            return TransactionField(schema, "commit_" + name[3:])
        case "xmin" if source.xmin and facts.kind is not RelationKind.INCREMENTAL:
            return TransactionField(schema, "xmin")
        case "origin":
            return Constant(schema, facts.origin)
        case "origin_lsn" if facts.origin is not None:
            return TransactionField(schema, "origin_place")
    return Constant(schema, None)


@dataclass(frozen=True)
class PostgresSettings(RelationalSettings):
    """What all events of a run have in common."""

    source: PostgresSource
    types: PostgresTypeOptions = DEFAULT_OPTIONS
