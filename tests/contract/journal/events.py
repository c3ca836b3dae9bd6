"""What the journal's records say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headrace.connect.encoding import Encoding
from headrace.connect.records import (
    Cell,
    Concat,
    Constant,
    Image,
    Node,
    Part,
    RowField,
    Shape,
    Struct,
    TransactionField,
)
from headrace.connect.schema import Field, Schema, Type
from headrace.debezium.events import ColumnCells, change_event
from headrace.debezium.source_info import snapshot_marker, source_schema
from headrace.streaming.facts import EventSettings, Facts, TopicFacts

_TEXT, _OPTIONAL_TEXT = Schema(Type.STRING), Schema(Type.STRING, optional=True)
_INT64 = Schema(Type.INT64)
_OWN = (Field("collection", _TEXT), Field("txId", _OPTIONAL_TEXT), Field("position", _TEXT))
ID = Cell(_INT64, Image.NEW, 0, Encoding.RAW, 8, int)
TEXT = Cell(_OPTIONAL_TEXT, Image.NEW, 1, Encoding.STRING, 0, bytes.decode)


@dataclass(frozen=True)
class JournalSource:
    """See headrace.streaming.facts.SourceBlock."""

    connector: str = "journal"

    def transaction_id(self) -> Node:
        return Cell(_OPTIONAL_TEXT, Image.TRANSACTION, 0, Encoding.STRING, 0, bytes.decode)


@dataclass(frozen=True)
class JournalFacts(TopicFacts):
    """Of the collection `of`; `incremental`: its rows have no place in the log."""

    of: str
    incremental: bool = False
    name = collection = property(lambda facts: facts.of)  # type: ignore[assignment]
    key = ("id",)
    cell_names = ("id", "text")
    holds_changes = True

    def as_incremental(self) -> Facts:
        return JournalFacts(self.topic, self.of, incremental=True)

    def key_cells(self, settings: EventSettings) -> list[Cell]:
        return [ID]

    def shown_cells(self, settings: EventSettings) -> list[tuple[Cell, Cell | Constant]]:
        return [(ID, ID), (TEXT, TEXT)]

    def shape(self, settings: EventSettings) -> Shape:
        schema = source_schema("journal.Source", _OWN, settings.format)
        nodes: dict[str, Callable[[Schema], Node]] = {
            "version": lambda schema: Constant(schema, "1"),
            "connector": lambda schema: Constant(schema, settings.source.connector),
            "name": lambda schema: Constant(schema, settings.server),
            "ts_ms": lambda schema: TransactionField(schema, "commit_ms"),
            "ts_us": lambda schema: TransactionField(schema, "commit_us"),
            "ts_ns": lambda schema: TransactionField(schema, "commit_ns"),
            "snapshot": snapshot_marker,
            "db": lambda schema: Constant(schema, "journal"),
            "sequence": lambda schema: Constant(schema, None),
            "collection": lambda schema: Constant(schema, self.of),
            "txId": lambda _schema: settings.source.transaction_id(),
            "position": lambda schema: Concat(
                schema,
                (
                    Part(RowField(_INT64, "position_high")),
                    Part(RowField(_INT64, "position"), ":"),
                    Part(RowField(_INT64, "ordinal"), "/"),
                ),
            ),
        }
        source = Struct(schema, tuple(nodes[field.name](field.schema) for field in schema.fields))
        id_column, text_column = ColumnCells("id", ID), ColumnCells("text", TEXT)
        return change_event(
            self.topic,
            (id_column, text_column),
            (id_column,),
            source,
            settings.headers(),
            settings.transaction_block(),
            settings.format,
            settings.names,
        )
