"""Db2's source block, and the settings of events."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from headrace.connect.encoding import Encoding
from headrace.connect.records import Cell, Image, Node, Struct
from headrace.connect.schema import Field, Schema, Type
from headrace.debezium.event_format import EventFormat
from headrace.debezium.source_info import source_block, source_schema
from headrace.relational.events import RelationalSettings, RelationFacts
from headrace.streaming.facts import EventSettings

CONNECTOR = "db2"

CHANGE_LSN_CELL = 0
"""The cell of a row's own image (Image.EXTRA) that has its `change_lsn`, a text."""
COMMIT_LSN_CELL = 0
"""The cell of a transaction's image (Image.TRANSACTION) that has its `commit_lsn`, a text."""

_STRING = Schema(Type.STRING)
_OPTIONAL_STRING = Schema(Type.STRING, optional=True)


@lru_cache
def db2_source(event_format: EventFormat) -> Schema:
    """The schema of the source block."""
    return source_schema(
        "io.debezium.connector.db2.Source",
        (
            Field("schema", _STRING),
            Field("table", _STRING),
            Field("change_lsn", _OPTIONAL_STRING),
            Field("commit_lsn", _OPTIONAL_STRING),
        ),
        event_format,
    )


def _lsn_cell(image: Image, column: int) -> Cell:
    return Cell(_OPTIONAL_STRING, image, column, Encoding.STRING, 0, bytes.decode)


@dataclass(frozen=True)
class Db2Source:
    """The source block of a database. `commit_lsn` is the text of the transaction's image,
    `change_lsn` that of the row's own; each is null where there is no such image."""

    database: str
    connector: str = CONNECTOR

    def transaction_id(self) -> Node:
        """The commit's number; null outside of a transaction."""
        return _lsn_cell(Image.TRANSACTION, COMMIT_LSN_CELL)

    def block(self, facts: RelationFacts, settings: EventSettings) -> Struct:
        """The source block of a table's events."""
        nodes: dict[str, Node] = {
            "change_lsn": _lsn_cell(Image.EXTRA, CHANGE_LSN_CELL),
            "commit_lsn": _lsn_cell(Image.TRANSACTION, COMMIT_LSN_CELL),
        }
        return source_block(
            db2_source(settings.format),
            nodes,
            version=settings.format.release,
            connector=CONNECTOR,
            name=settings.server,
            db=self.database,
            schema=facts.schema,
            table=facts.table,
        )


@dataclass(frozen=True)
class Db2Settings(RelationalSettings):
    """The settings that all events of a run share."""

    source: Db2Source
