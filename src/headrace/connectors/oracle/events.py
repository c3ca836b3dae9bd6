"""Oracle's source block, the facts of its tables, and the settings of events.

The redo's data of a transaction are an image (`Image.TRANSACTION`), and so are those of a row
besides its values (`Image.EXTRA`); a row of a snapshot has neither. A row's `place` is its SCN, and
the times of the source block are those of the row's entry in the table of transactions: a
transaction has an entry for each second in which it changed something.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from headrace.connect.encoding import Encoding
from headrace.connect.records import (
    Cell,
    Concat,
    Constant,
    Guarded,
    Image,
    Node,
    RowField,
    Struct,
    TextPart,
)
from headrace.connect.schema import Field, Schema, Type
from headrace.debezium.event_format import EventFormat
from headrace.debezium.source_info import source_block, source_schema
from headrace.relational.events import RelationalSettings, RelationFacts
from headrace.streaming.facts import EventSettings

CONNECTOR = "oracle"

TX_ID, COMMIT_SCN, REDO_THREAD, USER_NAME, COMMIT_MS, START_SCN, START_MS = range(7)
"""The cells of a transaction's image, texts."""
TRANSACTION_CELLS = 7
RS_ID, ROW_ID, REDO_SQL, SSN = range(4)
"""The cells of a row's own image, texts."""
EXTRA_CELLS = 4
STATEMENT_CELLS = ("txId", "commit_scn", "rs_id", "ssn", "redo_thread", "user_name", "txSeq")
"""The cells for the source block in the image of a statement that changed tables, texts."""

_STRING = Schema(Type.STRING)
_OPTIONAL_STRING = Schema(Type.STRING, optional=True)
_OPTIONAL_INT32 = Schema(Type.INT32, optional=True)
_OPTIONAL_INT64 = Schema(Type.INT64, optional=True)

_EARLY = (
    Field("schema", _STRING),
    Field("table", _STRING),
    Field("txId", _OPTIONAL_STRING),
    Field("scn", _OPTIONAL_STRING),
    Field("commit_scn", _OPTIONAL_STRING),
    Field("lcr_position", _OPTIONAL_STRING),
    Field("rs_id", _OPTIONAL_STRING),
    Field("ssn", _OPTIONAL_INT64),
    Field("redo_thread", _OPTIONAL_INT32),
    Field("user_name", _OPTIONAL_STRING),
)
_LATER = (
    Field("redo_sql", _OPTIONAL_STRING),
    Field("row_id", _OPTIONAL_STRING),
    Field("commit_ts_ms", _OPTIONAL_INT64),
    Field("start_scn", _OPTIONAL_STRING),
    Field("start_ts_ms", _OPTIONAL_INT64),
    Field("txSeq", _OPTIONAL_INT64),
)


@lru_cache
def oracle_source(event_format: EventFormat) -> Schema:
    """Return the schema of the source block. The fields after `user_name` are younger than the
    format of Debezium 2.3 to 2.5."""
    fields = _EARLY + _LATER if event_format.precise_times else _EARLY
    return source_schema("io.debezium.connector.oracle.Source", fields, event_format)


def _text(image: Image, column: int) -> Cell:
    return Cell(_OPTIONAL_STRING, image, column, Encoding.STRING, 0, bytes.decode)


def _number(image: Image, column: int, schema: Schema, size: int, null: object = None) -> Cell:
    return Cell(schema, image, column, Encoding.RAW, size, int, null=null)


def _transaction_text(column: int) -> Cell:
    return _text(Image.TRANSACTION, column)


def _scn_of_row() -> Node:
    return Concat(_OPTIONAL_STRING, (TextPart(RowField(_OPTIONAL_INT64, "place")),))


@dataclass(frozen=True)
class OracleSource:
    """The source block of a database. `shows_ssn`: `ssn` is that of the redo (headrace.source.ssn),
    else 0 as Debezium writes it."""

    database: str
    shows_ssn: bool = False
    connector: str = CONNECTOR

    def transaction_id(self) -> Node:
        """Return Debezium's `txId`; null outside of a transaction."""
        return _transaction_text(TX_ID)

    def statement_block(self, facts: RelationFacts, settings: EventSettings, first: int) -> Struct:
        """Return the source block of a statement that changed tables: it shows cells of its own
        image, from the column `first` on, in the order of STATEMENT_CELLS."""
        cells = {name: first + place for place, name in enumerate(STATEMENT_CELLS)}
        nodes: dict[str, Node] = {
            name: _text(Image.NEW, cells[name])
            for name in ("txId", "commit_scn", "rs_id", "user_name")
        }
        nodes |= {
            "scn": _scn_of_row(),
            "ssn": _number(Image.NEW, cells["ssn"], _OPTIONAL_INT64, 8, null=0),
            "redo_thread": _number(Image.NEW, cells["redo_thread"], _OPTIONAL_INT32, 4),
            "txSeq": _number(Image.NEW, cells["txSeq"], _OPTIONAL_INT64, 8),
        }
        return self._filled(facts, settings, nodes)

    def block(self, facts: RelationFacts, settings: EventSettings) -> Struct:
        """Return the source block of a table's events."""
        ssn = _number(Image.EXTRA, SSN, _OPTIONAL_INT64, 8, null=0)
        sequence = RowField(_OPTIONAL_INT64, "ordinal")
        nodes: dict[str, Node] = {
            "txId": _transaction_text(TX_ID),
            "scn": _scn_of_row(),
            "commit_scn": _transaction_text(COMMIT_SCN),
            "rs_id": _text(Image.EXTRA, RS_ID),
            "ssn": ssn if self.shows_ssn else Constant(_OPTIONAL_INT64, 0),
            "redo_thread": _number(Image.TRANSACTION, REDO_THREAD, _OPTIONAL_INT32, 4),
            "user_name": _transaction_text(USER_NAME),
            "redo_sql": _text(Image.EXTRA, REDO_SQL),
            "row_id": _text(Image.EXTRA, ROW_ID),
            "commit_ts_ms": _number(Image.TRANSACTION, COMMIT_MS, _OPTIONAL_INT64, 8),
            "start_scn": _transaction_text(START_SCN),
            "start_ts_ms": _number(Image.TRANSACTION, START_MS, _OPTIONAL_INT64, 8),
            "txSeq": Guarded(sequence, presence=_transaction_text(TX_ID)),
        }
        return self._filled(facts, settings, nodes)

    def _filled(
        self, facts: RelationFacts, settings: EventSettings, nodes: dict[str, Node]
    ) -> Struct:
        return source_block(
            oracle_source(settings.format),
            nodes,
            version=settings.format.release,
            connector=CONNECTOR,
            name=settings.server,
            db=self.database,
            schema=facts.schema,
            table=facts.table,
        )


@dataclass(frozen=True)
class OracleFacts(RelationFacts):
    """The facts of a table, which transaction metadata name with its database."""

    database: str = ""

    @property
    def collection(self) -> str:
        """DATABASE.SCHEMA.TABLE"""
        return f"{self.database}.{self.name}"


@dataclass(frozen=True)
class OracleSettings(RelationalSettings):
    """The settings that all events of a run share."""

    source: OracleSource
