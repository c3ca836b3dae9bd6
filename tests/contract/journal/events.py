"""The events of the journal's records."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.connect.encoding import Encoding
from headrace.connect.records import Cell, Concat, Constant, Image, Node, RowField, Struct, TextPart
from headrace.connect.schema import Field, Schema, Type
from headrace.debezium.events import ColumnCells
from headrace.debezium.source_info import source_block, source_schema
from headrace.snapshots.incremental.chunk_source import Target
from headrace.streaming.cell_facts import CellFacts
from headrace.streaming.facts import EventSettings

_TEXT, _OPTIONAL_TEXT = Schema(Type.STRING), Schema(Type.STRING, optional=True)
_INT64 = Schema(Type.INT64)
_SOURCE_FIELDS = (
    Field("collection", _TEXT),
    Field("txId", _OPTIONAL_TEXT),
    Field("position", _TEXT),
)
_POSITION_HALVES = (
    TextPart(RowField(_INT64, "position_high")),
    TextPart(RowField(_INT64, "position"), ":"),
)
_POSITION = Concat(_TEXT, (*_POSITION_HALVES, TextPart(RowField(_INT64, "ordinal"), "/")))


@dataclass(frozen=True)
class JournalSource:
    """See headrace.streaming.facts.SourceBlock."""

    connector: str = "journal"

    def transaction_id(self) -> Node:
        return Cell(_OPTIONAL_TEXT, Image.TRANSACTION, 0, Encoding.STRING, 0, bytes.decode)


@dataclass(frozen=True)
class JournalFacts(CellFacts, Target):
    """The facts of a collection; a chunk needs nothing else."""

    key = ("id",)
    cells = (
        ColumnCells("id", Cell(_INT64, Image.NEW, 0, Encoding.RAW, 8, int)),
        ColumnCells("text", Cell(_OPTIONAL_TEXT, Image.NEW, 1, Encoding.STRING, 0, bytes.decode)),
    )

    def source(self, settings: EventSettings) -> Struct:
        fields = {
            "txId": settings.source.transaction_id(),
            "position": Constant(_TEXT, "") if self.incremental else _POSITION,
        }
        return source_block(
            source_schema("journal.Source", _SOURCE_FIELDS, settings.format),
            fields,
            version="1",
            connector=settings.source.connector,
            name=settings.server,
            db="journal",
            collection=self.collection,
        )
