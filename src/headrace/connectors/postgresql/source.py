"""PostgreSQL's source block: its schema, the nodes of its fields, and the settings of events."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from headrace.connect.records import (
    Concat,
    Node,
    RowField,
    Struct,
    TextPart,
    TransactionField,
)
from headrace.connect.schema import Field, Schema, Type
from headrace.connectors.postgresql.types.options import DEFAULT_OPTIONS, PostgresTypeOptions
from headrace.debezium.event_format import EventFormat
from headrace.debezium.source_info import source_block, source_schema
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
    """`sequence`: a JSON array, as text, of the last commit's LSN and the record's LSN."""
    last_commit = TransactionField(_OPTIONAL_INT64, "last_commit")
    return Concat(
        schema,
        (
            TextPart(last_commit, '["', '"', null="[null"),
            TextPart(RowField(_INT64, "place"), ',"', '"]'),
        ),
    )


@dataclass(frozen=True)
class PostgresSource:
    """The source block of a database; `xmin`: whether events have the slot's xmin (those of
    incremental snapshots never have it)."""

    database: str
    xmin: bool = False
    connector: str = CONNECTOR

    def transaction_id(self) -> Node:
        """The transaction's id and the record's LSN, as in `771:23803690`; null
        if the transaction has no id."""
        xid = TransactionField(_OPTIONAL_INT64, "xid")
        return Concat(_STRING, (TextPart(xid), TextPart(RowField(_INT64, "place"), ":")))

    def block(self, facts: RelationFacts, settings: EventSettings) -> Struct:
        """The source block of a table's events."""
        nodes: dict[str, Node] = {"sequence": lsn_pair(_OPTIONAL_STRING)}
        if facts.kind is not RelationKind.INCREMENTAL:
            nodes["txId"] = TransactionField(_OPTIONAL_INT64, "xid")
            nodes["lsn"] = RowField(_OPTIONAL_INT64, "place")
            if self.xmin:
                nodes["xmin"] = TransactionField(_OPTIONAL_INT64, "xmin")
        if facts.origin is not None:
            nodes["origin_lsn"] = TransactionField(_OPTIONAL_INT64, "origin_place")
        return source_block(
            postgresql_source(settings.format),
            nodes,
            version=settings.format.release,
            connector=CONNECTOR,
            name=settings.server,
            db=self.database,
            schema=facts.schema,
            table=facts.table,
            origin=facts.origin,
        )


@dataclass(frozen=True)
class PostgresSettings(RelationalSettings):
    """The settings that all events of a run share."""

    source: PostgresSource
    types: PostgresTypeOptions = DEFAULT_OPTIONS
