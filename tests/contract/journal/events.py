"""What the journal's records say."""

from __future__ import annotations

from dataclasses import dataclass, replace

from headrace.connect.encoding import Encoding
from headrace.connect.records import Cell, Concat, Constant, Image, Node, Part, RowField, Shape
from headrace.connect.schema import Field, Schema, Type
from headrace.debezium.events import ColumnCells, change_event
from headrace.debezium.source_info import source_block, source_schema
from headrace.streaming.facts import EventSettings, Facts, TopicFacts

_TEXT, _OPTIONAL_TEXT = Schema(Type.STRING), Schema(Type.STRING, optional=True)
_INT64 = Schema(Type.INT64)
_OWN = (Field("collection", _TEXT), Field("txId", _OPTIONAL_TEXT), Field("position", _TEXT))
_HALVES = Part(RowField(_INT64, "position_high")), Part(RowField(_INT64, "position"), ":")
_POSITION = Concat(_TEXT, (*_HALVES, Part(RowField(_INT64, "ordinal"), "/")))
_ID = Cell(_INT64, Image.NEW, 0, Encoding.RAW, 8, int)
_ROW_TEXT = Cell(_OPTIONAL_TEXT, Image.NEW, 1, Encoding.STRING, 0, bytes.decode)


@dataclass(frozen=True)
class JournalSource:
    """See headrace.streaming.facts.SourceBlock."""

    connector: str = "journal"

    def transaction_id(self) -> Node:
        return Cell(_OPTIONAL_TEXT, Image.TRANSACTION, 0, Encoding.STRING, 0, bytes.decode)


@dataclass(frozen=True)
class JournalFacts(TopicFacts):
    """Facts of a collection; `incremental`: its rows have no place in the log."""

    collection: str
    incremental: bool = False

    key = ("id",)
    cell_names = ("id", "text")
    holds_changes = True

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.collection

    def as_incremental(self) -> Facts:
        return replace(self, incremental=True)

    def key_cells(self, settings: EventSettings) -> list[Cell]:
        return [_ID]

    def shown_cells(self, settings: EventSettings) -> list[tuple[Cell, Cell | Constant]]:
        return [(_ID, _ID), (_ROW_TEXT, _ROW_TEXT)]

    def shape(self, settings: EventSettings) -> Shape:
        schema = source_schema("journal.Source", _OWN, settings.format)
        nowhere = Constant(_TEXT, "")
        source = source_block(
            schema,
            {
                "txId": settings.source.transaction_id(),
                "position": nowhere if self.incremental else _POSITION,
            },
            version="1",
            connector=settings.source.connector,
            name=settings.server,
            db="journal",
            collection=self.collection,
        )
        columns = ColumnCells("id", _ID), ColumnCells("text", _ROW_TEXT)
        return change_event(
            self.topic,
            columns,
            columns[:1],
            source,
            settings.headers(),
            settings.transaction_block(),
            settings.format,
            settings.names,
        )
